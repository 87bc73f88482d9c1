/**
 * Reads everything that a job's checkpoints and tail need, and checks every checksum and the continuity of every writer.
 * @module
 */
import { ChangeFileSource } from "../changelog/change_file_source.ts";
import { planRestore, type RestoreSource } from "../changelog/restore_plan.ts";
import type { NeededFile, WriterEnd } from "../changelog/tail.ts";
import { TidemarkError } from "../errors.ts";
import { ChangeFileScan, verifyBatchContent } from "../format/change_file_reader.ts";
import type { CatalogEntry, GenerationBody } from "../format/generation.ts";
import type { ManifestState } from "../format/manifest.ts";
import type { Problem, VerifyOptions, VerifyReport } from "../types.ts";
import { type JobPlace, readManifest } from "./catalog_read.ts";
import { joinFiles, sourceOfCheckpoint, sourceOfTail } from "./restore_source.ts";
import { checkStatePresence, readStateObject } from "./state_read.ts";

/** What the tail of a job needs. */
interface TailNeeds {
  readonly files: readonly NeededFile[];
  readonly writers: ReadonlyMap<string, WriterEnd>;
}

/**
 * Verifies a job. Problems are answered, not thrown; only what keeps the whole from being read is.
 *
 * @param findTail What the tail needs; a tail that can't be found is a problem as well.
 * @throws {TidemarkError} `storage-unavailable`, `storage-denied`
 */
export async function verifyJob(
  place: JobPlace,
  generation: Pick<GenerationBody, "checkpoints">,
  findTail: () => TailNeeds | Promise<TailNeeds>,
  { level = "full", signal, onProgress }: VerifyOptions = {},
): Promise<VerifyReport> {
  const problems: Problem[] = [];
  const sources: RestoreSource[] = [];
  await collect(problems, place.keys.changelogPrefix, async () => {
    sources.push(sourceOfTail(place, await findTail()));
  });
  for (const entry of generation.checkpoints) {
    await collect(problems, entry.manifest.key, async () => {
      sources.push(sourceOfCheckpoint(place, await readManifest(place, entry.manifest)));
    });
  }
  const files = joinFiles(...sources.map((source) => source.files));
  const states = new Map(
    sources.flatMap((source) => source.states ?? []).map((state) => [state.key, state]),
  );
  const counts = { bytes: 0, changes: 0 };
  const isFull = level === "full";
  const total = files.length + states.size;
  let done = 0;
  const oneDone = (): void => onProgress?.({ phase: "verify", done: ++done, total });
  for (const file of files) {
    await collect(problems, file.key, async () => {
      await verifyPresence(place, file);
      if (isFull) await verifyContent(place, file, counts, signal);
    });
    oneDone();
  }
  for (const state of states.values()) {
    await collect(problems, state.key, async () => {
      await checkStatePresence(place.backend, state);
      if (isFull) await verifyState(place, state, counts, signal);
    });
    oneDone();
  }
  for (const source of level === "full" ? sources : []) {
    const key = source.files.at(-1)?.key ?? place.keys.catalogPrefix;
    await collect(problems, key, () => verifyContinuity(place, source, signal));
  }
  const checkpoints = generation.checkpoints.length;
  return {
    ok: problems.length === 0,
    checkpoints,
    files: files.length,
    states: states.size,
    ...counts,
    problems,
  };
}

/** How one checkpoint is verified. */
export interface VerifyCheckpointOptions {
  /** Up to which length objects were found to be whole: read, and added to. @default each is read */
  readonly whole?: Map<string, number>;
  readonly signal?: AbortSignal;
}

/**
 * Verifies one checkpoint in full.
 *
 * @returns What is wrong with it; empty when it can be restored.
 */
