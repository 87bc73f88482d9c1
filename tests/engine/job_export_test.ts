/** A whole job in one archive: what comes along, also into a job that is made of it. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createTarDecoder, packTar } from "modern-tar";
import { ARCHIVE_NAME, decodeArchive } from "../../src/engine/format/archive.ts";
import type { Job, JobImport, Store } from "../../src/engine/types.ts";
import { contentOf, filesOf, gather, inPieces, openRichJob } from "./_archive.ts";
import {
  append,
  appendDurably,
  flip,
  JOB,
  keysBelow,
  newMemory,
  openEngine,
  openJobOn,
  rejectsWith,
  restore,
} from "./_engine.ts";

async function copyTo(
  store: Store,
  id: string,
  from: Store,
): Promise<{ imported: JobImport; job: Job }> {
  const imported = await store.importJob(id, from.exportJob(JOB));
  return { imported, job: await store.job(id) };
}

describe("an archive", () => {
  test("brings all of a job along, into another store and under another name", async () => {
    const { store: from, job } = await openRichJob();
    const { store } = await openEngine();
    const { imported, job: copy } = await copyTo(store, "copy", from);
    assert.deepEqual({ ...imported, bytes: 0 }, {
      job: "copy",
      from: { store: from.id, job: JOB },
      checkpoints: 4,
      objects: imported.objects,
      bytes: 0,
      head: (await job.checkpoints()).find(({ isHead }) => isHead)?.uuid,
      run: job.run,
    });
    assert.deepEqual(await contentOf(copy), await contentOf(job));
    const { ok, checkpoints, problems } = await copy.verify({ level: "full" });
    assert.deepEqual([ok, checkpoints, problems], [true, 4, []]);
    assert.ok(copy.epoch > job.epoch);
  });

  test("the imported job goes on: appends, checkpoints, resumes, collects and reopens", async () => {
    const { store: from } = await openRichJob();
    const objects = newMemory();
    const { store } = await openEngine(objects);
    const { job } = await copyTo(store, JOB, from);
    await appendDurably(job, "totals", "h");
    assert.deepEqual((await restore(job, { at: "tail" })).changes.totals, [..."abcdefh"]);
    await job.close();
    const reopened = await (await openEngine(objects)).store.job(JOB);
    assert.deepEqual((await restore(reopened, { at: "tail" })).changes.totals, [..."abcdefh"]);
    await reopened.checkpoint();
    assert.deepEqual((await restore(reopened)).changes.totals, [..."abcdefh"]);
    await reopened.collect({ quarantineMs: 0 });
    const { run, writers } = await reopened.resume();
    assert.ok(
      run === 3 && writers.some(({ writer, nextOffset }) => writer === "more" && nextOffset === 1),
    );
    append(reopened, "totals", "i");
    await reopened.checkpoint();
    assert.equal((await reopened.verify({ level: "full" })).ok, true);
    await reopened.close();
    const last = await (await openEngine(objects)).store.job(JOB);
    assert.deepEqual((await restore(last)).changes.totals, [..."abcdefhi"]);
  });

  test("the export of an import is that of the job, and can be imported again", async () => {
    const { store } = await openRichJob();
    const archive = await gather(store.exportJob(JOB));
    const [, ...files] = await filesOf(archive);
    await store.deleteJob(JOB);
    await store.importJob(JOB, inPieces(archive, 1000));
    const [, ...again] = await filesOf(await gather(store.exportJob(JOB)));
    assert.deepEqual(again, files);
    const { store: other } = await openEngine();
    await other.importJob("b", store.exportJob(JOB));
    const { store: third } = await openEngine();
    await third.importJob("c", other.exportJob("b"));
    const [b, c] = [await other.job("b"), await third.job("c")];
    assert.deepEqual(await contentOf(c), await contentOf(b));
    assert.equal((await c.verify({ level: "full" })).ok, true);
  });

  test("at a checkpoint it holds that alone, and the job goes on from there", async () => {
    const { store, job } = await openRichJob();
    const [first] = await job.checkpoints();
    const { store: other } = await openEngine();
    const imported = await other.importJob("one", store.exportJob(JOB, { at: first.uuid }));
    assert.deepEqual([imported.checkpoints, imported.head], [1, first.uuid]);
    const one = await other.job("one");
    assert.deepEqual((await restore(one, { at: "tail" })).changes, {
      ended: ["x"],
      totals: ["a", "b"],
    });
    await rejectsWith(
      gather(store.exportJob(JOB, { at: "0197a0e0-0000-7000-8000-000000000001" })),
      "checkpoint-not-found",
    );
  });

  test("a job without anything has one as well", async () => {
    const { store } = await openJobOn();
    const { store: other } = await openEngine();
    const { imported, job } = await copyTo(other, "empty", store);
    assert.deepEqual([imported.objects, imported.head, await job.checkpoints()], [0, null, []]);
  });

  test("is a tar file for other tools, and says what is in it", async () => {
    const { store } = await openRichJob();
    const archive = await gather(store.exportJob(JOB));
    const names: string[] = [];
    const decoded = new Blob([archive as Uint8Array<ArrayBuffer>]).stream()
      .pipeThrough(createTarDecoder({ strict: true })).getReader();
    for (let next; !(next = await decoded.read()).done;) {
      const { header, body } = next.value;
      const bytes = new Uint8Array(await new Response(body).arrayBuffer());
      assert.equal(bytes.length, header.size);
      names.push(header.name);
    }
    const files = await filesOf(archive);
    assert.deepEqual(names, files.map(({ name }) => name));
    assert.equal(names[0], ARCHIVE_NAME);
    const { job, head, checkpoints, objects } = decodeArchive(files[0].bytes);
    assert.deepEqual([job, checkpoints.at(-1)?.uuid], [JOB, head]);
    assert.deepEqual(objects.map(({ name }) => name), names.slice(1));
  });

  test("one that another tool packed is read", async () => {
    const { store } = await openRichJob();
    const files = await filesOf(await gather(store.exportJob(JOB)));
    const packed = await packTar(files.map(({ name, bytes }) => (
      { header: { name, size: bytes.length }, data: bytes }
    )));
    const { store: other } = await openEngine();
    assert.equal((await other.importJob("packed", inPieces(packed, 777))).checkpoints, 4);
  });

  test("is made beside an owner elsewhere, and keeps what it reads until it has ended", async () => {
    const objects = newMemory();
    const { job } = await openRichJob(objects);
    const { store } = await openEngine(objects, { mode: "read" });
    const pieces: Uint8Array[] = [];
    for await (const piece of store.exportJob(JOB)) {
      if (pieces.push(piece) !== 1) continue;
      await job.unpin((await job.checkpoints())[0].uuid);
      append(job, "totals", "later");
      await job.checkpoint();
      await job.setRetention({ minCount: 1, maxCount: 1 });
      await job.collect({ quarantineMs: 0 });
    }
    const { store: other } = await openEngine();
    await other.importJob(
      "copy",
      inPieces(new Uint8Array(await new Blob(pieces as Uint8Array<ArrayBuffer>[]).arrayBuffer())),
    );
    assert.equal((await (await other.job("copy")).checkpoints()).length, 4);
    assert.deepEqual(await keysBelow(objects, `jobs/${JOB}/readers/`), []);
  });

  test("is not made of what is damaged: the error names it, before any of it is given out", async () => {
    const objects = newMemory();
    const { store, job } = await openRichJob(objects);
    await job.close();
    for (const prefix of ["changelog", "states", "checkpoints"]) {
      const [key] = await keysBelow(objects, `jobs/${JOB}/${prefix}/`);
      const good = await objects.get(key);
      await objects.put(key, flip(Math.floor(good.length / 2))(good));
      const { details } = await rejectsWith(gather(store.exportJob(JOB)), "corrupt");
      assert.equal(details.key, key);
      await objects.delete(key);
      await rejectsWith(gather(store.exportJob(JOB)), "changes-lost");
      await objects.put(key, good);
    }
    await gather(store.exportJob(JOB));
    await rejectsWith(gather(store.exportJob("none")), "job-not-found");
  });

  test("one that nobody reads on lets go of the job", async () => {
    const objects = newMemory();
    const { store } = await openRichJob(objects);
    for await (const _piece of store.exportJob(JOB)) break;
    assert.deepEqual(await keysBelow(objects, `jobs/${JOB}/readers/`), []);
    const stop = new AbortController();
    const exporting = store.exportJob(JOB, { signal: stop.signal })[Symbol.asyncIterator]();
    await exporting.next();
    stop.abort(new Error("enough"));
    await assert.rejects(Promise.resolve(exporting.next()), /enough/);
    assert.deepEqual(await keysBelow(objects, `jobs/${JOB}/readers/`), []);
  });

  test("tells how far it is, both ways", async () => {
    const { store } = await openRichJob();
    const seen: [string, number, number][] = [];
    const onProgress = (
      { phase, done, total }: { phase: string; done: number; total: number },
    ) => void seen.push([phase, done, total]);
    const archive = await gather(store.exportJob(JOB, { onProgress }));
    assert.deepEqual(seen.at(-1), ["export", archive.length, archive.length]);
    const { store: other } = await openEngine();
    await other.importJob("copy", inPieces(archive), { onProgress });
    const [phase, done, total] = seen.at(-1)!;
    assert.ok(phase === "import" && done === total && total <= archive.length);
    const counts = seen.filter(([phase]) => phase === "import").map(([, done]) => done);
    assert.deepEqual(counts, counts.toSorted((a, b) => a - b));
  });
});
