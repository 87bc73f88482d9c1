/** A whole job in one archive: what comes along, and what happens to an archive that is bad. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createTarDecoder, packTar } from "modern-tar";
import { ARCHIVE_NAME, decodeArchive, encodeArchive } from "../../src/engine/format/archive.ts";
import type { MemoryBackend } from "../../src/engine/storage/memory_backend.ts";
import type { Job, JobImport, Store } from "../../src/engine/types.ts";
import { type ArchiveFile, archiveOf, filesOf, gather, inPieces } from "./_archive.ts";
import {
  append,
  appendDurably,
  bytesOf,
  flip,
  imageOf,
  JOB,
  type JobEngine,
  keysBelow,
  newMemory,
  openEngine,
  openJobOn,
  rejectsWith,
  restore,
  textOf,
} from "./_engine.ts";

/** A job of two owners and two runs: shared files, an abandoned line, a pin, states, an ended writer, and a tail. */
async function openRichJob(objects: MemoryBackend = newMemory()): Promise<JobEngine> {
  const before = await openJobOn(objects, {}, { fingerprint: 7n });
  append(before.job, "totals", "a", "b");
  append(before.job, "ended", "x");
  const first = await before.job.checkpoint({ identifier: "first", metadata: { line: 2 } });
  await before.job.pin(first.uuid, "for ever");
  append(before.job, "totals", "abandoned");
  before.job.retireWriter("ended");
  await before.job.checkpoint({ states: { gone: bytesOf("gone") } });
  await before.job.resume({ at: first.uuid });
  append(before.job, "totals", "c");
  before.job.retireWriter("ended");
  await before.job.checkpoint({ states: { sums: bytesOf("123"), big: new Uint8Array(300_000) } });
  await before.job.close();
  const engine = await openJobOn(objects);
  append(engine.job, "totals", "d");
  await engine.job.checkpoint({
    steps: 4n,
    idempotencyKey: "4",
    states: { sums: { from: "latest" } },
  });
  await engine.job.setRetention({ minCount: 3, maxAgeMs: 1000 });
  await appendDurably(engine.job, "totals", "e", "f");
  await appendDurably(engine.job, "more", "g");
  return engine;
}

/** All that a job gives back. */
async function contentOf(job: Job): Promise<unknown> {
  const checkpoints = await Promise.all((await job.checkpoints()).map(async (entry) => {
    const { uuid } = entry;
    const details = await job.checkpointDetails(uuid);
    const states: Record<string, string> = {};
    for (const { name } of details.states) {
      states[name] = textOf(await gather(job.readState(name, { at: uuid })));
    }
    const { files: _files, size: _size, states: _states, ...facts } = details;
    return { ...facts, states, changes: (await restore(job, { at: uuid })).changes };
  }));
  const writers = (await job.writers()).map((
    { writer, nextOffset, sequenceNumber, isClosed },
  ) => ({ writer, nextOffset, sequenceNumber, isClosed }));
  const { fingerprint, run } = job;
  const retention = JSON.stringify(job.retention);
  const tail = (await restore(job, { at: "tail" })).changes;
  return { checkpoints, writers, fingerprint, retention, run, tail };
}

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