export async function verifyCheckpoint(
  place: JobPlace,
  entry: CatalogEntry,
  { whole = new Map(), signal }: VerifyCheckpointOptions = {},
): Promise<Problem[]> {
  const problems: Problem[] = [];
  const counts = { bytes: 0, changes: 0 };
  await collect(problems, entry.manifest.key, async () => {
    const source = sourceOfCheckpoint(place, await readManifest(place, entry.manifest));
    for (const file of source.files) {
      await verifyPresence(place, file);
      if (file.length <= (whole.get(file.key) ?? -1)) continue;
      await verifyContent(place, file, counts, signal);
      whole.set(file.key, file.length);
    }
    for (const state of source.states ?? []) {
      if (whole.get(state.key) === state.length) continue;
      await verifyState(place, state, counts, signal);
      whole.set(state.key, state.length);
    }
    await verifyContinuity(place, source, signal);
  });
  return problems;
}

/** Turns what is wrong with the data into a problem; everything else goes on as an error. */
async function collect(
  problems: Problem[],
  key: string,
  action: () => Promise<void>,
): Promise<void> {
  try {
    await action();
  } catch (error) {
    const isOfData = error instanceof TidemarkError && error.kind === "corrupt";
    if (!isOfData) throw error;
    const { key: found = key, from, to } = error.details as Partial<Problem>;
    const isKnown = problems.some((other) => other.key === found && other.from === from);
    if (!isKnown) problems.push({ key: found, reason: error.message, from, to });
  }
}

async function verifyPresence(place: JobPlace, { key, length }: NeededFile): Promise<void> {
  const info = await place.backend.head(key);
  if (info === undefined || info.size < length) {
    throw new TidemarkError(
      "changes-lost",
      `${key} is ${
        info === undefined ? "missing" : `cut to ${info.size} bytes`
      }; ${length} are needed`,
      { details: { key } },
    );
  }
}

/** Checks every byte of a change file, as far as it is needed. @throws {TidemarkError} `corrupt` */
export async function verifyContent(
  place: JobPlace,
  { key, length }: NeededFile,
  counts: { bytes: number; changes: number },
  signal: AbortSignal | undefined,
): Promise<void> {
  const source = new ChangeFileSource(place.backend, key, length, signal);
  const scan = new ChangeFileScan(source, { to: length });
  for await (const batch of scan.batches()) {
    signal?.throwIfAborted();
    await verifyBatchContent(source, batch);
    counts.changes += batch.sets.reduce((sum, set) => sum + set.count, 0);
  }
  counts.bytes += scan.end.at;
  if (scan.end.kind !== "torn") return;
  throw new TidemarkError("corrupt", `${key} is bad from byte ${scan.end.at}: ${scan.end.reason}`, {
    details: { key, from: scan.end.at, to: length },
  });
}

async function verifyState(
  { backend }: JobPlace,
  state: ManifestState,
  counts: { bytes: number },
  signal: AbortSignal | undefined,
): Promise<void> {
  for await (const _piece of readStateObject(backend, state, signal));
  counts.bytes += state.length;
}

async function verifyContinuity(
  place: JobPlace,
  source: RestoreSource,
  signal: AbortSignal | undefined,
): Promise<void> {
  const writers = new Set(source.writers.keys());
  // Local copies are no part of what is kept.
  const main = { backend: place.backend };
  const { places } = await planRestore(main, source, { writers, signal });
  for (const end of source.writers.values()) {
    let { offset, sequenceNumber: number } = end.base ?? { offset: 0, sequenceNumber: 0 };
    for (; number < end.sequenceNumber; number++) {
      const set = places.get(end.writer, number);
      if (set?.entry.firstOffset !== offset) throw gap(source, end.writer, number, offset);
      offset += set.entry.count;
    }
    if (offset !== end.nextOffset) throw gap(source, end.writer, end.sequenceNumber, offset);
  }
}

function gap(source: RestoreSource, writer: string, number: number, offset: number): TidemarkError {
  return new TidemarkError(
    "corrupt",
    `${source.neededBy} has a gap: writer ${writer} goes on from offset ${offset} with change set ${number}, which is in none of its files`,
    { details: { writer, sequenceNumber: number, offset } },
  );
}
