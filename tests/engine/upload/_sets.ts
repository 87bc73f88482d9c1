/** Change sets and tasks for tests of the upload parts. @module */
import type { ChangeSet } from "../../../src/engine/format/change_set.ts";
import { type UploadResult, UploadTask } from "../../../src/engine/upload/upload_task.ts";
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

/** A task that keeps what it was told. */
export class RecordedTask {
  readonly task: UploadTask;
  readonly events: (readonly UploadResult[] | { failed: readonly number[]; error: Error })[] = [];

  /** @param onEvent Called at each event, with the first number of the task. */
  constructor(sets: readonly ChangeSet[], onEvent?: (first: number) => void) {
    const note = (event: (typeof this.events)[number]) => {
      this.events.push(event);
      onEvent?.(sets[0]?.sequenceNumber);
    };
    this.task = new UploadTask(sets, note, (failed, error) => note({ failed, error }));
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
