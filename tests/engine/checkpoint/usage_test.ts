import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  appendDurably,
  changeFiles,
  flip,
  JOB,
  keysBelow,
  openEngine,
  openJobOn,
  rewrite,
} from "../_engine.ts";

describe("Job.usage", () => {
  test("is what a full recount gives, after any history", async () => {
    const { job, backend } = await openJobOn();
    for (let i = 0; i < 3; i++) {
      await appendDurably(job, "w", `change ${i}`);
      await job.checkpoint();
      await job.resume({ at: "tail" });
    }
    await job.collect({ quarantineMs: 0 });
    let bytes = 0;
    let objects = 0;
    for await (const { size } of backend.list(`jobs/${JOB}/`)) {
      bytes += size;
      objects += 1;
    }
    const usage = await job.usage();
    assert.deepEqual([usage.bytes, usage.objects], [bytes, objects]);
    assert.equal(usage.kinds.checkpoints.objects, 2);
    assert.equal(usage.kinds.changelog.objects, (await changeFiles(backend)).length);
  });

  test("tells what would go with a checkpoint from what it shares", async () => {
    const { job, backend } = await openJobOn();
    await appendDurably(job, "w", "one");
    const first = (await job.checkpoint()).uuid;
    await job.resume({ at: "latest" });
    await appendDurably(job, "w", "two");
    const left = (await job.checkpoint()).uuid;
    const abandoned = (await changeFiles(backend)).at(-1)!;
    await job.resume({ at: first });
    const { checkpoints } = await job.usage();
    const [ofFirst, ofLeft] = checkpoints;
    assert.deepEqual([ofFirst.uuid, ofLeft.uuid], [first, left]);
    const sizeOf = async (key: string) => (await backend.head(key))!.size;
    const ownManifest = await sizeOf(`jobs/${JOB}/checkpoints/${left}.json`);
    assert.equal(ofLeft.exclusiveBytes, ownManifest + await sizeOf(abandoned));
    assert.equal(ofLeft.referencedBytes, ofLeft.exclusiveBytes + ofLeft.sharedBytes);
    assert.equal(ofFirst.exclusiveBytes, await sizeOf(`jobs/${JOB}/checkpoints/${first}.json`));
  });

  test("is the same beside the owner", async () => {
    const { job, backend } = await openJobOn();
    await appendDurably(job, "w", "one");
    await job.checkpoint();
    const { store } = await openEngine(backend, { mode: "read" });
    const reader = await store.reader(JOB);
    assert.deepEqual(await reader.usage(), await job.usage());
  });
});

describe("Job.verify", () => {
  test("quick finds what is missing or cut, and leaves contents alone", async () => {
    const { job, backend } = await openJobOn();
    await appendDurably(job, "w", "one");
    await job.checkpoint();
    const [file] = await changeFiles(backend);
    assert.equal((await job.verify({ level: "quick" })).ok, true);
    await rewrite(backend, file, flip(300));
    assert.equal((await job.verify({ level: "quick" })).ok, true);
    assert.equal((await job.verify()).ok, false);
    await rewrite(backend, file, (bytes) => bytes.slice(0, 100));
    const { problems } = await job.verify({ level: "quick" });
    assert.deepEqual(problems.map(({ key }) => key), [file]);
    assert.match(problems[0].reason, /cut to 100 bytes/);
    const [manifest] = await keysBelow(backend, `jobs/${JOB}/checkpoints/`);
    await backend.delete(manifest);
    assert.equal((await job.verify({ level: "quick" })).problems.length, 2);
  });

  test("beside the owner names a damaged manifest of head, and goes on", async () => {
    const { job, backend } = await openJobOn();
    await appendDurably(job, "w", "one");
    await job.checkpoint();
    const [manifest] = await keysBelow(backend, `jobs/${JOB}/checkpoints/`);
    await rewrite(backend, manifest, flip(200));
    const { store } = await openEngine(backend, { mode: "read" });
    const { problems } = await (await store.reader(JOB)).verify();
    assert.deepEqual(problems.map(({ key }) => key), [manifest]);
  });
});
