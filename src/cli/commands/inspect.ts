/**
 * `inspect`: what a file of a store holds, without the store.
 * @module
 */
import { TidemarkError } from "../../engine/errors.ts";
import type { Batch, ChangeFileHeader } from "../../engine/format/change_file.ts";
import { ChangeFileScan, type ScanEnd } from "../../engine/format/change_file_reader.ts";
import { decodeFact } from "../../engine/format/fact.ts";
import { FACT_BYTES_MAX } from "../../engine/limits.ts";
import { toJson } from "../../http/json.ts";
import type { InputFile } from "../../runtime/cli_io.ts";
import { formatBytes, formatCount } from "../_format.ts";
import type { Command, CommandContext } from "../command.ts";
import { EXIT_CODE_OF, EXIT_OK } from "../exit_codes.ts";

const SKIPPABLE_MAGIC = [0x50, 0x2a, 0x4d, 0x18];
const FACT_KIND = /^\{"kind":"([a-z][a-z0-9-]*)"/;
const KIND_BYTES_MAX = 256;

/** The command. */
export const INSPECT: Command = {
  name: "inspect",
  about: "Show what a change file or a small fact of a store holds",
  positional: {
    name: "FILE",
    about: "change file, catalog generation, manifest, …",
    isRequired: true,
  },
  options: {},
  sides: {
    store: "it reads one file, without its store",
    url: "it reads a file of this machine; show, du and verify ask a sidecar",
  },
  notes: [
    "Reads the file alone and checks its checksums. The exit code is " +
    `${EXIT_CODE_OF.corrupt} when it is not whole and`,
    "good to its end; the newest change file of a job may have a torn end, which nobody was told of.",
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const [path] = context.positionals;
  const file = await context.io.openFile(path);
  try {
    const start = await file.read(0, Math.min(KIND_BYTES_MAX, file.size));
    if (SKIPPABLE_MAGIC.every((byte, index) => start[index] === byte)) {
      return await inspectChangeFile(context, path, file);
    }
    const kind = FACT_KIND.exec(new TextDecoder("latin1").decode(start))?.[1];
    if (kind !== undefined) return await inspectFact(context, { path, kind }, file);
  } finally {
    await file.close();
  }
  throw new TidemarkError(
    "invalid-request",
    `Cannot inspect ${path}: it begins neither like a change file nor like a small fact`,
    { details: { path } },
  );
}

async function inspectFact(
  { report }: CommandContext,
  { path, kind }: { path: string; kind: string },
  file: InputFile,
): Promise<number> {
  if (file.size > FACT_BYTES_MAX) {
    throw new TidemarkError(
      "corrupt",
      `Cannot inspect ${path}: it has ${file.size} bytes, a small fact has at most ` +
        `${FACT_BYTES_MAX}`,
      { details: { path } },
    );
  }
  const body = decodeFact(kind, path, await file.read(0, file.size));
  await report.result(`${kind}, ${formatBytes(file.size)}, checksum good\n${toJson(body, 2)}`, {
    file: path,
    kind,
    bytes: file.size,
    body,
  });
  return EXIT_OK;
}

async function inspectChangeFile(
  { report }: CommandContext,
  path: string,
  file: InputFile,
): Promise<number> {
  const scan = new ChangeFileScan({
    key: path,
    size: file.size,
    read: (from, to) => file.read(from, to),
  });
  const batches: Batch[] = [];
  for await (const batch of scan.batches()) {
    batches.push(batch);
    report.progress(() => ({
      label: "reading",
      done: batch.end,
      total: file.size,
      unit: "bytes",
    }));
  }
  const { header, end } = scan;
  const text = [
    header === undefined ? "Change file without a whole header" : describeHeader(header),
    ...batches.flatMap(describeBatch),
    describeEnd(end, file.size),
  ].join("\n");
  const value = { file: path, kind: "change-file", bytes: file.size, header, batches, end };
  await report.result(text, { ...value, batches: batches.map(summaryOf) });
  return end.kind === "torn" ? EXIT_CODE_OF.corrupt : EXIT_OK;
}

function describeHeader(header: ChangeFileHeader): string {
  const { job, log, epoch, run, number, uuid, createdAtMs, predecessors } = header;
  return [
    `Change file ${number} of epoch ${epoch}, job ${job}, log ${log}, run ${run}`,
    `  uuid ${uuid}, created ${new Date(createdAtMs).toISOString()}`,
    ...predecessors.map((file) =>
      `  after file ${file.number} (${file.uuid}), synced to byte ${file.syncedLength}`
    ),
  ].join("\n");
}

function describeBatch(batch: Batch): string[] {
  return [
    `Batch ${batch.number}: bytes ${batch.position} to ${batch.end}, ` +
    `${formatBytes(batch.bodyLength)} as ${formatBytes(batch.frameLength)}`,
    ...batch.sets.map((set) =>
      `  ${set.writer} epoch ${set.epoch} set ${set.sequenceNumber}: ` +
      `${formatCount(set.count, "change")} from offset ${set.firstOffset}, ` +
      `key groups ${set.keyGroupMin} to ${set.keyGroupMax}`
    ),
  ];
}

function describeEnd(end: ScanEnd, size: number): string {
  if (end.kind === "end-frame") return `Sealed at byte ${end.at}`;
  if (end.kind === "length") return `Whole to its end at byte ${end.at}, not sealed`;
  return `Good to byte ${end.at} of ${size}; after that: ${end.reason ?? "unknown"}`;
}

function summaryOf(batch: Batch): unknown {
  const { number, position, end, bodyLength, frameLength, sets } = batch;
  return { number, position, end, bodyLength, frameLength, sets };
}
