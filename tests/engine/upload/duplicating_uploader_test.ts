import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { BackendCallKind } from "../../doubles/faulty_backend.ts";
import { hasSettled, keysBelow, turn } from "../_engine.ts";
import { LocalBench } from "./_local.ts";

describe("DuplicatingStateChangeFsUploader", () => {
  test("writes the same bytes under the same key at both places, and says so", async () => {
    const bench = new LocalBench();
    const { key, localKey } = await bench.upload();
    assert.equal(localKey, key);
    assert.equal((await bench.upload()).localKey, key);
    const { main, local } = await bench.bytesOf(key);
    assert.deepEqual(local, main);
    assert.equal(bench.failures, 0);
    assert.deepEqual(bench.ports.logger.records, []);
  });

  test("never syncs a copy", async () => {
    const bench = new LocalBench();
    await bench.upload();
    await bench.uploader.close();
    await bench.mirror.whenSettled();
    assert.deepEqual(bench.local.keysOf("sync"), []);
  });

  test("closes the copy of a file that has ended, end frame included", async () => {
    const bench = new LocalBench();
    const { key } = await bench.upload();
    await bench.uploader.close();
    await bench.mirror.whenSettled();
    const { main, local } = await bench.bytesOf(key);
    assert.deepEqual(local, main);
    assert.deepEqual(bench.local.keysOf("closeAppender"), [key]);
    assert.ok(bench.mirror.has(key));
  });

  test("copies the next file too, when the main one was given up", async () => {
    const bench = new LocalBench();
    const first = await bench.upload();
    bench.main.fail({ kind: "sync" });
    await assert.rejects(bench.upload());
    const second = await bench.upload();
    assert.notEqual(second.key, first.key);
    assert.equal(second.localKey, second.key);
    const { main, local } = await bench.bytesOf(second.key);
    assert.deepEqual(local, main);
  });
});

describe("a local copy that fails", () => {
  const FAULTS: readonly BackendCallKind[] = ["createAppender", "write"];

  for (const kind of FAULTS) {
    test(`at ${kind} fails nothing else, shows in the result, and leaves nothing behind`, async () => {
      const bench = new LocalBench();
      bench.local.fail({ kind });
      const { key, localKey } = await bench.upload();
      assert.equal(localKey, undefined);
      assert.equal((await bench.upload()).localKey, undefined);
      await bench.mirror.whenSettled();
      assert.deepEqual(await keysBelow(bench.local), []);
      assert.equal(bench.failures, 1);
      const [{ level, fields }] = bench.ports.logger.records;
      assert.deepEqual([level, fields.key, fields.reason], ["warning", key, "it failed"]);
      assert.equal(bench.ports.logger.records.length, 1);
    });
  }

  test("in the middle of a file is dropped from then on", async () => {
    const bench = new LocalBench();
    const { key, localKey } = await bench.upload();
    assert.equal(localKey, key);
    bench.local.fail({ kind: "write", when: "cut" });
    assert.equal((await bench.upload()).localKey, undefined);
    await bench.mirror.whenSettled();
    assert.equal(bench.mirror.has(key), false);
    assert.deepEqual(await keysBelow(bench.local), []);
    assert.equal((await bench.bytesOf(key)).main.length, bench.log.files[0].syncedLength);
  });

  test("only when it is closed does not count as whole", async () => {
    const bench = new LocalBench({ changeFileBytesMax: 1 });
    const held = bench.local.hold({ kind: "closeAppender" });
    bench.local.fail({ kind: "closeAppender" });
    const uploading = bench.upload();
    await held.reached;
    assert.equal(await hasSettled(uploading), false);
    held.release();
    const { key, localKey } = await uploading;
    assert.equal(localKey, undefined);
    await bench.mirror.whenSettled();
    assert.equal(bench.mirror.has(key), false);
    assert.deepEqual(await keysBelow(bench.local), []);
    assert.equal(bench.failures, 1);
  });

  test("on a full disk gives the space back, and the next file is tried again", async () => {
    const bench = new LocalBench({ bytesMax: 20_000 });
    const { localKey } = await bench.upload("x".repeat(30_000));
    assert.equal(localKey, undefined);
    await bench.mirror.whenSettled();
    assert.deepEqual(await keysBelow(bench.local), []);
    await bench.log.seal();
    const next = await bench.upload();
    assert.equal(next.localKey, next.key);
    assert.equal(bench.failures, 1);
  });

  test("and can't even be removed is left to the next owner", async () => {
    const bench = new LocalBench();
    const { key } = await bench.upload();
    bench.local.fail({ kind: "write" });
    bench.local.fail({ kind: "delete" });
    assert.equal((await bench.upload()).localKey, undefined);
    await bench.mirror.whenSettled();
    assert.deepEqual(await keysBelow(bench.local), [key]);
    assert.deepEqual(bench.ports.logger.messages("debug"), ["Cannot remove a local copy"]);
    assert.equal(bench.failures, 1);
  });
});

