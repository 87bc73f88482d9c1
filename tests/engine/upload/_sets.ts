/** Change sets and tasks for tests of the upload parts. @module */
import assert from "node:assert/strict";
import { type ChangeSet, setHeaderBytes } from "../../../src/engine/format/change_set.ts";
import {
  type UploadResult,
  UploadTask,
  type UploadTaskOptions,
} from "../../../src/engine/upload/upload_task.ts";
import { SeededRandom } from "../../doubles/seeded_random.ts";
import { changesOf } from "../_engine.ts";

/** A change set of one change. */
export function setOf(sequenceNumber: number, text = `change ${sequenceNumber}`): ChangeSet {
  const { bytes, count, keyGroupMin, keyGroupMax } = changesOf(text);
  return {
    writer: "totals",
    keyGroups: [0, 127],
    epoch: 1,
    sequenceNumber,
    firstOffset: sequenceNumber,
    count,
    keyGroupMin,
    keyGroupMax,
    byteLength: bytes.length,
    chunks: [bytes],
  };
}

/** A change set that has `size` bytes with its framing; what it holds is never read. */
export function setOfBytes(sequenceNumber: number, size: number): ChangeSet {
  const set = setOf(sequenceNumber);
  const sized = { ...set, byteLength: size - setHeaderBytes({ ...set, byteLength: size }) };
  assert.equal(setHeaderBytes(sized) + sized.byteLength, size, `no change set has ${size} bytes`);
  return sized;
}

/** A task that keeps what it was told. */
export class RecordedTask {
  readonly task: UploadTask;
  readonly events: (readonly UploadResult[] | { failed: readonly number[]; error: Error })[] = [];

  /** @param options `onEvent`: called at each event, with the first number of the task. */
  constructor(
    sets: readonly ChangeSet[],
    options: UploadTaskOptions & { onEvent?: (first: number) => void } = {},
  ) {
    const note = (event: (typeof this.events)[number]) => {
      this.events.push(event);
      options.onEvent?.(sets[0]?.sequenceNumber);
    };
    this.task = new UploadTask(sets, note, (failed, error) => note({ failed, error }), options);
  }

  /** How it ended. */
  get outcome(): "none" | "complete" | "failed" {
    const event = this.events.at(-1);
    if (event === undefined) return "none";
    return "failed" in event ? "failed" : "complete";
  }

  /** Why it failed. */
  get error(): Error | undefined {
    const event = this.events.at(-1);
    return event !== undefined && "failed" in event ? event.error : undefined;
  }
}

/** Makes what of a {@link largeSet} can't be compressed. */
export const LARGE_SET_SEED = 41;

/** A set of about so many bytes that can be compressed, but for the first part of them. */
export function largeSet(sequenceNumber: number, bytes: number, randomBytes = 0): ChangeSet {
  const random = new Uint8Array(randomBytes);
  new SeededRandom(LARGE_SET_SEED + sequenceNumber).fill(random);
  const text = Array.from(random, (byte) => String.fromCharCode(32 + byte % 95)).join("");
  const set = setOf(sequenceNumber);
  const changes = changesOf(text, `${sequenceNumber} `.repeat(bytes / 2));
  return { ...set, ...changes, byteLength: changes.bytes.length, chunks: [changes.bytes] };
}
