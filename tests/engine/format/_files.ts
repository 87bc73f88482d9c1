/** Change files for tests, and what reads them back. */
import type { Batch, ChangeFileHeader } from "../../../src/engine/format/change_file.ts";
import {
  ChangeFileEncoder,
  type ChangeFileEncoderOptions,
} from "../../../src/engine/format/change_file_encoder.ts";
import {
  type ByteSource,
  ChangeFileScan,
  readSets,
  type ScanEnd,
} from "../../../src/engine/format/change_file_reader.ts";
import { encodeChanges } from "../../../src/engine/format/change_input.ts";
import type { ChangeSet } from "../../../src/engine/format/change_set.ts";
import type { Change } from "../../../src/engine/types.ts";
import type { SeededRandom } from "../../doubles/seeded_random.ts";

export function uuid(number: number): string {
  return `00000000-0000-7000-8000-${String(number).padStart(12, "0")}`;
}

export function text(value: string): Uint8Array {
  return new TextEncoder().encode(value);
}

export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function join(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export function randomBytes(random: SeededRandom, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  random.fill(bytes);
  return bytes;
}

export const HEADER: ChangeFileHeader = {
  store: uuid(1),
  job: "word-count",
  log: "main",
  epoch: 3,
  run: 2,
  number: 2,
  uuid: uuid(2),
  createdAtMs: 1_700_000_000_000,
  predecessors: [{ number: 1, uuid: uuid(3), syncedLength: 2 ** 40 }],
};

export const OPTIONS: ChangeFileEncoderOptions = { compression: "lz4", blockBytes: 64 * 1024 };

/** A change set of these changes. */
export function changeSet(
  changes: Iterable<Change>,
  facts: { writer: string; sequenceNumber: number; firstOffset: number; epoch?: number },
): ChangeSet {
  const encoded = encodeChanges(changes);
  return {
    epoch: HEADER.epoch,
    ...facts,
    keyGroups: [0, 127],
    count: encoded.count,
    keyGroupMin: encoded.keyGroupMin,
    keyGroupMax: encoded.keyGroupMax,
    byteLength: encoded.bytes.length,
    chunks: [encoded.bytes],
  };
}

/** The parts of a small file: header, three batches, end frame. */
export interface SmallFile {
  readonly header: ChangeFileHeader;
  readonly parts: readonly Uint8Array[];
  readonly batches: readonly Batch[];
  readonly bytes: Uint8Array;
}

function someChanges(words: string): Change[] {
  return words.split(" ").map((word, i) => ({ keyGroup: i - 1, data: text(word) }));
}

/** What {@link smallFile} has in it, batch by batch. */
export function smallSets(): ChangeSet[][] {
  return [
    [changeSet(someChanges("tide mark"), { writer: "a", sequenceNumber: 0, firstOffset: 0 })],
    [
      changeSet(someChanges("ebb ebb ebb ebb ebb ebb ebb ebb"), {
        writer: "a",
        sequenceNumber: 1,
        firstOffset: 2,
      }),
      changeSet(someChanges("flood"), {
        writer: "b.2",
        sequenceNumber: 7,
        firstOffset: 2 ** 33,
        epoch: 2,
      }),
    ],
    [changeSet(someChanges("slack water"), { writer: "a", sequenceNumber: 2, firstOffset: 10 })],
  ];
}

/** Encodes a file of batches. */
export function encodeFile(
  header: ChangeFileHeader,
  batches: readonly (readonly ChangeSet[])[],
  options: ChangeFileEncoderOptions = OPTIONS,
): SmallFile {
  const encoder = new ChangeFileEncoder(header, options);
  const parts = [encoder.begin()];
  const made: Batch[] = [];
  for (const sets of batches) {
    const { bytes, batch } = encodeBatch(encoder, sets);
    parts.push(bytes);
    made.push(batch);
  }
  parts.push(encoder.end());
  return { header, parts, batches: made, bytes: join(parts) };
}

/** Encodes one batch whole, looking at each piece as late as that is allowed: when the next one is there. */
export function encodeBatch(
  encoder: ChangeFileEncoder,
  sets: readonly ChangeSet[],
): { bytes: Uint8Array; batch: Batch; pieces: number[] } {
  const pieces: Uint8Array[] = [];
  const batch = encoder.batch(sets);
  let last: Uint8Array | undefined;
  for (;;) {
    const step = batch.next();
    if (step.done) {
      if (last?.length !== 0) throw new Error("The last piece of a batch is not empty");
      return { bytes: join(pieces), batch: step.value, pieces: pieces.map((p) => p.length) };
    }
    if (last !== undefined) pieces.push(last.slice());
    last = step.value;
  }
}

/** A source over bytes in memory, that notes what was read. */
export class MemorySource implements ByteSource {
  readonly key: string = "jobs/j/changelog/main/x.cborseq.lz4";
  readonly reads: { from: number; to: number }[] = [];

  constructor(readonly bytes: Uint8Array, readonly size: number = bytes.length) {}

  read(from: number, to: number): Promise<Uint8Array> {
    this.reads.push({ from, to });
    return Promise.resolve(this.bytes.slice(from, to));
  }
}

/** What a scan found, in a form that can be compared. */
export interface Found {
  readonly batches: Batch[];
  readonly end: ScanEnd;
}

export async function scanAll(source: ByteSource, to?: number): Promise<Found> {
  const scan = new ChangeFileScan(source, { to });
  const batches: Batch[] = [];
  for await (const batch of scan.batches()) batches.push(batch);
  return { batches, end: scan.end };
}

/** All changes of a batch, as hex: one string per change set. */
export async function contentOf(source: ByteSource, batch: Batch): Promise<string[]> {
  const content: string[] = [];
  let last: unknown;
  for await (const slice of readSets(source, batch, batch.sets)) {
    if (slice.entry !== last) {
      content.push(`${slice.entry.writer} ${slice.entry.sequenceNumber} ${slice.firstOffset} `);
    }
    content[content.length - 1] += hex(slice.bytes);
    last = slice.entry;
  }
  return content;
}
