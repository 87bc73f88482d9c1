import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { UploadTask } from "../../../src/engine/upload/upload_task.ts";
import { RecordedTask, setOf } from "./_sets.ts";

const RESULT = { sequenceNumber: 0, key: "file", batch: 0, byteLength: 3 };

describe("UploadTask", () => {
  test("hands its results on, once", () => {
    const { task, events } = new RecordedTask([setOf(0)]);
    task.complete([RESULT]);
    task.complete([RESULT]);
    task.fail(new Error("late"));
    assert.deepEqual(events, [[RESULT]]);
  });

  test("names every sequence number when it fails, once", () => {
    const { task, events } = new RecordedTask([setOf(3), setOf(4)]);
    const error = new Error("disk");
    task.fail(error);
    task.fail(new Error("again"));
    task.complete([RESULT]);
    assert.deepEqual(events, [{ failed: [3, 4], error }]);
  });

  test("keeps the change sets that it was given, whatever becomes of the list", () => {
    const sets = [setOf(0)];
    const task = new UploadTask(sets, () => {}, () => {});
    sets.push(setOf(1));
    assert.equal(task.changeSets.length, 1);
  });

  test("is settled while its owner is being told, so that the owner may settle it again", () => {
    let calls = 0;
    const task: UploadTask = new UploadTask([setOf(0)], () => {
      calls++;
      task.fail(new Error("in between"));
    }, () => calls++);
    task.complete([]);
    assert.equal(calls, 1);
  });
});
