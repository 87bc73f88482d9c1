/** What only the owner may do, and what must not be undone by what runs beside it. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Catalog } from "../../src/engine/checkpoint/catalog.ts";
import { readNewestGeneration } from "../../src/engine/checkpoint/catalog_read.ts";
import { inspect } from "node:util";
import { CHECKPOINTS_MAX } from "../../src/engine/limits.ts";
import type { Job } from "../../src/engine/types.ts";
import {
  append,
  appendDurably,
  CHANGE_FILE,
  JOB,
  keysBelow,
  newMemory,
  openEngine,
  openJobOn,
  rejectsWith,
  restore,
} from "./_engine.ts";
import { contentOf, newPlace } from "./checkpoint/_place.ts";

const AT_ONCE = { quarantineMs: 0 };
/** More than the catalog keeps, so that an old number is free again. */
const GENERATIONS = 20;

/** A job whose first owner was overtaken long ago, and does not know. */
async function overtaken() {
  const objects = newMemory();
  const old = await openJobOn(objects);
  await appendDurably(old.job, "w", "old");
  const first = (await old.job.checkpoint()).uuid;
  const { job } = await openJobOn(objects);
  for (let i = 0; i < GENERATIONS; i++) {
    await appendDurably(job, "w", `new ${i}`);
    await job.checkpoint();
  }
  return { objects, old: old.job, job, first };
}

describe("an owner that was overtaken more than the kept generations ago", () => {
  test("collects nothing: its successor's checkpoints stay, and the job opens", async () => {
    const { objects, old, job } = await overtaken();
    const before = await keysBelow(objects, `jobs/${JOB}/`);
    await rejectsWith(old.collect(AT_ONCE), "fenced");
    assert.deepEqual(await keysBelow(objects, `jobs/${JOB}/`), before);
    assert.equal((await restore(job)).changes.w.length, GENERATIONS + 1);
    const { job: next } = await openJobOn(objects);
    assert.deepEqual((await next.verify()).problems, []);
  });

  const actions: Readonly<Record<string, (job: Job, uuid: string) => Promise<unknown>>> = {
    pin: (job, uuid) => job.pin(uuid),
    unpin: (job, uuid) => job.pin(uuid),
    setRetention: (job) => job.setRetention({ minCount: 9 }),
    "a policy that it has": (job) => job.setRetention(job.retention),
    checkpoint: (job) => job.checkpoint(),
    resume: (job) => job.resume(),
  };
  for (const [name, action] of Object.entries(actions)) {
    test(`is refused ${name}`, async () => {
      const { old, job, first } = await overtaken();
      const before = await job.checkpoints();
      await rejectsWith(action(old, first), "fenced");
      assert.deepEqual(await job.checkpoints(), before);
    });
  }
});

describe("a closed job", () => {
  test("is not begun again by a resume that was under way", async () => {
    const { job, backend } = await openJobOn();
    await appendDurably(job, "w", "a");
    await job.checkpoint();
    const resuming = job.resume();
    const closing = job.close();
    await Promise.allSettled([resuming, closing]);
    const generations = await keysBelow(backend, `jobs/${JOB}/catalog/`);
    assert.throws(() => append(job, "w", "b"));
    assert.deepEqual(await keysBelow(backend, `jobs/${JOB}/catalog/`), generations);
    assert.deepEqual(backend.keysOf("closePin").sort(), backend.keysOf("pin").sort());
  });

  test("is refused pins, policies and collections", async () => {
    const { job } = await openJobOn();
    const { uuid } = await job.checkpoint();
    await job.close();
    await rejectsWith(job.pin(uuid), "closed");
    await rejectsWith(job.setRetention({ minCount: 1 }), "closed");
    await rejectsWith(job.collect(), "closed");
  });
});

describe("a job that is being resumed", () => {
  test("stays the same job for who asks for it meanwhile", async () => {
    const { job, store, backend } = await openJobOn();
    await appendDurably(job, "w", "a");
    await job.checkpoint();
    const publish = backend.hold({ kind: "putIfAbsent", key: /catalog/ });
    const resuming = job.resume();
    await publish.reached;
    const other = store.job(JOB);
    publish.release();
    await resuming;
    assert.equal(await other, job);
    await appendDurably(job, "w", "b");
  });
});

describe("a full catalog", () => {
  test("is collected before another checkpoint is refused", async () => {
    const { job } = await openJobOn();
    await job.setRetention({ minCount: CHECKPOINTS_MAX });
    for (let i = 0; i < CHECKPOINTS_MAX; i++) await job.checkpoint();
    await rejectsWith(job.checkpoint(), "too-many-checkpoints");
    await job.setRetention({ minCount: 2 });
    await job.checkpoint();
    assert.ok((await job.checkpoints()).length <= 3);
  });
});

