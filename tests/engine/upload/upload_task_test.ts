import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { encodeSetHeader } from "../../../src/engine/format/change_set.ts";
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

  test("has the size of all its sets, framing included", () => {
    const sets = [setOf(3, "a"), setOf(400, "bc".repeat(200))];
    const framed = sets.map((set) => encodeSetHeader(set).length + set.byteLength);
    assert.equal(new UploadTask(sets, () => {}, () => {}).size, framed[0] + framed[1]);
    assert.ok(framed[1] > 400);
    assert.equal(new UploadTask([], () => {}, () => {}).size, 0);
  });

  test("says whether it is admitted and settled", () => {
    const plain = new UploadTask([setOf(0)], () => {}, () => {});
    assert.equal(plain.isAdmitted, false);
    assert.equal(plain.isSettled, false);
    plain.fail(new Error("disk"));
    assert.equal(plain.isSettled, true);
    const admitted = new UploadTask([setOf(0)], () => {}, () => {}, { isAdmitted: true });
    assert.equal(admitted.isAdmitted, true);
    admitted.complete([]);
    assert.equal(admitted.isSettled, true);
  });
});