describe("importJob", () => {
  test("takes no name that is taken, whether the job is open or not", async () => {
    const objects = newMemory();
    const { store } = await openRichJob(objects);
    const archive = await gather(store.exportJob(JOB));
    await rejectsWith(store.importJob(JOB, inPieces(archive)), "job-exists");
    const before = await imageOf(objects);
    const other = await openEngine(objects);
    await rejectsWith(other.store.importJob(JOB, inPieces(archive)), "job-exists");
    await rejectsWith(other.store.importJob("..", inPieces(archive)), "invalid-name");
    const reading = await openEngine(objects, { mode: "read" });
    await rejectsWith(reading.store.importJob("copy", inPieces(archive)), "read-only");
    assert.deepEqual(await imageOf(objects), before);
  });

  test("after a deletion runs and epochs count on from both jobs", async () => {
    const { store: from } = await openRichJob();
    const archive = await gather(from.exportJob(JOB));
    const { store, job: old } = await openJobOn();
    for (let i = 0; i < 9; i++) await old.resume();
    const { epoch, run } = old;
    await store.deleteJob(JOB);
    const { run: imported } = await store.importJob(JOB, inPieces(archive));
    const job = await store.job(JOB);
    assert.ok(imported === run + 1 && job.run === imported && job.epoch > epoch);
  });

  test("a bad archive is refused by name, and nothing of it is left", async () => {
    const { store: from } = await openRichJob();
    const archive = await gather(from.exportJob(JOB));
    const files = await filesOf(archive);
    const objects = newMemory();
    const { store } = await openEngine(objects);
    for (const [why, bytes, wanted] of badArchives(archive, files)) {
      const error = await rejectsWith(store.importJob("bad", bytes), "invalid-archive")
        .catch((other) => assert.fail(`${why}: ${other}`));
      assert.match(error.message, wanted, why);
      assert.deepEqual(await store.jobs(), [], why);
      const left = (await keysBelow(objects, "jobs/bad/")).filter((key) =>
        !/owners|catalog/.test(key)
      );
      assert.deepEqual(left, [], why);
      await rejectsWith(store.job("bad", { create: false }), "job-not-found");
    }
    await store.importJob("bad", inPieces(archive));
    assert.equal((await (await store.job("bad")).verify()).ok, true);
  });

  test("every flipped byte of an archive is found, or means nothing", async () => {
    const { store: from, job } = await openJobOn();
    append(job, "totals", "a", "b");
    await job.checkpoint({ states: { sums: bytesOf("1") } });
    await appendDurably(job, "totals", "c");
    const archive = await gather(from.exportJob(JOB));
    const { store } = await openEngine();
    let refused = 0;
    for (let at = 0; at < archive.length; at += 37) {
      const name = `n${at}`;
      const flipped = inPieces(flip(at)(archive));
      const imported = await store.importJob(name, flipped).catch((error) => error);
      if (imported?.code === "invalid-archive") refused += 1;
      else {
        const copy = await store.job(name);
        const { changes } = await restore(copy, { at: "tail" });
        assert.deepEqual(changes, { totals: ["a", "b", "c"] }, String(at));
        await copy.close();
      }
    }
    assert.ok(refused > archive.length / 37 / 2, String(refused));
  });

  test("a file of a later epoch than its job is refused: the new owner's would stand below it", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects);
    append(job, "totals", "a");
    await job.checkpoint();
    await job.close();
    const { store: from, job: later } = await openJobOn(objects);
    await appendDurably(later, "totals", "b");
    const [index, ...rest] = await filesOf(await gather(from.exportJob(JOB)));
    const body = decodeArchive(index.bytes);
    const bytes = encodeArchive({ ...body, epoch: later.epoch - 1 });
    const { store } = await openEngine();
    const lower = inPieces(archiveOf([{ name: ARCHIVE_NAME, bytes }, ...rest]));
    const { message } = await rejectsWith(store.importJob("bad", lower), "invalid-archive");
    assert.match(message, /later epoch/);
  });

  test("what fails, or is stopped, while it comes leaves nothing", async () => {
    const { store: from } = await openRichJob();
    const archive = await gather(from.exportJob(JOB));
    const { store } = await openEngine();
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield archive.subarray(0, archive.length / 2);
      throw new Error("the line broke");
    }
    await assert.rejects(store.importJob("bad", broken()), /the line broke/);
    const stop = new AbortController();
    let isClosed = false;
    async function* stalled(): AsyncGenerator<Uint8Array> {
      try {
        yield archive.subarray(0, archive.length / 2);
        stop.abort(new Error("enough"));
        await new Promise(() => {});
      } finally {
        isClosed = true;
      }
    }
    await assert.rejects(store.importJob("bad", stalled(), { signal: stop.signal }), /enough/);
    assert.equal(isClosed, false, "it waits for ever, and nobody for it");
    assert.deepEqual(await store.jobs(), []);
    await rejectsWith(store.reader("bad"), "job-not-found");
    await store.importJob("bad", inPieces(archive));
  });

  test("while it runs the name is nobody's: who reads or opens it is told", async () => {
    const { store: from } = await openRichJob();
    const archive = await gather(from.exportJob(JOB));
    const objects = newMemory();
    const { store, backend } = await openEngine(objects);
    const held = backend.hold({ kind: "sync" });
    const importing = store.importJob("copy", inPieces(archive));
    await held.reached;
    const other = await openEngine(objects);
    await rejectsWith(other.store.reader("copy"), "import-unfinished");
    await rejectsWith(other.store.job("copy"), "import-unfinished");
    await rejectsWith(other.store.salvage("copy"), "import-unfinished");
    await rejectsWith(store.deleteJob("copy"), "job-busy");
    assert.deepEqual(await other.store.jobs(), []);
    held.release();
    await importing;
    assert.deepEqual(await other.store.jobs(), ["copy"]);
  });

  test("whoever deletes the name meanwhile ends it", async () => {
    const { store: from } = await openRichJob();
    const archive = await gather(from.exportJob(JOB));
    const objects = newMemory();
    const { store, backend } = await openEngine(objects);
    const held = backend.hold({ kind: "sync" });
    const importing = rejectsWith(store.importJob("copy", inPieces(archive)), "fenced");
    await held.reached;
    const other = await openEngine(objects);
    await other.store.deleteJob("copy", { takeOver: true });
    held.release();
    await importing;
    assert.deepEqual(await other.store.jobs(), []);
    await rejectsWith(other.store.reader("copy"), "job-not-found");
  });
});

