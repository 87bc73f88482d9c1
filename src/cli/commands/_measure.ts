/** Measures a job: durable appends of one client, of many, and in bulk, and a restore. */
import { encodeChanges } from "../../engine/format/change_input.ts";
import { KIB, MIB } from "../../engine/limits.ts";
import type { EncodedChanges } from "../../engine/types.ts";
import type { ReadTarget, Target } from "../target/target.ts";

/** More than a block of the codec, so that it finds no repeats. */
const SOURCE_BYTES = MIB;
const SOURCE_COUNT_MAX = 1024;
/** More is not given at a time. */
const RANDOM_BYTES_MAX = 64 * KIB;

/** Appends that were measured. */
export interface AppendFigures {
  readonly clients: number;
  readonly appends: number;
  readonly bytes: number;
  readonly seconds: number;
  readonly appendsPerSecond: number;
  readonly bytesPerSecond: number;
  /** How long one append takes, in the middle and at the 99th percentile. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** A restore that was measured. */
export interface RestoreFigures {
  readonly bytes: number;
  readonly seconds: number;
  readonly bytesPerSecond: number;
  /** Whether it was ended before all was read. */
  readonly isCut: boolean;
}

/** What bounds a measurement. */
export interface Bounds {
  /** Time that it takes. */
  readonly timeMs: number;
  /** Bytes that it writes at most. */
  readonly bytesMax: number;
  readonly monotonicMs: () => number;
  /** Whether somebody has asked to stop. */
  readonly isStopped: () => boolean;
}

/** How many appends each client of a phase sends at a time, and of which size. */
export interface Load {
  readonly clients: number;
  readonly changes: number;
  readonly changeBytes: number;
}

/** Appends durably until the time or the bytes are used up. */
export async function measureAppends(
  target: Target,
  load: Load,
  bounds: Bounds,
): Promise<AppendFigures> {
  const { clients, changes, changeBytes } = load;
  const source = new ChangeSource(load);
  const beganMs = bounds.monotonicMs();
  const took: number[] = [];
  let left = bounds.bytesMax;
  const appendOn = async (client: number): Promise<void> => {
    while (left > 0 && !bounds.isStopped() && bounds.monotonicMs() - beganMs < bounds.timeMs) {
      left -= changes * changeBytes;
      const encoded = source.next();
      const atMs = bounds.monotonicMs();
      await target.append(`bench-${client}`, encoded, {});
      took.push(bounds.monotonicMs() - atMs);
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, client) => appendOn(client)));
  const seconds = Math.max(bounds.monotonicMs() - beganMs, Number.MIN_VALUE) / 1000;
  const bytes = took.length * changes * changeBytes;
  return {
    clients,
    appends: took.length,
    bytes,
    seconds,
    appendsPerSecond: took.length / seconds,
    bytesPerSecond: bytes / seconds,
    p50Ms: percentile(took, 0.5),
    p99Ms: percentile(took, 0.99),
  };
}

/** Restores the newest checkpoint, until all is read or the time is used up. */
export async function measureRestore(
  reader: ReadTarget,
  bounds: Omit<Bounds, "bytesMax">,
): Promise<RestoreFigures> {
  const { writers } = await reader.checkpointDetails("latest");
  const beganMs = bounds.monotonicMs();
  let bytes = 0;
  let isCut = false;
  for (const { writer } of writers) {
    const { pieces } = await reader.restore(writer, { at: "latest" });
    for await (const piece of pieces) {
      bytes += piece.length;
      isCut = bounds.isStopped() || bounds.monotonicMs() - beganMs >= bounds.timeMs;
      if (isCut) break;
    }
    if (isCut) break;
  }
  const seconds = Math.max(bounds.monotonicMs() - beganMs, Number.MIN_VALUE) / 1000;
  return { bytes, seconds, bytesPerSecond: bytes / seconds, isCut };
}

/** The value below which `share` of them lie; 0 of none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** Changes of which half can be compressed, as state often is; made before the time is taken. */
class ChangeSource {
  readonly #made: readonly EncodedChanges[];
  #next = 0;

  constructor({ changes, changeBytes }: Load) {
    const count = Math.max(2, Math.ceil(SOURCE_BYTES / (changes * changeBytes)));
    this.#made = Array.from(
      { length: Math.min(count, SOURCE_COUNT_MAX) },
      () =>
        encodeChanges(Array.from({ length: changes }, (_, index) => changeOf(index, changeBytes))),
    );
  }

  /** An append takes the bytes over, so each gets its own. */
  next(): EncodedChanges {
    const made = this.#made[this.#next++ % this.#made.length];
    return { ...made, bytes: made.bytes.slice() };
  }
}

function changeOf(index: number, bytes: number): { keyGroup: number; data: Uint8Array } {
  const data = new Uint8Array(bytes);
  for (let at = 0; at < bytes >> 1; at += RANDOM_BYTES_MAX) {
    crypto.getRandomValues(data.subarray(at, Math.min(bytes >> 1, at + RANDOM_BYTES_MAX)));
  }
  return { keyGroup: index % 128, data };
}
