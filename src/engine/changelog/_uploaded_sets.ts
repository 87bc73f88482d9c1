/**
 * Where a writer's durable change sets lie, until a published checkpoint owns them. There may be millions: what
 * follows one another in one file is kept as numbers, not as objects.
 * @module
 */
import type { PersistedSegment } from "../types.ts";
import type { UploadResult } from "../upload/upload_task.ts";

/** Sets that follow one another in one file. */
interface Run {
  readonly key: string;
  readonly localKey: string | undefined;
  first: number;
  /** Batch of each set. */
  batches: number[];
  /** Bytes of each set. */
  byteLengths: number[];
}

/** Sets of one file that were taken out. */
export interface TakenSets {
  readonly key: string;
  /** Number of the first. */
  readonly first: number;
  readonly count: number;
}

/** Results of uploads, by sequence number. */
export class UploadedSets {
  /** In order of arrival, which is mostly that of the sequence numbers. */
  #runs: Run[] = [];

  add({ key, localKey, sequenceNumber, batch, byteLength }: UploadResult): void {
    const last = this.#runs.at(-1);
    const follows = last !== undefined && last.key === key && last.localKey === localKey &&
      last.first + last.batches.length === sequenceNumber;
    if (follows) {
      last.batches.push(batch);
      last.byteLengths.push(byteLength);
    } else {
      const first = sequenceNumber;
      this.#runs.push({ key, localKey, first, batches: [batch], byteLengths: [byteLength] });
    }
  }

  /** Where a writer's sets of `[from, to)` are, in order of their numbers. */
  between(from: number, to: number, writer: string): PersistedSegment[] {
    const last = this.#runs.at(-1);
    const isInLast = last !== undefined && from >= last.first &&
      from < last.first + last.batches.length;
    // Mostly the newest is asked for.
    if (isInLast && to === from + 1) return [segmentOf(last, from, writer)];
    const segments: PersistedSegment[] = [];
    let isSorted = true;
    for (const run of this.#runs) {
      const end = Math.min(to, run.first + run.batches.length);
      for (let number = Math.max(from, run.first); number < end; number++) {
        const before = segments.at(-1);
        isSorted &&= before === undefined || before.sequenceNumber < number;
        segments.push(segmentOf(run, number, writer));
      }
    }
    return isSorted ? segments : segments.sort((a, b) => a.sequenceNumber - b.sequenceNumber);
  }

  /** Takes the sets below a number out. */
  takeBelow(to: number): TakenSets[] {
    const taken: TakenSets[] = [];
    for (const run of this.#runs) {
      const count = Math.min(run.batches.length, to - run.first);
      if (count <= 0) continue;
      taken.push({ key: run.key, first: run.first, count });
      run.first += count;
      run.batches = run.batches.slice(count);
      run.byteLengths = run.byteLengths.slice(count);
    }
    this.#runs = this.#runs.filter((run) => run.batches.length > 0);
    return taken;
  }
}

function segmentOf(run: Run, sequenceNumber: number, writer: string): PersistedSegment {
  const { key, localKey, first, batches, byteLengths } = run;
  const batch = batches[sequenceNumber - first];
  const byteLength = byteLengths[sequenceNumber - first];
  if (localKey === undefined) return { writer, sequenceNumber, key, batch, byteLength };
  return { writer, sequenceNumber, key, batch, byteLength, localKey };
}
