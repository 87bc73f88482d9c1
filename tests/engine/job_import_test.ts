/** Making a job from an archive: under which names, and what happens to archives that are bad. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { referenceTo } from "../../src/engine/checkpoint/catalog_entry.ts";
import { ARCHIVE_NAME, decodeArchive, encodeArchive } from "../../src/engine/format/archive.ts";
import type { CatalogEntry } from "../../src/engine/format/generation.ts";
import {
  decodeManifest,
  encodeManifest,
  type ManifestBody,
} from "../../src/engine/format/manifest.ts";
import {
  type ArchiveFile,
  archiveOf,
  filesOf,
  gather,
  GOLDEN_ARCHIVE,
  inPieces,
  openRichJob,
} from "./_archive.ts";
import {
  append,
  appendDurably,
  bytesOf,
  flip,
  GENERATION,
  imageOf,
  JOB,
  keysBelow,
  newMemory,
  openEngine,
  openJobOn,
  rejectsWith,
  restore,
  textOf,
} from "./_engine.ts";

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

  test("reads the golden archive of version 1", async () => {
    const archive = new Uint8Array(await readFile(GOLDEN_ARCHIVE));
    const { store } = await openEngine();
    const { checkpoints, from, run } = await store.importJob(JOB, inPieces(archive));
    assert.deepEqual([checkpoints, from.job, run], [4, "moved", 2]);
    const job = await store.job(JOB);
    const [first, gone, third, head] = await job.checkpoints();
    assert.deepEqual(
      [first.identifier, first.pin, gone.isAbandoned, head.idempotencyKey, head.parent],
      ["first", "for ever", true, "4", third.uuid],
    );
    const at = async (at: string) => (await restore(job, { at })).changes;
    assert.deepEqual(await at(first.uuid), { totals: ["a", "b"], ended: ["x"] });
    assert.deepEqual(await at(head.uuid), { totals: ["a", "b", "c", "d"] });
    const tail = { totals: ["a", "b", "c", "d", "e", "f", "after the move"], more: ["g"] };
    assert.deepEqual(await at("tail"), tail);
    assert.equal(textOf(await gather(job.readState("sums"))), "123");
    const { ok, problems } = await job.verify();
    assert.deepEqual([ok, problems], [true, []]);
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

  test("what it says of itself counts for the limit of a store as well", async () => {
    const { store: from, job } = await openJobOn();
    await job.checkpoint({ metadata: "x".repeat(30_000) });
    const archive = await gather(from.exportJob(JOB));
    const { store } = await openEngine(newMemory(), { reserveBytes: 0, storeBytesMax: 20_000 });
    await rejectsWith(store.importJob("copy", inPieces(archive)), "storage-full");
    assert.deepEqual(await store.jobs(), []);
  });

  test("closing the store ends one that is sent nothing any more", async () => {
    const { store: from } = await openRichJob();
    const archive = await gather(from.exportJob(JOB));
    const objects = newMemory();
    const { store } = await openEngine(objects);
    let isStalled!: () => void;
    const stalled = new Promise<void>((resolve) => isStalled = resolve);
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield archive.subarray(0, archive.length / 2);
      isStalled();
      await new Promise(() => {});
    }
    const importing = rejectsWith(store.importJob("copy", endless()), "closed");
    await stalled;
    await rejectsWith(store.job("copy"), "import-unfinished");
    await store.close();
    await importing;
    const { store: next } = await openEngine(objects);
    await rejectsWith(next.reader("copy"), "job-not-found");
  });

  test("one whose catalog is lost is salvaged as any other", async () => {
    const { store: from, job: wanted } = await openRichJob();
    const objects = newMemory();
    const { store } = await openEngine(objects);
    await store.importJob("copy", from.exportJob(JOB));
    for (const key of await keysBelow(objects, "jobs/copy/catalog/")) await objects.delete(key);
    await rejectsWith(store.job("copy"), "catalog-lost");
    const { id, lost } = await store.salvage("copy");
    assert.deepEqual(lost, { checkpoints: [], changes: [], objects: [] });
    await store.salvage("copy", { accept: id });
    const copy = await store.job("copy");
    const uuids = (await wanted.checkpoints()).map(({ uuid }) => uuid);
    assert.deepEqual((await copy.checkpoints()).map(({ uuid }) => uuid).sort(), uuids.sort());
    for (const at of [...uuids, "tail"]) {
      const [found, kept] = [await restore(copy, { at }), await restore(wanted, { at })];
      assert.deepEqual(found.changes, kept.changes, at);
    }
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

  test("of an import and an open of one new name the first to publish has it", async () => {
    const { store: from } = await openRichJob();
    const archive = await gather(from.exportJob(JOB));
    for (const isOpenFirst of [true, false]) {
      const objects = newMemory();
      const [importer, opener] = [await openEngine(objects), await openEngine(objects)];
      const late = isOpenFirst ? importer : opener;
      const held = late.backend.hold({ kind: "putIfAbsent", key: GENERATION });
      const importing = () => importer.store.importJob("copy", inPieces(archive));
      const opening = () => opener.store.job("copy", { takeOver: true });
      if (isOpenFirst) {
        const refused = rejectsWith(importing(), "job-exists");
        await held.reached;
        const job = await opening();
        await appendDurably(job, "totals", "mine");
        held.release();
        await refused;
        await appendDurably(job, "totals", "still mine");
        const { changes } = await restore(job, { at: "tail" });
        assert.deepEqual(changes, { totals: ["mine", "still mine"] });
      } else {
        const refused = rejectsWith(opening(), "fenced");
        await held.reached;
        await importing();
        held.release();
        await refused;
        assert.equal((await (await importer.store.job("copy")).checkpoints()).length, 4);
      }
    }
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
    ["a line without an end", saying({ checkpoints: inCircle(body.checkpoints) }), /own ancestor/],
    [
      "an entry that no catalog takes",
      saying({ checkpoints: [{ ...entry, pin: "x".repeat(2000) }, ...body.checkpoints.slice(1)] }),
      /its entry takes/,
    ],
    [
      "a time that is none",
      saying({
        checkpoints: body.checkpoints.map((one) => ({ ...one, quarantinedAtMs: 9e15 })),
      }),
      /time of checkpoint/,
    ],
    ["a checkpoint twice", saying({ checkpoints: [...body.checkpoints, entry] }), /twice/],
    [
      "another size",
      saying({
        objects: body.objects.map((one) => (
          one.name.startsWith("changelog/") ? { ...one, size: one.size + 1 } : one
        )),
      }),
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
      "a writer that is at the end of all counts",
      made(withManifest(files, (manifest) => ({ ...manifest, writers: atTheEnd(manifest) }))),
      /too high/,
    ],
    [
      "a writer twice",
      made(withManifest(files, ({ writers, ...manifest }) => (
        { ...manifest, writers: [...writers, ...writers] }
      ))),
      /twice/,
    ],
    [
      "a manifest of another length than it is listed with",
      made(withObject(files, { size: 2 ** 40 })),
      /two sizes/,
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

/** Two checkpoints that each go on from the other. */
function inCircle([one, other, ...rest]: readonly CatalogEntry[]): CatalogEntry[] {
  return [{ ...one, parent: other.uuid }, { ...other, parent: one.uuid }, ...rest];
}

