/** Change files as a test wants them, and a scan of the tail that they make. @module */
import { scanTail, type TailScanOptions } from "../../../src/engine/changelog/tail_scan.ts";
import type { NeededFile, Tail, WriterEnd } from "../../../src/engine/changelog/tail.ts";
import { endToManifest } from "../../../src/engine/changelog/writer_end.ts";
import type { AdoptedBody } from "../../../src/engine/format/adopted.ts";
import type { Batch, Predecessor } from "../../../src/engine/format/change_file.ts";
import { ChangeFileEncoder } from "../../../src/engine/format/change_file_encoder.ts";
import type { ChangeSet } from "../../../src/engine/format/change_set.ts";
import type { ManifestBody } from "../../../src/engine/format/manifest.ts";
import { type ChangeFileName, JobKeys } from "../../../src/engine/paths.ts";
import type { MemoryBackend } from "../../../src/engine/storage/memory_backend.ts";
import { encodeBatch, join } from "../format/_files.ts";
import { changesOf, JOB, newMemory } from "../_engine.ts";

export const STORE = "01890a5d-ac96-774b-bcce-000000000001";

const OPTIONS = { compression: "lz4", blockBytes: 65536 } as const;

/** A uuid that is the same for the same number. */
export function uuidOf(number: number): string {
  return `01890a5d-ac96-774b-bcce-${String(number).padStart(12, "0")}`;
}

/** A set of writer `w`: its texts, in place `number` from `offset` on. */
export function set(
  number: number,
  offset: number,
  texts: readonly string[],
  facts: { epoch?: number; writer?: string } = {},
): ChangeSet {
  const { epoch = 1, writer = "w" } = facts;
  const { bytes, ...counts } = changesOf(...texts);
  return {
    writer,
    keyGroups: [0, 127],
    epoch,
    sequenceNumber: number,
    firstOffset: offset,
    ...counts,
    byteLength: bytes.length,
    chunks: [bytes],
  };
}

/** How a file is to be. */
export interface FilePlan {
  /** @default 1 */
  epoch?: number;
  /** @default 1 */
  number?: number;
  batches?: readonly (readonly ChangeSet[])[];
  /** Files that the header names, with their synced lengths. */
  predecessors?: readonly (readonly [MadeFile, number])[];
  /** @default false */
  sealed?: boolean;
  /** What the header says instead. */
  header?: { store?: string; job?: string; epoch?: number; number?: number; uuid?: string };
}

/** A file that was made. */
export interface MadeFile {
  readonly key: string;
  readonly name: ChangeFileName;
  readonly headerLength: number;
  readonly batches: readonly Batch[];
  readonly size: number;
  /** The file up to the end of a batch, counted from 0. */
  upTo(batch: number): NeededFile;
}

/** Where a writer ends. */
export function end(sequenceNumber: number, nextOffset: number, writer = "w"): WriterEnd {
  return { writer, keyGroups: [0, 127], sequenceNumber, nextOffset };
}

/** Files of one job. */
export class TailBench {
  readonly backend: MemoryBackend = newMemory();
  readonly keys: JobKeys = new JobKeys(JOB);

  /** Makes a file. */
  async file(plan: FilePlan): Promise<MadeFile> {
    const { epoch = 1, number = 1, batches = [], predecessors = [], sealed = false } = plan;
    const name: ChangeFileName = { log: "main", epoch, number, uuid: uuidOf(epoch * 100 + number) };
    const named = predecessors.map(([file, syncedLength]): Predecessor => (
      { number: file.name.number, uuid: file.name.uuid, syncedLength }
    ));
    const encoder = new ChangeFileEncoder({
      store: STORE,
      job: JOB,
      ...name,
      run: 1,
      createdAtMs: 0,
      predecessors: named,
      ...plan.header,
    }, OPTIONS);
    const parts = [encoder.begin()];
    const made: Batch[] = [];
    for (const sets of batches) {
      const { bytes, batch } = encodeBatch(encoder, sets);
      parts.push(bytes);
      made.push(batch);
    }
    if (sealed) parts.push(encoder.end());
    const bytes = join(parts);
    const key = this.keys.changeFile(name);
    await this.backend.put(key, bytes);
    const upTo = (batch: number): NeededFile => (
      { key, name, length: made[batch].end, indexHash: made[batch].indexHash }
    );
    const headerLength = parts[0].length;
    return { key, name, headerLength, batches: made, size: bytes.length, upTo };
  }

  /** Cuts a file. */
  async cut(file: MadeFile, length: number): Promise<void> {
    await this.backend.put(file.key, (await this.backend.get(file.key)).slice(0, length));
  }

  /** Writes zeros over the end of a file. */
  async zero(file: MadeFile, from: number): Promise<void> {
    const bytes = await this.backend.get(file.key);
    await this.backend.put(file.key, bytes.fill(0, from));
  }

  /** Flips a bit of one byte. */
  async flip(file: MadeFile, at: number): Promise<void> {
    const bytes = await this.backend.get(file.key);
    bytes[at] ^= 4;
    await this.backend.put(file.key, bytes);
  }

  /** What a recovery took over. */
  adopted(files: readonly NeededFile[], writers: readonly WriterEnd[]): AdoptedBody {
    return {
      key: this.keys.adopted(1, uuidOf(1)),
      store: STORE,
      job: JOB,
      number: 1,
      files: files.map(({ key, length, indexHash }) => (
        { key, length, indexHash: indexHash.toString(16).padStart(16, "0") }
      )),
      writers: [...writers],
    };
  }

  /** A checkpoint. */
  head(files: readonly NeededFile[], writers: readonly WriterEnd[]): ManifestBody {
    return {
      key: this.keys.manifest(uuidOf(2)),
      store: STORE,
      job: JOB,
      uuid: uuidOf(2),
      parent: null,
      fingerprint: 0n,
      identifier: null,
      steps: null,
      processedRecords: null,
      createdAtMs: 0,
      epoch: 1,
      run: 1,
      engineVersion: "0",
      states: [],
      files: files.map(({ key, name, length, indexHash }) => (
        {
          key,
          store: STORE,
          job: JOB,
          ...name,
          length,
          indexHash: indexHash.toString(16).padStart(16, "0"),
        }
      )),
      writers: writers.map(endToManifest),
      metadata: null,
    };
  }

  scan(options: Partial<TailScanOptions> = {}): Promise<Tail> {
    return scanTail({
      backend: this.backend,
      keys: this.keys,
      store: STORE,
      tailFrom: { epoch: 1, number: 0 },
      doomed: [],
      head: undefined,
      adopted: undefined,
      ...options,
    });
  }
}

/** Where writers end, in a form that can be compared. */
export function endsOf(tail: Tail): Record<string, [number, number]> {
  return Object.fromEntries(
    [...tail.writers.values()].map((
      { writer, sequenceNumber, nextOffset },
    ) => [writer, [sequenceNumber, nextOffset]]),
  );
}