describe("a slow local disk", () => {
  test("holds an upload up a little, once, and not again before it has caught up", async () => {
    const bench = new LocalBench();
    const held = bench.local.hold({ kind: "write" });
    const first = bench.upload();
    assert.equal(await hasSettled(first), false);
    await bench.ports.clock.advance(5);
    assert.equal((await first).localKey, undefined);
    // No time passes.
    assert.equal((await bench.upload()).localKey, undefined);
    held.release();
    await turn();
    const { key, localKey } = await bench.upload();
    assert.equal(localKey, key);
    const { main, local } = await bench.bytesOf(key);
    assert.deepEqual(local, main);
    assert.equal(bench.failures, 0);
  });

  test("does not hold an upload up when it is in time", async () => {
    const bench = new LocalBench();
    const held = bench.local.hold({ kind: "write" });
    const uploading = bench.upload();
    await held.reached;
    held.release();
    const { key, localKey } = await uploading;
    assert.equal(localKey, key);
    assert.equal(bench.ports.clock.pendingCount, 0);
  });

  test("loses the copy when more waits than may, and nothing else", async () => {
    const bench = new LocalBench({ queueBytesMax: 4000, waitMsMax: 0 });
    const gauge = () => bench.metrics.gaugeValue("tidemark_local_copy_queue_bytes");
    const held = bench.local.hold({ kind: "write" });
    for (let i = 0; i < 3; i++) {
      await bench.upload("x".repeat(1000));
      assert.ok(gauge()! > 0 && gauge()! <= 4000, `${gauge()} bytes wait`);
    }
    assert.equal(bench.failures, 0);
    const { key } = await bench.upload("x".repeat(2000));
    assert.equal(gauge(), 0);
    assert.equal(bench.failures, 1);
    assert.equal(bench.ports.logger.records[0].fields.reason, "it is too slow");
    held.release();
    await bench.mirror.whenSettled();
    assert.deepEqual(await keysBelow(bench.local), []);
    assert.equal((await bench.bytesOf(key)).main.length, bench.log.files[0].syncedLength);
  });

  test("that hangs keeps no further file, so that nothing piles up", async () => {
    const bench = new LocalBench({ waitMsMax: 0 });
    bench.local.hold({ kind: "createAppender" });
    for (let i = 0; i < 3; i++) {
      assert.equal((await bench.upload()).localKey, undefined);
      await bench.log.seal();
    }
    assert.equal(bench.local.keysOf("createAppender").length, 1);
    assert.equal(bench.failures, 2);
  });

  test("does not keep a close waiting for ever", async () => {
    const bench = new LocalBench({ waitMsMax: 0, closeWaitMsMax: 100 });
    bench.local.hold({ kind: "write" });
    await bench.upload();
    const closing = bench.mirror.close();
    assert.equal(await hasSettled(closing), false);
    await bench.ports.clock.advance(100);
    await closing;
    await bench.mirror.close();
    assert.equal(bench.metrics.gaugeValue("tidemark_local_copy_queue_bytes"), undefined);
  });

  test("is not heard of when the upload is given up meanwhile: its references go", async () => {
    const bench = new LocalBench();
    const abort = new AbortController();
    bench.local.hold({ kind: "write" });
    const rejected = assert.rejects(bench.upload("text", abort.signal), /too late/);
    await turn();
    abort.abort(new Error("too late"));
    await bench.ports.clock.advance(5);
    await rejected;
    await bench.log.seal();
    assert.equal(bench.registry.trackedFiles, 0);
  });
});

describe("LocalMirror", () => {
  test("drops a copy that is forgotten, without calling it a failure", async () => {
    const bench = new LocalBench();
    const { key } = await bench.upload();
    bench.mirror.forget(key);
    assert.equal(bench.mirror.has(key), false);
    assert.equal((await bench.upload()).localKey, undefined);
    await bench.mirror.whenSettled();
    assert.deepEqual(await keysBelow(bench.local), []);
    assert.equal(bench.failures, 0);
  });

  test("copies nothing after it was closed", async () => {
    const bench = new LocalBench();
    await bench.mirror.close();
    assert.equal((await bench.upload()).localKey, undefined);
    assert.deepEqual(bench.local.log, []);
    assert.equal(bench.failures, 0);
  });
});
