import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { verifyJob } from "../../../src/engine/checkpoint/verify.ts";
import type { MemoryBackend } from "../../../src/engine/storage/memory_backend.ts";
import type { Job, JobReader, VerifyReport } from "../../../src/engine/types.ts";
import {
  append,
  appendDurably,
  CHANGE_FILE,
  changeFiles,
  flip,
  JOB,
  keysBelow,
  newMemory,
  openEngine,
  openJobOn,
  rewrite,
} from "../_engine.ts";
import { end, set, STORE, TailBench, uuidOf } from "../changelog/_tail_bench.ts";
import { contentOf } from "./_place.ts";

const CHECKPOINTS = `jobs/${JOB}/checkpoints/`;

const IDENTITY = { store: STORE, number: 1, writeId: uuidOf(9), createdAtMs: 0 };

interface Bench {
  readonly objects: MemoryBackend;
  readonly job: Job;
  readonly reader: JobReader;
}

/** A job with a checkpoint, a tail, and a file that nobody goes on with. */
async function newBench(): Promise<Bench> {
  const objects = newMemory();
  const { job, backend } = await openJobOn(objects);
  append(job, "w", "a", "b");
  append(job, "v", "x");
  await job.checkpoint();
  await appendDurably(job, "w", "c");
  backend.fail({ kind: "sync", key: CHANGE_FILE, when: "after" });
  append(job, "w", "d");
  await assert.rejects(job.writer("w").persist());
  await job.writer("w").persist();
  const { store } = await openEngine(objects, { mode: "read" });
  return { objects, job, reader: await store.reader(JOB) };
}

/** Files of no job's making, and a catalog that lists nothing. */
function newTailBench() {
  const bench = new TailBench();
  const { backend, keys } = bench;
  const place = { backend, keys, store: STORE };
  const generation = { ...contentOf(1), ...IDENTITY, key: keys.generation(1), job: JOB };
  return { bench, place, generation };
}

/** What either finds: the owner, who knows what it wrote, and a reader. */
async function verifyBoth({ job, reader }: Bench): Promise<VerifyReport[]> {
  return [await job.verify(), await reader.verify()];
}

describe("verify", () => {
  test("counts what it read, and finds nothing wrong", async () => {
    const bench = await newBench();
    for (const report of await verifyBoth(bench)) {
      assert.deepEqual([report.ok, report.problems, report.checkpoints], [true, [], 1]);
      assert.equal(report.files, 2);
      assert.equal(report.changes, 5);
      assert.ok(report.bytes > 0);
    }
  });

  test("finds any flipped byte of a needed file, and says which file", async () => {
    const bench = await newBench();
    const [file] = await changeFiles(bench.objects);
    const bytes = await bench.objects.get(file);
    const { files } = await bench.job.checkpointDetails("latest");
    const [{ length }] = files;
    assert.ok(length < bytes.length);
    for (let at = 0; at < length; at++) {
      await bench.objects.put(file, flip(at)(bytes));
      const { ok, problems } = await bench.job.verify();
      assert.equal(ok, false, `byte ${at}`);
      assert.ok(problems.every(({ key }) => key === file), `byte ${at}`);
      assert.ok(problems[0].reason.length > 0);
    }
    await bench.objects.put(file, bytes);
    assert.ok((await bench.job.verify()).ok);
  });

  test("finds a missing file, and a cut one", async () => {
    for (const damage of ["missing", "cut"] as const) {
      const bench = await newBench();
      const [file] = await changeFiles(bench.objects);
      if (damage === "missing") await bench.objects.delete(file);
      else await rewrite(bench.objects, file, (bytes) => bytes.slice(0, 200));
      const { ok, problems } = await bench.job.verify();
      assert.equal(ok, false);
      assert.deepEqual([...new Set(problems.map(({ key }) => key))], [file]);
    }
  });

  test("finds a missing or bad manifest, and still reads the rest", async () => {
    for (const damage of ["missing", "bad"] as const) {
      const bench = await newBench();
      const [manifest] = await keysBelow(bench.objects, CHECKPOINTS);
      if (damage === "missing") await bench.objects.delete(manifest);
      else await rewrite(bench.objects, manifest, flip(150));
      const { ok, problems, files } = await bench.job.verify();
      assert.equal(ok, false);
      assert.deepEqual(problems.map(({ key }) => key), [manifest]);
      assert.equal(files, 2);
    }
  });

  test("finds a gap in numbers or offsets, and what is beyond the end", async () => {
    const { bench, place, generation } = newTailBench();
    const gaps = [
      { batches: [[set(0, 0, ["a"]), set(2, 2, ["c"])]], writer: end(3, 3) },
      { batches: [[set(0, 0, ["a"]), set(1, 2, ["c"])]], writer: end(2, 3) },
      { batches: [[set(0, 0, ["a"]), set(1, 2, ["c", "d"])]], writer: end(2, 3) },
      { batches: [[set(0, 0, ["a"])]], writer: end(2, 2) },
      { batches: [[set(0, 0, ["a"])]], writer: end(1, 2) },
    ];
    for (const { batches, writer } of gaps) {
      const file = await bench.file({ batches });
      const needs = { files: [file.upTo(0)], writers: new Map([["w", writer]]) };
      const { ok, problems } = await verifyJob(place, generation, () => needs);
      assert.equal(ok, false);
      assert.deepEqual(problems.map(({ key }) => key), [file.key]);
      assert.match(problems[0].reason, /gap: writer w/);
    }
    const file = await bench.file({ batches: [[set(0, 0, ["a"])]] });
    const needs = { files: [file.upTo(0)], writers: new Map([["w", end(1, 1)]]) };
    assert.ok((await verifyJob(place, generation, () => needs)).ok);
  });

  test("finds content that is no changes, though all its checksums hold", async () => {
    const { bench, place, generation } = newTailBench();
    const whole = set(0, 0, ["a change"]);
    const bad = { ...whole, chunks: [whole.chunks[0].slice().fill(0xff)] };
    const file = await bench.file({ batches: [[bad]] });
    const needs = { files: [file.upTo(0)], writers: new Map([["w", end(1, 1)]]) };
    const { problems } = await verifyJob(place, generation, () => needs);
    assert.deepEqual(problems.map(({ key }) => key), [file.key]);
    const quick = await verifyJob(place, generation, () => needs, { level: "quick" });
    assert.deepEqual(quick.problems, []);
  });

  test("does not look at what nobody needs", async () => {
    const bench = await newBench();
    const [first] = await changeFiles(bench.objects);
    const { size } = (await bench.objects.head(first))!;
    await rewrite(bench.objects, first, flip(size - 1));
    assert.deepEqual((await bench.job.verify()).problems, []);
    await bench.objects.put(`jobs/${JOB}/private/x`, new Uint8Array(3));
    assert.deepEqual((await bench.job.verify()).problems, []);
  });

  test("passes on what keeps it from reading, which is no damage", async () => {
    const objects = newMemory();
    const { job, backend } = await openJobOn(objects);
    await appendDurably(job, "w", "a");
    backend.fail({ kind: "get", key: CHANGE_FILE });
    await assert.rejects(job.verify(), { code: "storage-unavailable" });
  });

  test("stops at a signal", async () => {
    const { job } = await newBench();
    await assert.rejects(job.verify({ signal: AbortSignal.abort(new Error("enough")) }));
  });
});
