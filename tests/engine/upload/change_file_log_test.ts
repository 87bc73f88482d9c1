import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CHANGE_FILE, JOB, rejectsWith, turn } from "../_engine.ts";
import { newLog, numbersOf, readFiles } from "./_log.ts";
import { setOf } from "./_sets.ts";

/** What a header says of the files before its own. */
function namedIn(file: Awaited<ReturnType<typeof readFiles>>[number]): [number, number][] {
  return file.header!.predecessors.map(({ number, syncedLength }) => [number, syncedLength]);
}

describe("ChangeFileLog", () => {
  test("creates no file before the first batch", async () => {
    const { log, backend } = newLog();
    await log.seal();
    await log.close();
    assert.deepEqual(backend.log, []);
    assert.equal(log.currentNumber, 1);
    assert.deepEqual(log.files, []);
  });

  test("writes batch after batch to one file, each synced before it is told", async () => {
    const { log, backend, store } = newLog();
    const first = await log.appendBatch([setOf(0), setOf(1)]);
    const [{ syncedLength }] = log.files;
    const second = await log.appendBatch([setOf(2)]);
    assert.deepEqual([first.batch, second.batch], [0, 1]);
    assert.equal(first.key, second.key);
    const [file, ...others] = await readFiles(backend);
    assert.deepEqual(others, []);
    assert.deepEqual(numbersOf(file), [[0, 1], [2]]);
    assert.equal(file.batches[0].end, syncedLength);
    assert.deepEqual(log.files.map((one) => [one.key, one.syncedLength, one.indexHash]), [
      [file.key, file.size, file.batches[1].indexHash],
    ]);
    const { job, log: name, epoch, run, number, predecessors, store: of } = file.header!;
    const found = { job, name, epoch, run, number, predecessors, of };
    const wanted = { job: JOB, name: "main", epoch: 1, run: 1, number: 1, predecessors: [] };
    assert.deepEqual(found, { ...wanted, of: store });
    const kinds = backend.log.filter(({ key }) => CHANGE_FILE.test(key)).map(({ kind }) => kind);
    const syncs = kinds.flatMap((kind, at) => kind === "sync" ? [at] : []);
    assert.equal(syncs.length, 2);
    assert.equal(kinds.lastIndexOf("write") < syncs[1], true, String(kinds));
  });

  test("writes nothing of the next batch before the sync of the one before has returned", async () => {
    const { log, backend } = newLog();
    const held = backend.hold({ kind: "sync" });
    const first = log.appendBatch([setOf(0)]);
    await held.reached;
    assert.ok(log.isWriting);
    await rejectsWith(log.appendBatch([setOf(1)]), "internal");
    assert.ok(log.isWriting);
    held.release();
    await first;
    assert.equal(log.isWriting, false);
  });

  test("seals a file with its end frame, and begins the next one", async () => {
    const { log, backend } = newLog();
    await log.appendBatch([setOf(0)]);
    assert.equal(log.currentNumber, 1);
    await log.seal();
    assert.equal(log.currentNumber, 2);
    await log.seal();
    await log.appendBatch([setOf(1)]);
    const [first, second] = await readFiles(backend);
    assert.equal(first.end.kind, "end-frame");
    assert.equal(second.header!.number, 2);
    assert.deepEqual(namedIn(second), [[1, first.batches[0].end]]);
    assert.equal(second.header!.predecessors[0].uuid, first.header!.uuid);
  });

  test("does not sync an end frame, and closes the file", async () => {
    const { log, backend } = newLog();
    await log.appendBatch([setOf(0)]);
    const before = backend.log.length;
    await log.seal();
    assert.deepEqual(backend.log.slice(before).map(({ kind }) => kind), ["write", "closeAppender"]);
  });

  test("does not seal while a batch is being written", async () => {
    const { log, backend } = newLog();
    const held = backend.hold({ kind: "sync" });
    const writing = log.appendBatch([setOf(0)]);
    await held.reached;
    await log.seal();
    held.release();
    await writing;
    assert.equal((await readFiles(backend))[0].end.kind, "length");
  });

  test("begins the next file when one is full", async () => {
    const { log, backend } = newLog({ changeFileBytesMax: 700 });
    for (let number = 0; number < 5; number++) await log.appendBatch([setOf(number)]);
    const files = await readFiles(backend);
    assert.ok(files.length > 1);
    for (const [at, file] of files.entries()) {
      assert.ok((file.batches.at(-2)?.end ?? 0) < 700, "a file goes on although it was full");
      if (at === 0) continue;
      assert.equal(file.header!.number, at + 1);
      assert.deepEqual(namedIn(file), [[at, files[at - 1].batches.at(-1)!.end]]);
    }
    assert.deepEqual(files.flatMap(numbersOf), [[0], [1], [2], [3], [4]]);
  });

  for (const when of ["before", "after"] as const) {
    test(`gives a file up whose first sync fails (${when}), and names it with length 0`, async () => {
      const { log, backend, ports } = newLog();
      backend.fail({ kind: "sync", when });
      await rejectsWith(log.appendBatch([setOf(0)]), "storage-unavailable");
      assert.deepEqual(log.files, []);
      assert.deepEqual(ports.logger.messages("warning"), ["Gave up a change file"]);
      const calls = backend.log.length;
      const place = await log.appendBatch([setOf(0)]);
      const [first, second] = await readFiles(backend);
      const touching = backend.log.slice(calls).filter(({ kind }) =>
        kind === "write" || kind === "sync"
      );
      const late = touching.filter(({ key }) => key === first.key);
      assert.deepEqual(late, [], "the file that was given up is touched again");
      assert.equal(place.key, second.key);
      assert.deepEqual(namedIn(second), [[1, 0]]);
      assert.equal(first.end.kind, "length", "no end frame");
    });
  }

  test("names a file whose later sync fails with the length up to which syncs had returned", async () => {
    const { log, backend } = newLog();
    await log.appendBatch([setOf(0)]);
    backend.fail({ kind: "sync", when: "after" });
    await rejectsWith(log.appendBatch([setOf(1)]), "storage-unavailable");
    await log.appendBatch([setOf(1)]);
    const [first, second] = await readFiles(backend);
    assert.deepEqual(numbersOf(first), [[0], [1]]);
    assert.deepEqual(namedIn(second), [[1, first.batches[0].end]]);
    assert.equal(log.files[0].syncedLength, first.batches[0].end);
  });

  test("names every earlier file that no header on disk names yet", async () => {
    const { log, backend } = newLog();
    await log.appendBatch([setOf(0)]);
    const [{ syncedLength }] = log.files;
    backend.fail({ kind: "sync", times: 3, when: "after" });
    for (let i = 0; i < 3; i++) {
      await rejectsWith(log.appendBatch([setOf(1)]), "storage-unavailable");
    }
    await log.appendBatch([setOf(1)]);
    await log.seal();
    await log.appendBatch([setOf(2)]);
    const files = await readFiles(backend);
    assert.deepEqual(files.slice(1).map(namedIn), [
      [[1, syncedLength]],
      [[1, syncedLength], [2, 0]],
      [[1, syncedLength], [2, 0], [3, 0]],
      [[4, files[3].batches[0].end]],
    ]);
  });

  test("goes on naming a file though a sync that it was given up for succeeds after all", async () => {
    const { log, backend } = newLog();
    let gate = Promise.resolve();
    const create = backend.createAppender.bind(backend);
    backend.createAppender = async (key) => {
      const appender = await create(key);
      const sync = appender.sync.bind(appender);
      return Object.assign(appender, { sync: () => sync().then(() => gate) });
    };
    await log.appendBatch([setOf(0)]);
    const [{ syncedLength }] = log.files;
    let letGo!: () => void;
    gate = new Promise((resolve) => letGo = resolve);
    const controller = new AbortController();
    const hanging = log.appendBatch([setOf(1)], { signal: controller.signal });
    await turn();
    controller.abort(new Error("too long"));
    await assert.rejects(hanging, { message: "too long" });
    letGo();
    await turn();
    assert.deepEqual(log.files.map((file) => file.syncedLength), [syncedLength]);
    await log.appendBatch([setOf(1)]);
    const files = await readFiles(backend);
    assert.deepEqual(namedIn(files[1]), [[1, syncedLength]]);
  });

  test("consumes and names the number of a file whose creation failed", async () => {
    for (const when of ["before", "after"] as const) {
      const { log, backend } = newLog();
      backend.fail({ kind: "createAppender", when });
      await rejectsWith(log.appendBatch([setOf(0)]), "storage-unavailable");
      assert.equal(log.currentNumber, 2);
      await log.appendBatch([setOf(0)]);
      const [created] = backend.keysOf("createAppender");
      const last = (await readFiles(backend)).at(-1)!;
      assert.deepEqual(namedIn(last), [[1, 0]]);
      assert.ok(created.includes(last.header!.predecessors[0].uuid));
    }
  });

  test("gives a file up when a write is cut short", async () => {
    const { log, backend } = newLog();
    await log.appendBatch([setOf(0)]);
    backend.fail({ kind: "write", when: "cut" });
    await rejectsWith(log.appendBatch([setOf(1)]), "storage-unavailable");
    const [torn] = await readFiles(backend);
    assert.equal(torn.end.kind, "torn");
    assert.equal(torn.end.at, log.files[0].syncedLength);
    const place = await log.appendBatch([setOf(1)]);
    assert.notEqual(place.key, torn.key);
    assert.equal(place.batch, 0);
  });

  test("takes a file whose end frame can't be written for whole", async () => {
    const { log, backend, ports } = newLog();
    await log.appendBatch([setOf(0)]);
    backend.fail({ kind: "write", when: "cut" });
    await log.seal();
    assert.deepEqual(ports.logger.messages("warning"), ["Cannot end a change file"]);
    await log.appendBatch([setOf(1)]);
    const [first, second] = await readFiles(backend);
    assert.deepEqual(namedIn(second), [[1, first.batches[0].end]]);
  });

  test("lets the open file go as it is at close", async () => {
    const { log, backend } = newLog();
    await log.appendBatch([setOf(0)]);
    const before = backend.log.length;
    await log.close();
    await log.close();
    assert.deepEqual(backend.log.slice(before).map(({ kind }) => kind), ["closeAppender"]);
  });
});