describe("a job that is opened", () => {
  test("is made for who may, though somebody who may not asked first", async () => {
    const { store } = await openJobOn();
    const [refused, made] = await Promise.allSettled([
      store.job("other", { create: false }),
      store.job("other"),
    ]);
    assert.deepEqual([refused.status, made.status], ["rejected", "fulfilled"]);
  });

  test("lets the files go that it began when it fails", async () => {
    const objects = newMemory();
    const one = await openJobOn(objects);
    await appendDurably(one.job, "w", "unproven");
    const { store, backend } = await openEngine(objects);
    backend.fail({ kind: "putIfAbsent", key: /adopted/ });
    await rejectsWith(store.job(JOB), "storage-unavailable");
    assert.equal(backend.keysOf("createAppender").length, 1);
    assert.equal(backend.keysOf("closeAppender").length, 1);
  });
});

describe("a restore", () => {
  test("that meets a collection in its owner is told that it expired, not that data is lost", async () => {
    const { job, backend } = await openJobOn();
    await appendDurably(job, "w", "a");
    const first = (await job.checkpoint()).uuid;
    for (let i = 0; i < 2; i++) await job.checkpoint();
    const reading = backend.hold({ kind: "get", key: /checkpoints/ });
    const restoring = restore(job, { at: first });
    await reading.reached;
    const { removed } = await job.collect(AT_ONCE);
    reading.release();
    assert.deepEqual(removed, [], "what is about to be read stays listed");
    assert.deepEqual((await restoring).changes, { w: ["a"] });
  });
});

describe("a restore in an owner that was overtaken", () => {
  for (const [at, key] of [["checkpoint", /checkpoints/], ["tail", CHANGE_FILE]] as const) {
    test(`says so when the new one has let go of what it reads of a ${at}`, async () => {
      const objects = newMemory();
      const { job, backend } = await openJobOn(objects, { changeFileBytesMax: 1 });
      await job.setRetention({ minCount: 1 });
      await appendDurably(job, "w", "a");
      const { uuid } = await job.checkpoint();
      await appendDurably(job, "w", "b");
      const reading = backend.hold({ kind: at === "tail" ? "head" : "get", key });
      const restoring = restore(job, { at: at === "tail" ? at : uuid });
      await reading.reached;
      const { job: young } = await openJobOn(objects, {}, { takeOver: true });
      const writer = young.writer("w");
      writer.truncate(writer.nextSequenceNumber());
      await young.checkpoint();
      await young.collect(AT_ONCE);
      reading.release();
      const error = await rejectsWith(restoring, "fenced");
      assert.match(error.message, /another owner/);
    });
  }

  const looks: Readonly<Record<string, (job: Job, uuid: string) => Promise<unknown>>> = {
    "a verify": (job) => job.verify(),
    "a count of the usage": (job) => job.usage(),
    "a show of details": (job, uuid) => job.checkpointDetails(uuid),
  };
  for (const [what, look] of Object.entries(looks)) {
    test(`says so to ${what}, too`, async () => {
      const objects = newMemory();
      const { job } = await openJobOn(objects);
      await job.setRetention({ minCount: 1 });
      await appendDurably(job, "w", "a");
      const { uuid } = await job.checkpoint();
      const { job: young } = await openJobOn(objects, {}, { takeOver: true });
      await young.checkpoint();
      assert.deepEqual((await young.collect(AT_ONCE)).removed, [uuid]);
      await rejectsWith(look(job, uuid), "fenced");
    });
  }

  test("is told what is lost when it is the owner's still", async () => {
    const { job, backend } = await openJobOn();
    await appendDurably(job, "w", "a");
    await job.checkpoint();
    for (const lost of await keysBelow(backend, `jobs/${JOB}/checkpoints/`)) {
      await backend.delete(lost);
    }
    await rejectsWith(restore(job), "changes-lost");
  });
});

