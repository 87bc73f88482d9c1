import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../src/runtime/open_store.ts";
import { ForgettingDisk } from "../doubles/forgetting_file_system.ts";
import { posixOn } from "../doubles/posix_on_double.ts";
import { RecordingLogger } from "../doubles/recording_logger.ts";

test("a job that another owner takes is warned of", async () => {
  const disk = new ForgettingDisk();
  const logger = new RecordingLogger();
  const store = await openStore(posixOn(disk), { logger });
  const job = await store.job("orders");
  await using other = await openStore(posixOn(disk), {});
  await other.job("orders", { takeOver: true });
  job.writer("w").append(0, new Uint8Array([1]));
  await assert.rejects(job.writer("w").persist(), { code: "fenced" });
  const [{ message, fields }] = logger.records.filter(({ level }) => level === "warning");
  assert.deepEqual([message, fields.job, fields.epoch], ["A run has ended", "orders", 1]);
  await store.close().catch((error) => assert.equal(error.code, "fenced"));
});

test("what a job reports says which job and which epoch it is about", async () => {
  const logger = new RecordingLogger();
  const store = await openStore("memory:", { logger });
  const job = await store.job("orders");
  await job.resume();
  await store.close();
  const told = logger.records.map((
    { level, message, fields: { job, epoch, run } },
  ) => [level, message, job, epoch, run]);
  assert.deepEqual(told, [
    ["info", "A run is served", "orders", 1, 1],
    ["info", "A run was let go", "orders", 1, 1],
    ["info", "A run is served", "orders", 2, 2],
    ["info", "A run was let go", "orders", 2, 2],
  ]);
});