const UNNEEDED = `states/${"3".padStart(20, "0")}-0197a0e0-0000-7000-8000-000000000001.lz4`;

/** Archives that are bad, each with what the error says. */
function badArchives(
  archive: Uint8Array,
  files: readonly ArchiveFile[],
): [string, AsyncIterable<Uint8Array>, RegExp][] {
  const [index, ...rest] = files;
  const body = decodeArchive(index.bytes);
  const made = (files: readonly ArchiveFile[]) => inPieces(archiveOf(files));
  const saying = (change: object) =>
    made([{ name: ARCHIVE_NAME, bytes: encodeArchive({ ...body, ...change }) }, ...rest]);
  const named = (name: string) => [{ name, size: 10 }, ...body.objects];
  const without = (prefix: string) => made(files.filter(({ name }) => !name.startsWith(prefix)));
  const [entry] = body.checkpoints;
  async function* endless(begin: Uint8Array): AsyncGenerator<Uint8Array> {
    yield begin;
    for (;;) yield new Uint8Array(100_000);
  }
  const huge = archive.slice(0, 512);
  huge.set(bytesOf("77777777777"), 124);
  const at = files.findIndex(({ name }) => name.startsWith("states/"));
  const states = files.map((file, i) =>
    i === at ? { ...file, bytes: flip(200)(file.bytes) } : file
  );
  return [
    ["empty", inPieces(new Uint8Array(0)), /ends where a header/],
    ["no tar", inPieces(new Uint8Array(2000).fill(65)), /no header of a file/],
    [
      "zeros",
      endless(new Uint8Array(0)),
      /goes on after its end|does not begin with archive\.json/,
    ],
    ["a huge index", inPieces(huge), /no header of a file/],
    ["no index", made(rest), /does not begin with archive\.json/],
    ["cut in a header", inPieces(archive.subarray(0, 700)), /ends/],
    [
      "cut in the middle",
      inPieces(archive.subarray(0, archive.length / 2)),
      /ends within|ends after/,
    ],
    ["cut before its end", inPieces(archive.subarray(0, archive.length - 1024)), /ends where/],
    ["endless", endless(archive), /goes on after its end/],
    ["more after its end", made([...files, { name: "more", bytes: bytesOf("x") }]), /more/],
    ["twice", made([index, rest[0], ...rest]), /comes where/],
    ["without change files", without("changelog/"), /comes where/],
    ["without manifests", without("checkpoints/"), /comes where/],
    ["a damaged state", made(states), /is damaged/],
    ["a path out", saying({ objects: named("../../TIDEMARK") }), /no such place/],
    ["an absolute path", saying({ objects: named("/etc/passwd") }), /no such place/],
    ["another folder", saying({ objects: named("private/x") }), /no such place/],
    [
      "an owner key",
      saying({ objects: named("owners/00000000000000000009.json") }),
      /no such place/,
    ],
    ["told twice", saying({ objects: [...body.objects, body.objects.at(-1)] }), /says twice/],
    ["a job name that is none", saying({ job: "../x" }), /job name/],
    ["no such head", saying({ head: "0197a0e0-0000-7000-8000-000000000001" }), /does not list/],
    ["epochs too high", saying({ epoch: Number.MAX_SAFE_INTEGER }), /too high/],
    ["epochs too low", saying({ epoch: 1 }), /later epoch/],
    ["a checkpoint twice", saying({ checkpoints: [...body.checkpoints, entry] }), /twice/],
    [
      "another size",
      saying({ objects: body.objects.map((one) => ({ ...one, size: one.size + 1 })) }),
      /comes where/,
    ],
    [
      "another manifest",
      saying({
        checkpoints: body.checkpoints.map((one) => (
          { ...one, manifest: { ...one.manifest, xxh64: "0123456789abcdef" } }
        )),
      }),
      /is damaged/,
    ],
    [
      "less of a tail than it says",
      saying({
        tail: {
          ...body.tail!,
          writers: body.tail!.writers.map((one) => ({
            ...one,
            nextOffset: 99,
            sequenceNumber: 99,
          })),
        },
      }),
      /is damaged/,
    ],
    [
      "more than anything needs",
      made([
        {
          name: ARCHIVE_NAME,
          bytes: encodeArchive({
            ...body,
            objects: [...body.objects, { name: UNNEEDED, size: 9 }],
          }),
        },
        ...rest,
        { name: UNNEEDED, bytes: new Uint8Array(9) },
      ]),
      /nothing in it needs states/,
    ],
    ["a flipped index", inPieces(flip(700)(archive)), /archive\.json/],
  ];
}
