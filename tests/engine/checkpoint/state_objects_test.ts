/** State objects that storage loses, damages or keeps back. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MemoryBackend } from "../../../src/engine/storage/memory_backend.ts";
import { ManualClock } from "../../doubles/manual_clock.ts";
import {
  append,
  bytesOf,
  flip,
  GENERATION,
  keysBelow,
  newMemory,
  openEngine,
  openJobOn,
  rejectsWith,
  rewrite,
} from "../_engine.ts";
import { PieceSource, STATE, stateKeys, stateOf } from "../_states.ts";

const AT_ONCE = { quarantineMs: 0 };

describe("a state object that can't be written", () => {
  for (const kind of ["createAppender", "write", "sync"] as const) {
    for (const when of ["before", "after"] as const) {
      test(`fails its checkpoint: ${kind} fails ${when} it took effect`, async () => {
        const { job, backend } = await openJobOn();
        append(job, "w", "a");
        const rest = new PieceSource([bytesOf("b")]);
        backend.fail({ kind, key: STATE, when });
        const made = job.checkpoint({ states: { a: bytesOf("a"), b: rest } });
        const error = await rejectsWith(made, "storage-unavailable");
        assert.equal(error.outcome, "not-applied");
        assert.match(error.message, /Cannot store state/);
        assert.deepEqual(await job.checkpoints(), []);
        await job.checkpoint({ states: { a: bytesOf("a") } });
        await job.collect(AT_ONCE);
        assert.equal((await stateKeys(backend)).length, 1);
        assert.deepEqual((await job.verify()).problems, []);
      });
    }
  }

  test("ends what it was read from", async () => {
    const { job, backend } = await openJobOn(newMemory(), { compression: "none" });
    const source = new PieceSource([new Uint8Array(5_000_000), new Uint8Array(1)]);
    backend.fail({ kind: "write", key: STATE, skip: 1 });
    await rejectsWith(
      job.checkpoint({ states: { a: source } }),
      "storage-unavailable",
    );
    assert.ok(source.isEnded);
  });

  test("is not named by another owner's successor", async () => {
    const objects = newMemory();
    const first = await openJobOn(objects);
    const held = first.backend.hold({ kind: "sync", key: STATE });
    const made = rejectsWith(first.job.checkpoint({ states: { a: bytesOf("a") } }), "fenced");
    await held.reached;
    const { job, backend } = await openJobOn(objects);
    held.release();
    await made;
    assert.deepEqual(await job.checkpoints(), []);
    assert.deepEqual(await keysBelow(backend, "jobs/orders/checkpoints/"), [], "a manifest");
    await job.collect(AT_ONCE);
    assert.deepEqual(await stateKeys(backend), []);
  });
});

describe("a state object of a checkpoint of which nobody knows whether it is published", () => {
  test("stays until that is known, and goes when it is not", async () => {
    const { job, backend } = await openJobOn();
    backend.fail({ kind: "putIfAbsent", key: GENERATION, when: "after", times: 3 });
    backend.fail({ kind: "get", key: GENERATION, times: 3 });
    const states = { a: bytesOf("a") };
    const error = await rejectsWith(job.checkpoint({ states }), "storage-unavailable");
    assert.equal(error.outcome, "unknown");
    await job.collect(AT_ONCE);
    assert.equal((await job.checkpoints()).length, 1);
    assert.equal(await stateOf(job, "a"), "a");
  });
});

describe("a state object that is damaged", () => {
  async function damaged(change: (bytes: Uint8Array) => Uint8Array) {
    const engine = await openJobOn();
    const { job, backend } = engine;
    const older = (await job.checkpoint({ states: { a: bytesOf("older") } })).uuid;
    const [olderKey] = await stateKeys(backend);
    await job.checkpoint({ states: { a: bytesOf("newer") } });
    const key = (await stateKeys(backend)).find((one) => one !== olderKey)!;
    await rewrite(backend, key, change);
    return { ...engine, older, key };
  }

  test("is refused, named by a full verify, and passed by where asked", async () => {
    for (const at of [10, 240, 260]) {
      const { job, key, store } = await damaged(flip(at));
      for (const reader of [job, await store.reader("orders")]) {
        const error = await rejectsWith(stateOf(reader, "a"), "corrupt");
        assert.equal(error.details.key, key);
        assert.equal(await stateOf(reader, "a", { fallback: true }), "older");
        assert.deepEqual((await reader.verify({ level: "quick" })).problems, []);
        assert.deepEqual((await reader.verify()).problems.map((one) => one.key), [key]);
      }
      assert.equal((await job.resume({ fallback: true })).checkpoint?.states[0].size, 5);
      assert.equal(await stateOf(job, "a"), "older");
    }
  });

  test("is found by a quick verify when it is cut or has grown", async () => {
    const changes = {
      "changes-lost": (bytes: Uint8Array) => bytes.slice(0, -1),
      "corrupt": (bytes: Uint8Array) => new Uint8Array([...bytes, 0]),
    } as const;
    for (const [code, change] of Object.entries(changes)) {
      const { job, key } = await damaged(change);
      assert.deepEqual((await job.verify({ level: "quick" })).problems.map((one) => one.key), [
        key,
      ]);
      await rejectsWith(stateOf(job, "a"), code as keyof typeof changes);
    }
  });

  test("is found by a quick verify when it is missing", async () => {
    const { job, key, backend, older } = await damaged((bytes) => bytes);
    await backend.delete(key);
    assert.deepEqual((await job.verify({ level: "quick" })).problems.map((one) => one.key), [key]);
    await rejectsWith(stateOf(job, "a"), "changes-lost");
    assert.equal(await stateOf(job, "a", { at: older }), "older");
  });

  test("is refused when another whole object stands in its place", async () => {
    const { job, backend } = await openJobOn();
    await job.checkpoint({ states: { a: bytesOf("same length") } });
    const [first] = await stateKeys(backend);
    await job.checkpoint({ states: { a: bytesOf("SAME length") } });
    const second = (await stateKeys(backend)).find((key) => key !== first)!;
    await rewrite(backend, second, () => new Uint8Array());
    await backend.put(second, await backend.get(first));
    const error = await rejectsWith(stateOf(job, "a"), "corrupt");
    assert.equal(error.details.what, "uuid");
  });
});

describe("a state object that is being read", () => {
  test("stays until the read has ended", async () => {
    const { job, backend } = await openJobOn();
    await job.setRetention({ minCount: 1 });
    await job.checkpoint({ states: { a: bytesOf("a") } });
    const reading = job.readState("a")[Symbol.asyncIterator]();
    await reading.next();
    await job.checkpoint();
    await job.collect(AT_ONCE);
    assert.equal((await stateKeys(backend)).length, 1);
    assert.equal((await reading.next()).done, true);
    await job.collect(AT_ONCE);
    assert.deepEqual(await stateKeys(backend), []);
  });

  test("stays for a reader beside the owner as long as its lease holds", async () => {
    const clock = new ManualClock();
    const objects = new MemoryBackend({ clock });
    const { job, backend } = await openJobOn(objects);
    await job.setRetention({ minCount: 1 });
    await job.checkpoint({ states: { a: bytesOf("a") } });
    const readers = await openEngine(objects, { mode: "read" });
    const reader = await readers.store.reader("orders");
    const reading = reader.readState("a")[Symbol.asyncIterator]();
    await reading.next();
    await job.checkpoint();
    await job.collect(AT_ONCE);
    assert.equal((await stateKeys(backend)).length, 1);
    assert.equal((await reading.next()).done, true);
    await job.collect(AT_ONCE);
    assert.deepEqual(await stateKeys(backend), []);
  });

  test("stops at its signal", async () => {
    const { job } = await openJobOn(newMemory(), { blockBytes: 64 * 1024 });
    await job.checkpoint({ states: { a: new Uint8Array(300_000) } });
    const controller = new AbortController();
    const reading = job.readState("a", { signal: controller.signal })[Symbol.asyncIterator]();
    assert.equal((await reading.next()).value!.length, 64 * 1024);
    controller.abort(new Error("enough"));
    await assert.rejects(reading.next(), /enough/);
  });
});
