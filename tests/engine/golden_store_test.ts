import assert from "node:assert/strict";
import { cp, readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Job, JobReader } from "../../src/engine/types.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { type TemporaryFolder, temporaryFolder } from "../runtime/temporary_folder.ts";
import { append, appendDurably, JOB, textOf } from "./_engine.ts";
import { CONTENT, type Content, GOLDEN_STORE, PRIVATE_KEY } from "./_golden_store.ts";

async function goldenCopy(): Promise<TemporaryFolder> {
  const folder = await temporaryFolder();
  await cp(fileURLToPath(GOLDEN_STORE), folder.path, { recursive: true });
  return folder;
}

async function contentAt(job: JobReader, at: string): Promise<Content> {
  const content: Record<string, { from: number; changes: string[] }> = {};
  for await (const { writer, offset, data } of job.restore({ at })) {
    const { from, changes } = content[writer] ??= { from: offset, changes: [] };
    assert.equal(offset, from + changes.length);
    changes.push(textOf(data));
  }
  return content;
}

/** Uuids of the checkpoints, by identifier. */
async function uuidsOf(job: JobReader): Promise<Readonly<Record<string, string>>> {
  const checkpoints = await job.checkpoints();
  return Object.fromEntries(checkpoints.map(({ identifier = "", uuid }) => [identifier, uuid]));
}

async function checkCheckpoints(job: JobReader): Promise<void> {
  const uuids = await uuidsOf(job);
  for (const name of ["one", "two", "three"] as const) {
    assert.deepEqual(await contentAt(job, uuids[name]), CONTENT[name], name);
  }
}

async function openOwned(path: string): Promise<{ job: Job; close: () => Promise<void> }> {
  const store = await openStore(path, { create: false, persistDelayMs: 0 });
  return { job: await store.job(JOB, { create: false }), close: () => store.close() };
}

describe("the golden store of version 1", () => {
  test("is read as it stands", async () => {
    await using folder = await goldenCopy();
    await using store = await openStore(folder.path, { mode: "read" });
    await using job = await store.reader(JOB);
    await checkCheckpoints(job);
    assert.deepEqual(await contentAt(job, "tail"), CONTENT.tail);
    const { one, two, three } = await uuidsOf(job);
    const details = await job.checkpointDetails(one);
    assert.deepEqual(
      [details.fingerprint, details.steps, details.processedRecords, details.metadata],
      [7n, 1n, 4n, { line: 4 }],
    );
    const listed = await job.checkpoints();
    assert.deepEqual(
      listed.map(({ uuid, parent, isHead, isAbandoned, pin }) => (
        { uuid, parent, isHead, isAbandoned, pin }
      )),
      [
        { uuid: one, parent: undefined, isHead: false, isAbandoned: false, pin: undefined },
        {
          uuid: two,
          parent: one,
          isHead: false,
          isAbandoned: true,
          pin: "kept for later versions",
        },
        { uuid: three, parent: one, isHead: true, isAbandoned: false, pin: undefined },
      ],
    );
  });

  test("is recovered, restored, verified, and goes on", async () => {
    await using folder = await goldenCopy();
    const first = await openOwned(folder.path);
    const { recovery } = first.job;
    assert.deepEqual(
      [recovery.adoptedSets, recovery.adoptedChanges, recovery.copiedBatches, recovery.torn.length],
      [1, 1, 1, 1],
    );
    await checkCheckpoints(first.job);
    assert.deepEqual(await contentAt(first.job, "tail"), CONTENT.tail);
    assert.deepEqual((await first.job.verify()).problems, []);
    await appendDurably(first.job, "left", "a4");
    await first.job.checkpoint({ identifier: "four" });
    append(first.job, "left", "a5");
    await first.close();

    const second = await openOwned(folder.path);
    const left = { from: 0, changes: ["a0", "a1", "a2", "a3", "a4", "a5"] };
    assert.deepEqual(await contentAt(second.job, "tail"), { ...CONTENT.tail, left });
    await checkCheckpoints(second.job);
    await second.job.resume({ at: (await uuidsOf(second.job)).two });
    assert.deepEqual(await contentAt(second.job, "tail"), CONTENT.two);
    await appendDurably(second.job, "right", "b2");
    await second.job.checkpoint({ identifier: "five" });
    await second.job.setRetention({ minCount: 1 });
    await second.job.collect({ quarantineMs: 0 });
    assert.deepEqual((await second.job.verify()).problems, []);
    await second.close();
    assert.equal(await readFile(`${folder.path}/${PRIVATE_KEY}`, "utf8"), "the pipeline's own\n");
  });

  test("is collected and verified by its owner, before and after a checkpoint of its own", async () => {
    await using folder = await goldenCopy();
    const { job, close } = await openOwned(folder.path);
    const uuids = await uuidsOf(job);
    const plan = await job.collect({ quarantineMs: 0, dryRun: true });
    assert.deepEqual([plan.removed, plan.quarantined], [[], []]);
    const manifests = Object.values(uuids).map((uuid) => `jobs/${JOB}/checkpoints/${uuid}.json`);
    for (const key of manifests) {
      assert.equal(plan.objects.find((object) => object.key === key)?.action, "keep", key);
    }
    await job.collect({ quarantineMs: 0 });
    await checkCheckpoints(job);
    for (const level of ["quick", "full"] as const) {
      assert.deepEqual((await job.verify({ level })).problems, [], level);
    }
    const { checkpoints } = await job.usage();
    assert.ok(
      checkpoints.length === 3 && checkpoints.every(({ exclusiveBytes }) => exclusiveBytes > 0),
    );

    await appendDurably(job, "left", "a4");
    const { uuid, parent } = await job.checkpoint({ identifier: "four" });
    assert.equal(parent, uuids.three);
    await job.setRetention({ minCount: 1 });
    const { removed } = await job.collect({ quarantineMs: 0 });
    assert.deepEqual(removed, [uuids.one, uuids.three]);
    assert.deepEqual(await contentAt(job, uuids.two), CONTENT.two, "it is pinned");
    const left = { from: 0, changes: ["a0", "a1", "a2", "a3", "a4"] };
    assert.deepEqual(await contentAt(job, uuid), { ...CONTENT.tail, left });
    assert.deepEqual((await job.verify()).problems, []);
    await close();
  });
});