describe("change files", () => {
  test("end at their age", async () => {
    const { job, backend, ports } = await openJobOn(newMemory(), { changeFileAgeMsMax: 1000 });
    await appendDurably(job, "w", "a");
    await ports.clock.advance(1000);
    await appendDurably(job, "w", "b");
    await appendDurably(job, "w", "c");
    assert.equal(backend.keysOf("createAppender").length, 2);
  });

  test("do not wait for an end frame that hangs", async () => {
    const { job, backend } = await openJobOn(newMemory(), { changeFileBytesMax: 1 });
    // Header and batch of the first file pass, its end frame hangs.
    backend.hold({ kind: "write", key: CHANGE_FILE, skip: 2 });
    await appendDurably(job, "w", "a");
    await appendDurably(job, "w", "b");
    assert.equal(backend.keysOf("createAppender").length, 2);
  });

  test("are refused when as many calls hang as may", async () => {
    const { job, backend, ports } = await openJobOn(newMemory(), {
      uploadConcurrencyMax: 2,
      uploadRetryPolicy: "fixed",
      uploadAttemptsMax: 1,
      uploadTimeoutMs: 1000,
    });
    const hung = backend.hold({ kind: "sync", key: CHANGE_FILE, times: 2 });
    const persist = async (): Promise<unknown> => {
      let result: unknown;
      const settled = job.writer("w").persist().then(() => "durable", (error) => error);
      settled.then((value) => result = value);
      while (result === undefined) await ports.clock.advance(100);
      return result;
    };
    append(job, "w", "a");
    for (const wanted of [/took longer/, /took longer/, /2 calls to the storage hang/]) {
      assert.match(inspect(await persist()), wanted);
    }
    hung.release();
    await ports.clock.advance(0);
    assert.equal(await persist(), "durable");
  });
});

describe("Writer.truncateAndClose", () => {
  test("refuses an end below what was truncated", async () => {
    const { job } = await openJobOn();
    const writer = job.writer("w");
    await appendDurably(job, "w", "a");
    const low = writer.nextSequenceNumber();
    await appendDurably(job, "w", "b");
    writer.truncate(writer.nextSequenceNumber());
    assert.throws(() => writer.truncateAndClose(low), /was truncated to/);
    await job.checkpoint();
    assert.deepEqual((await job.verify()).problems, []);
  });
});

describe("what was adopted", () => {
  test("goes when something else is, so that opens do not pile it up", async () => {
    const objects = newMemory();
    for (let i = 0; i < 5; i++) {
      const { job, store } = await openJobOn(objects);
      await appendDurably(job, "w", `change ${i}`);
      await store.close();
      assert.ok((await keysBelow(objects, `jobs/${JOB}/adopted/`)).length <= 1);
    }
    const { job } = await openJobOn(objects);
    assert.equal((await restore(job, { at: "tail" })).changes.w.length, 5);
    await job.checkpoint();
    assert.deepEqual(await keysBelow(objects, `jobs/${JOB}/adopted/`), []);
  });
});

describe("Store.jobs", () => {
  test("lists a job whose catalog is gone, and none that was never published", async () => {
    const objects = newMemory();
    const { job, store } = await openJobOn(objects);
    await appendDurably(job, "w", "a");
    await store.close();
    for (const key of await keysBelow(objects, `jobs/${JOB}/catalog/`)) await objects.delete(key);
    await objects.put("jobs/dead/owners/00000000000000000001.json", new Uint8Array([1]));
    const { store: again } = await openEngine(objects);
    assert.deepEqual(await again.jobs(), [JOB]);
    await rejectsWith(again.job(JOB), "catalog-lost");
  });
});

describe("what would make the catalog unreadable", () => {
  const bad: Readonly<Record<string, (job: Job, uuid: string) => Promise<void>>> = {
    "an age that is no whole number": (job) => job.setRetention({ minCount: 1, maxAgeMs: 1.5 }),
    "an age without an end": (job) => job.setRetention({ minCount: 1, maxAgeMs: Infinity }),
    "a count without an end": (job) => job.setRetention({ minCount: 1, maxCount: Infinity }),
    "a reason that is no string": (job, uuid) => job.pin(uuid, 5 as unknown as string),
  };
  for (const [name, action] of Object.entries(bad)) {
    test(`is refused, and the job opens again: ${name}`, async () => {
      const objects = newMemory();
      const { job, store } = await openJobOn(objects);
      const { uuid } = await job.checkpoint();
      await assert.rejects(action(job, uuid), /^(Range|Type)Error: Cannot /);
      await store.close();
      const { job: again } = await openJobOn(objects);
      assert.equal((await again.checkpoints()).length, 1);
    });
  }

  test("is refused whatever let it through", async () => {
    const { place, ports } = newPlace();
    const catalog = new Catalog(place, ports, undefined);
    const retention = { minCount: 1, maxAgeMs: 0.5 };
    const error = await rejectsWith(
      catalog.publish(() => ({ ...contentOf(1, { run: 1 }), retention })),
      "internal",
    );
    assert.match(error.message, /retention\.maxAgeMs/);
    assert.equal(error.outcome, "not-applied");
    assert.equal(await readNewestGeneration(place), undefined);
  });
});