function atTheEnd({ writers }: ManifestBody): ManifestBody["writers"] {
  const end = Number.MAX_SAFE_INTEGER;
  const [base, position] = [
    { baseSequenceNumber: end, baseOffset: end },
    { sequenceNumber: end, nextOffset: end },
  ];
  return writers.map((writer) => ({ ...writer, ...base, ...position }));
}

/** An archive that says something else of its first object, a manifest. */
function withObject(
  [index, ...rest]: readonly ArchiveFile[],
  change: { readonly size: number },
): ArchiveFile[] {
  const { objects: [first, ...objects], ...body } = decodeArchive(index.bytes);
  const bytes = encodeArchive({ ...body, objects: [{ ...first, ...change }, ...objects] });
  return [{ name: ARCHIVE_NAME, bytes }, ...rest];
}

/** An archive whose first manifest says something else, as if it had been made so. */
function withManifest(
  [index, first, ...rest]: readonly ArchiveFile[],
  change: (manifest: ManifestBody) => ManifestBody,
): ArchiveFile[] {
  const body = decodeArchive(index.bytes);
  const [entry, ...checkpoints] = body.checkpoints;
  const { key } = entry.manifest;
  const bytes = encodeManifest(change(decodeManifest(key, first.bytes, body)));
  const told = encodeArchive({
    ...body,
    checkpoints: [{ ...entry, manifest: referenceTo(key, bytes) }, ...checkpoints],
  });
  const files = [{ name: ARCHIVE_NAME, bytes: told }, { name: first.name, bytes }, ...rest];
  return withObject(files, { size: bytes.length });
}
