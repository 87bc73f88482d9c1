import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Job } from "../../../src/engine/types.ts";
import {
  appendDurably,
  changeFiles,
  GENERATION,
  keysBelow,
  newMemory,
  openJobOn,
  rejectsWith,
  restore,
} from "../_engine.ts";

async function says(job: Job, key: string): Promise<string> {
  const { action, reason } = await job.explain(key, { quarantineMs: 0 });
  return `${action}: ${reason}`;
}

describe("Job.explain", () => {
  test("says of change files of several owners what needs them, or why nothing does", async () => {
    const objects = newMemory();
    const one = await openJobOn(objects, { changeFileBytesMax: 1 });
    await appendDurably(one.job, "w", "a");
    const { uuid } = await one.job.checkpoint();
    await appendDurably(one.job, "w", "given up");
    const two = await openJobOn(objects, { changeFileBytesMax: 1 });
    await two.job.resume();
    await appendDurably(two.job, "w", "b");
    const [first, second, third] = await changeFiles(objects);
    assert.equal(await says(two.job, second), "keep: this owner has published no checkpoint yet");
    assert.equal(await says(two.job, third), "keep: the tail needs it");
    await two.job.checkpoint();
    assert.match(
      await says(two.job, second),
      /^delete: nothing needs it: no checkpoint that stays names this change file of epoch 1, an older owner, and it lies before the tail$/,
    );
    assert.equal(await says(two.job, first), "keep: the tail needs it");
    assert.equal(await says(two.job, uuid), `keep: checkpoint ${uuid} is one of the newest 2`);
    const { key, size } = await two.job.explain(uuid.toUpperCase());
    assert.deepEqual([key, size], [`jobs/orders/checkpoints/${uuid}.json`, undefined]);
    assert.equal((await two.job.explain(first)).size, (await objects.head(first))!.size);
  });

  test("says whose manifest it is that the catalog does not list", async () => {
    const objects = newMemory();
    const one = await openJobOn(objects);
    one.backend.fail({ kind: "putIfAbsent", key: GENERATION });
    await rejectsWith(one.job.checkpoint(), "storage-unavailable");
    const [manifest] = await keysBelow(objects, "jobs/orders/checkpoints/");
    assert.match(
      await says(one.job, manifest),
      /no such checkpoint of this owner, epoch 1: it fail/,
    );
    const two = await openJobOn(objects);
    assert.match(await says(two.job, manifest), /of epoch 1, an older owner: it failed, or it was/);
    await objects.put(manifest, new Uint8Array([1]));
    assert.match(await says(two.job, manifest), /^delete: .* an owner that can't be told/);
  });

  test("says of what no collection looks at whose it is", async () => {
    const objects = newMemory();
    const { job, store } = await openJobOn(objects, { reserveBytes: 10 });
    await store.job("other");
    await objects.put("jobs/orders/private/x", new Uint8Array(1));
    await objects.put("jobs/orders/notes", new Uint8Array(1));
    await objects.put("coordinator/plan", new Uint8Array(1));
    const number = (n: number) => String(n).padStart(20, "0");
    const cases: [string, RegExp][] = [
      ["TIDEMARK", /^keep: it makes the folder a store/],
      ["RESERVE", /^keep: it is given up when the disk is full/],
      ["coordinator/plan", /^keep: it belongs to no job/],
      [`jobs/other/owners/${number(1)}.json`, /^keep: it belongs to job other/],
      [`jobs/orders/owners/${number(1)}.json`, /^keep: it is the owner key of epoch 1/],
      [`jobs/orders/catalog/${number(1)}.json`, /^keep: it is one of the newest 16 gen/],
      ["jobs/orders/private/x", /^keep: it is the pipeline's own/],
      ["jobs/orders/notes", /^keep: the engine makes no such name/],
      ["jobs/orders/none", /^none: there is no such object, and the engine makes none/],
      [`jobs/orders/catalog/${number(99)}.json`, /^none: there is no such object any more/],
      ["../up", /^none: /],
      ["", /^none: /],
    ];
    for (const [key, wanted] of cases) assert.match(await says(job, key), wanted, key);
  });
});

describe("Job.deleteCheckpoint", () => {
  test("removes one checkpoint and what it alone needed; its children take over its parent", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects, { changeFileBytesMax: 1 });
    const writer = job.writer("w");
    const uuids: string[] = [];
    for (const text of ["a", "b", "c"]) {
      await appendDurably(job, "w", text);
      uuids.push((await job.checkpoint()).uuid);
      writer.truncate(writer.nextSequenceNumber());
    }
    await job.setRetention({ minCount: 3 });
    const { removed, deletedBytes } = await job.deleteCheckpoint(uuids[1]);
    assert.deepEqual(removed, [uuids[1]]);
    assert.ok(deletedBytes > 0);
    const left = await job.checkpoints();
    assert.deepEqual(left.map(({ uuid, parent }) => [uuid, parent]), [
      [uuids[0], undefined],
      [uuids[2], uuids[0]],
    ]);
    assert.equal((await changeFiles(objects)).length, 2);
    assert.deepEqual((await restore(job, { at: uuids[0] })).changes, { w: ["a"] });
    assert.deepEqual((await restore(job, { at: uuids[2] })).changes, { w: ["c"] });
    assert.deepEqual((await job.verify()).problems, []);
  });

  test("leaves what rests at rest, and what it did not name", async () => {
    const { job } = await openJobOn();
    const uuids: string[] = [];
    for (let i = 0; i < 4; i++) uuids.push((await job.checkpoint()).uuid);
    const { quarantined } = await job.collect();
    assert.deepEqual(quarantined, uuids.slice(0, 2));
    assert.deepEqual((await job.deleteCheckpoint(uuids[0])).removed, [uuids[0]]);
    assert.deepEqual((await job.checkpoints()).map(({ uuid }) => uuid), uuids.slice(1));
    assert.notEqual((await job.checkpoints())[0].quarantinedAtMs, undefined);
  });

  test("refuses what is needed: head, what is pinned, what is read, what is not there", async () => {
    const objects = newMemory();
    const { job, store } = await openJobOn(objects);
    await appendDurably(job, "w", "a");
    const [first, second, head] = [
      (await job.checkpoint()).uuid,
      (await job.checkpoint()).uuid,
      (await job.checkpoint()).uuid,
    ];
    await job.pin(second, "for the audit");
    assert.match(
      (await rejectsWith(job.deleteCheckpoint(head), "checkpoint-in-use")).message,
      /goes on/,
    );
    const pinned = await rejectsWith(job.deleteCheckpoint(second), "checkpoint-in-use");
    assert.match(pinned.message, /for the audit/);
    const reading = (await store.reader("orders")).restore({ at: first })[Symbol.asyncIterator]();
    await reading.next();
    assert.match(
      (await rejectsWith(job.deleteCheckpoint(first), "checkpoint-in-use")).message,
      /reads/,
    );
    await reading.return?.();
    await job.deleteCheckpoint(first);
    await rejectsWith(job.deleteCheckpoint(first), "checkpoint-not-found");
  });
});
