import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TidemarkError } from "../../../src/engine/errors.ts";
import { directScheduler } from "../../../src/engine/upload/direct_scheduler.ts";
import type { StateChangeUploader } from "../../../src/engine/upload/uploader.ts";
import type { UploadTask, UploadTasksResult } from "../../../src/engine/upload/upload_task.ts";
import { hasSettled, turn } from "../_engine.ts";
import { RecordedTask, setOf } from "./_sets.ts";

/** An uploader whose calls a test ends one by one. */
class ManualUploader implements StateChangeUploader {
  /** Sequence numbers of every upload. */
  readonly uploads: number[][] = [];
  readonly canOverlap = false;
  closes = 0;
  #ends: ((error?: Error, refused?: readonly UploadTask[]) => void)[] = [];

  upload(tasks: readonly UploadTask[]): Promise<UploadTasksResult> {
    this.uploads.push(tasks.flatMap((task) => task.changeSets.map((set) => set.sequenceNumber)));
    return new Promise((resolve, reject) => {
      this.#ends.push((error, refused = []) => {
        if (error !== undefined) return reject(error);
        const good = tasks.filter((task) => !refused.includes(task));
        const successful = new Map(good.map((task) => [task, []]));
        const failed = new Map(refused.map((task) => [task, new Error("refused")]));
        resolve({ successful, failed });
      });
    });
  }

  close(): Promise<void> {
    this.closes++;
    return Promise.resolve();
  }

  async end(error?: Error, refused?: readonly UploadTask[]): Promise<void> {
    this.#ends.shift()?.(error, refused);
    await turn();
  }
}

describe("directScheduler", () => {
  test("uploads at once, and tells the task", async () => {
    const uploader = new ManualUploader();
    const scheduler = directScheduler(uploader);
    const recorded = new RecordedTask([setOf(0)]);
    scheduler.upload(recorded.task);
    assert.ok(scheduler.isUploading);
    await turn();
    assert.deepEqual(uploader.uploads, [[0]]);
    assert.equal(recorded.outcome, "none");
    await uploader.end();
    assert.equal(recorded.outcome, "complete");
    assert.equal(scheduler.isUploading, false);
  });

  test("joins the tasks of one turn, and those that come while an upload is running", async () => {
    const uploader = new ManualUploader();
    const scheduler = directScheduler(uploader);
    for (const number of [0, 1]) scheduler.upload(new RecordedTask([setOf(number)]).task);
    await turn();
    for (const number of [2, 3]) scheduler.upload(new RecordedTask([setOf(number)]).task);
    await turn();
    assert.deepEqual(uploader.uploads, [[0, 1]]);
    await uploader.end();
    assert.deepEqual(uploader.uploads, [[0, 1], [2, 3]]);
    await uploader.end();
  });

  test("never uploads an empty task", async () => {
    const uploader = new ManualUploader();
    const recorded = new RecordedTask([]);
    directScheduler(uploader).upload(recorded.task);
    assert.equal(recorded.outcome, "complete");
    await turn();
    assert.deepEqual(uploader.uploads, []);
  });

  test("fails every task of an upload that fails, and goes on with the next", async () => {
    const uploader = new ManualUploader();
    const scheduler = directScheduler(uploader);
    const tasks = [0, 1, 2].map((number) => new RecordedTask([setOf(number)]));
    scheduler.upload(tasks[0].task);
    scheduler.upload(tasks[1].task);
    await turn();
    scheduler.upload(tasks[2].task);
    const error = new Error("disk");
    await uploader.end(error);
    assert.deepEqual(tasks.map(({ outcome }) => outcome), ["failed", "failed", "none"]);
    assert.equal(tasks[0].error, error);
    await uploader.end();
    assert.equal(tasks[2].outcome, "complete");
  });

  test("fails a task that was refused for its own data alone", async () => {
    const uploader = new ManualUploader();
    const scheduler = directScheduler(uploader);
    const tasks = [0, 1].map((number) => new RecordedTask([setOf(number)]));
    for (const { task } of tasks) scheduler.upload(task);
    await turn();
    await uploader.end(undefined, [tasks[0].task]);
    assert.deepEqual(tasks.map(({ outcome }) => outcome), ["failed", "complete"]);
  });

  test("is idle when nothing waits and nothing runs", async () => {
    const uploader = new ManualUploader();
    const scheduler = directScheduler(uploader);
    await scheduler.whenIdle();
    scheduler.upload(new RecordedTask([setOf(0)]).task);
    const idle = scheduler.whenIdle();
    await turn();
    scheduler.upload(new RecordedTask([setOf(1)]).task);
    await uploader.end();
    assert.equal(await hasSettled(idle), false);
    await uploader.end();
    await idle;
  });

  test("drains at close: uploads what waits, closes the uploader, then refuses", async () => {
    const uploader = new ManualUploader();
    const scheduler = directScheduler(uploader);
    const tasks = [0, 1, 2].map((number) => new RecordedTask([setOf(number)]));
    scheduler.upload(tasks[0].task);
    await turn();
    scheduler.upload(tasks[1].task);
    const closing = scheduler.close({ mode: "drain" });
    scheduler.upload(tasks[2].task);
    assert.ok(tasks[2].error instanceof TidemarkError);
    assert.equal(tasks[2].error.code, "closed");
    await uploader.end();
    assert.equal(uploader.closes, 0);
    await uploader.end();
    await closing;
    assert.deepEqual(uploader.uploads, [[0], [1]]);
    assert.equal(uploader.closes, 1);
  });

  test("aborts at close: fails what waits and what runs at once, each once", async () => {
    const uploader = new ManualUploader();
    const scheduler = directScheduler(uploader);
    const tasks = [0, 1, 2].map((number) => new RecordedTask([setOf(number)]));
    scheduler.upload(tasks[0].task);
    await turn();
    scheduler.upload(tasks[1].task);
    const reason = new Error("fenced");
    await scheduler.close({ mode: "abort", reason });
    scheduler.upload(tasks[2].task);
    for (const task of tasks) assert.equal(task.error, reason);
    await uploader.end();
    assert.deepEqual(tasks.map(({ events }) => events.length), [1, 1, 1]);
    assert.deepEqual(uploader.uploads, [[0]]);
    assert.equal(scheduler.isUploading, false);
  });
});
