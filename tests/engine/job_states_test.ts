import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { StateSource } from "../../src/engine/types.ts";
import { ForgettingDisk, SYNC_CALLS } from "../doubles/forgetting_file_system.ts";
import { posixOn } from "../doubles/posix_on_double.ts";
import { SeededRandom } from "../doubles/seeded_random.ts";
import {
  append,
  bytesOf,
  hasSettled,
  newMemory,
  openEngine,
  openJobOn,
  rejectsWith,
} from "./_engine.ts";
import { PieceSource, STATE, stateKeys, stateOf } from "./_states.ts";

const AT_ONCE = { quarantineMs: 0 };

describe("states of a checkpoint", () => {
  test("come back, given as bytes or piece by piece", async () => {
    const { job, store } = await openJobOn();
    append(job, "w", "a");
    const pieces = new PieceSource([bytesOf("high "), bytesOf(""), bytesOf("water")]);
    const { uuid } = await job.checkpoint({
      states: { second: pieces, first: bytesOf("low water"), empty: new Uint8Array(0) },
    });
    for (const reader of [job, await store.reader("orders")]) {
      assert.equal(await stateOf(reader, "first"), "low water");
      assert.equal(await stateOf(reader, "second", { at: uuid }), "high water");
      assert.equal(await stateOf(reader, "empty", { at: "latest" }), "");
      const { states } = await reader.checkpointDetails(uuid);
      assert.deepEqual(
        states.map(({ name, size }) => [name, size]),
        [["empty", 0], ["first", 9], ["second", 10]],
      );
      await rejectsWith(stateOf(reader, "third"), "state-not-found");
      await rejectsWith(stateOf(reader, "first", { at: "tail" }), "state-not-found");
      await rejectsWith(stateOf(reader, "first", { at: "nowhere" }), "checkpoint-not-found");
    }
    assert.ok(pieces.isEnded);
  });

  test("larger than any buffer come back the same, over a reopen", async () => {
    const objects = newMemory();
    const random = new SeededRandom(5);
    const pieces = Array.from({ length: 40 }, () => {
      const piece = new Uint8Array(random.below(200_000));
      random.fill(piece.subarray(0, piece.length / 2));
      return piece;
    });
    const { job, store } = await openJobOn(objects);
    await job.checkpoint({ states: { large: new PieceSource(pieces) } });
    await store.close();
    const { job: again } = await openJobOn(objects);
    const wanted = pieces.flatMap((piece) => [...piece]);
    const found: number[] = [];
    for await (const piece of again.readState("large")) for (const byte of piece) found.push(byte);
    assert.deepEqual(found, wanted);
  });

  test("are counted: in the checkpoint's size, in usage, in verify", async () => {
    const { job } = await openJobOn();
    const without = await job.checkpoint();
    const { size } = await job.checkpoint({ states: { a: bytesOf("a"), b: bytesOf("b") } });
    const { states } = await job.checkpointDetails("latest");
    const stored = states.reduce((sum, { storedBytes }) => sum + storedBytes, 0);
    assert.ok(size > without.size + stored);
    const { kinds, checkpoints } = await job.usage();
    assert.deepEqual(kinds.states, { objects: 2, bytes: stored });
    assert.deepEqual(checkpoints.map(({ stateBytes }) => stateBytes), [0, stored]);
    const { ok, states: verified } = await job.verify();
    assert.deepEqual([ok, verified], [true, 2]);
  });

  test("that have not changed are shared, and cost nothing", async () => {
    const { job, backend } = await openJobOn();
    const { uuid } = await job.checkpoint({ states: { a: bytesOf("a"), b: bytesOf("b") } });
    const keys = await stateKeys(backend);
    await job.checkpoint({ states: { a: { from: "latest" }, b: bytesOf("B") } });
    await job.checkpoint({ states: { a: { from: uuid }, b: { from: "latest" } } });
    assert.equal((await stateKeys(backend)).length, keys.length + 1);
    assert.deepEqual([await stateOf(job, "a"), await stateOf(job, "b")], ["a", "B"]);
    assert.equal(await stateOf(job, "b", { at: uuid }), "b");
    const { checkpoints } = await job.usage();
    assert.ok(checkpoints.every(({ sharedBytes }) => sharedBytes > 0));
    const { states } = await job.verify();
    assert.equal(states, 3);
    const none = await job.checkpoint();
    assert.deepEqual((await job.checkpointDetails(none.uuid)).states, []);
  });

  test("are kept for every checkpoint that has them, and deleted after the last", async () => {
    const { job, backend } = await openJobOn();
    await job.setRetention({ minCount: 1 });
    await job.checkpoint({ states: { kept: bytesOf("kept"), gone: bytesOf("gone") } });
    await job.checkpoint({ states: { kept: { from: "latest" } } });
    const { removed, objects } = await job.collect(AT_ONCE);
    assert.equal(removed.length, 1);
    const states = objects.filter(({ key }) => key.includes("/states/"));
    assert.deepEqual(states.map(({ action }) => action).sort(), ["delete", "keep"]);
    assert.match(states.find(({ action }) => action === "keep")!.reason, /checkpoint .* needs it/);
    assert.equal((await stateKeys(backend)).length, 1);
    assert.equal(await stateOf(job, "kept"), "kept");
    await job.checkpoint();
    await job.collect(AT_ONCE);
    assert.deepEqual(await stateKeys(backend), []);
  });

  test("can be read although their bytes were changed while they were written", async () => {
    const { job, backend } = await openJobOn(newMemory(), {
      blockBytes: 65_536,
      compression: "none",
    });
    const bytes = new Uint8Array(3_000_000);
    const held = backend.hold({ kind: "write", key: STATE });
    const made = job.checkpoint({ states: { a: bytes } });
    await held.reached;
    bytes.fill(1);
    held.release();
    await made;
    assert.equal((await stateOf(job, "a")).length, bytes.length);
    assert.deepEqual((await job.verify({ level: "full" })).problems, []);
  });

  test("are kept for a checkpoint whose uuid was another's, of which a collection was stopped", async () => {
    const { job } = await openJobOn();
    await job.setRetention({ minCount: 3 });
    const going = [
      await job.checkpoint({ states: { a: bytesOf("old") } }),
      await job.checkpoint({ states: { a: bytesOf("older") } }),
    ];
    const [uuid] = going.map((made) => made.uuid).sort();
    await job.checkpoint();
    await job.collect(AT_ONCE);
    await job.setRetention({ minCount: 1 });
    const stop = new AbortController();
    const stopped = job.collect({
      ...AT_ONCE,
      signal: stop.signal,
      // Two states and a manifest go; the second manifest stays.
      onProgress: ({ done }) => done === 2 && stop.abort(new Error("enough")),
    });
    await assert.rejects(stopped, /enough/);
    await job.checkpoint({ uuid, states: { a: bytesOf("new") } });
    await job.collect(AT_ONCE);
    assert.equal(await stateOf(job, "a", { at: uuid }), "new");
  });

  test("that are named must be there", async () => {
    const { job } = await openJobOn();
    const from = (at: string) => job.checkpoint({ states: { a: { from: at } } });
    await rejectsWith(from("latest"), "checkpoint-not-found");
    await job.checkpoint({ states: { b: bytesOf("b") } });
    await rejectsWith(from("latest"), "state-not-found");
    await rejectsWith(from("tail"), "checkpoint-not-found");
    assert.equal((await job.checkpoints()).length, 1);
  });

  test("have names like writers', and content that is some", async () => {
    const { job } = await openJobOn();
    const make = (name: string, source: unknown) =>
      job.checkpoint({ states: { [name]: source as StateSource } });
    for (const name of ["", "a/b", ".hidden", "ä"]) {
      await rejectsWith(make(name, bytesOf("x")), "invalid-name");
      await rejectsWith(job.writeState(name, bytesOf("x")), "invalid-name");
    }
    for (const bad of [null, undefined, "text", 7, {}, { from: 7 }, { from: "a", written: "b" }]) {
      await assert.rejects(make("a", bad), TypeError);
    }
    await assert.rejects(job.writeState("a", "text" as unknown as Uint8Array), TypeError);
    const strings = new PieceSource(["text" as unknown as Uint8Array]);
    await assert.rejects(make("a", strings), /no Uint8Array/);
    assert.ok(strings.isEnded);
    const tooMany = Array.from({ length: 10_001 }, (_, i) => [`state-${i}`, { from: "latest" }]);
    await rejectsWith(
      job.checkpoint({ states: Object.fromEntries(tooMany) }),
      "invalid-request",
    );
    assert.deepEqual(await job.checkpoints(), []);
  });

  test("cost one sync each and one for their folder", async () => {
    const disk = new ForgettingDisk();
    const { job } = await openJobOn(posixOn(disk));
    const states = () => ({ a: bytesOf("a"), b: bytesOf("b"), c: bytesOf("c") });
    const syncs = () => disk.log.filter(({ kind }) => SYNC_CALLS.has(kind));
    append(job, "w0", "change");
    await job.checkpoint({ states: states() });
    for (const writers of [1, 20]) {
      for (let i = 0; i < writers; i++) append(job, `w${i}`, "change");
      const before = syncs().length;
      await job.checkpoint({ states: states() });
      const made = syncs().slice(before);
      assert.equal(made.filter(({ path }) => path.includes("/states")).length, 3 + 1);
      assert.ok(made.length <= 6 + 3 + 1, `${made.length} syncs`);
    }
  });
});

describe("a state whose content does not come", () => {
  test("fails its checkpoint with what the content throws, and leaves nothing behind", async () => {
    const { job, backend } = await openJobOn();
    append(job, "w", "a");
    const source = new PieceSource([new Uint8Array(1_000_000)], () => {
      throw new Error("the query was killed");
    });
    const made = job.checkpoint({ states: { a: bytesOf("a"), b: source } });
    await assert.rejects(made, /the query was killed/);
    assert.deepEqual(await job.checkpoints(), []);
    assert.equal((await stateKeys(backend)).length, 2);
    const { objects } = await job.collect(AT_ONCE);
    assert.deepEqual(
      objects.filter(({ key }) => key.includes("/states/")).map(({ reason }) => reason),
      ["nothing needs it", "nothing needs it"],
    );
    assert.deepEqual(await stateKeys(backend), []);
    await job.checkpoint({ states: { a: bytesOf("A") } });
    assert.equal(await stateOf(job, "a"), "A");
  });

  test("gives up when the signal says so, and lets the next checkpoint go on", async () => {
    const { job } = await openJobOn();
    const controller = new AbortController();
    const never = new PieceSource([bytesOf("a")], () => new Promise(() => {}));
    const made = job.checkpoint({ states: { a: never }, signal: controller.signal });
    const next = job.checkpoint();
    assert.equal(await hasSettled(next), false);
    controller.abort(new Error("no longer wanted"));
    await assert.rejects(made, /no longer wanted/);
    const { uuid } = await next;
    assert.deepEqual((await job.checkpoints()).map((one) => one.uuid), [uuid]);
  });

  test("holds a close up for five seconds, as long as nothing comes", async () => {
    const { job, ports } = await openJobOn();
    append(job, "w", "a");
    const gates: (() => void)[] = [];
    const gate = () => new Promise<void>((resolve) => gates.push(resolve));
    async function* slow(): AsyncGenerator<Uint8Array> {
      for (const text of ["a", "b", "c"]) {
        await gate();
        yield bytesOf(text);
      }
    }
    const made = job.checkpoint({ states: { a: slow() } });
    let isStuck = false;
    const never = new PieceSource([], () => {
      isStuck = true;
      return new Promise(() => {});
    });
    const stuck = rejectsWith(job.checkpoint({ states: { a: never } }), "closed");
    const closed = job.close();
    for (let i = 0; i < 3; i++) {
      while (gates.length === i) await hasSettled(made);
      await ports.clock.advance(4_000);
      gates[i]();
    }
    assert.equal((await made).isHead, true);
    while (!isStuck) await hasSettled(stuck);
    await ports.clock.advance(4_000);
    assert.equal(await hasSettled(closed), false);
    await ports.clock.advance(2_000);
    await stuck;
    await closed;
  });

  test("never holds up a resume", async () => {
    const { job } = await openJobOn();
    const never = new PieceSource([bytesOf("a")], () => new Promise(() => {}));
    const made = rejectsWith(job.checkpoint({ states: { a: never } }), "fenced");
    const written = rejectsWith(job.writeState("a", never), "fenced");
    assert.equal((await job.resume()).run, 2);
    await made;
    await written;
    await job.checkpoint({ states: { a: bytesOf("a") } });
    assert.equal(await stateOf(job, "a"), "a");
  });
});

describe("Job.writeState", () => {
  test("stores a state that the next checkpoint names", async () => {
    const { job, backend } = await openJobOn();
    const written = await job.writeState(
      "a",
      new PieceSource([bytesOf("high "), bytesOf("water")]),
    );
    assert.deepEqual([written.name, written.size], ["a", 10]);
    const { uuid } = await job.checkpoint({ states: { a: { written: written.uuid } } });
    assert.equal(await stateOf(job, "a"), "high water");
    assert.deepEqual((await job.checkpointDetails(uuid)).states, [written]);
    assert.deepEqual(await stateKeys(backend), [written.key]);
    const again = job.checkpoint({ states: { a: { written: written.uuid } } });
    await rejectsWith(again, "state-not-found");
  });

  test("keeps what it has written for an hour", async () => {
    const { job, backend, ports } = await openJobOn();
    const { uuid } = await job.writeState("a", bytesOf("a"));
    await ports.clock.advance(3_599_000);
    const { objects } = await job.collect(AT_ONCE);
    const kept = objects.find(({ key }) => key.includes("/states/"))!;
    assert.deepEqual([kept.action, kept.reason], ["keep", "a checkpoint may come to need it"]);
    await ports.clock.advance(2_000);
    await job.collect(AT_ONCE);
    assert.deepEqual(await stateKeys(backend), []);
    const made = job.checkpoint({ states: { a: { written: uuid } } });
    await rejectsWith(made, "state-not-found");
  });

  test("keeps what is being written from a collection", async () => {
    const { job, backend } = await openJobOn();
    const held = backend.hold({ kind: "sync", key: /\/states\// });
    const writing = job.writeState("a", bytesOf("a"));
    await held.reached;
    await job.collect(AT_ONCE);
    held.release();
    const { uuid } = await writing;
    await job.checkpoint({ states: { a: { written: uuid } } });
    assert.equal(await stateOf(job, "a"), "a");
  });

  test("is for one run, one name, one checkpoint", async () => {
    const { job, backend } = await openJobOn();
    const { uuid } = await job.writeState("a", bytesOf("a"));
    const named = (name: string) => job.checkpoint({ states: { [name]: { written: uuid } } });
    await rejectsWith(named("b"), "state-not-found");
    await job.resume({ at: "tail" });
    await rejectsWith(named("a"), "state-not-found");
    await job.collect(AT_ONCE);
    assert.deepEqual(await stateKeys(backend), []);
  });

  test("can be tried again when the checkpoint that names it has failed", async () => {
    const { job, backend } = await openJobOn();
    const { uuid } = await job.writeState("a", bytesOf("a"));
    const states = { a: { written: uuid } };
    backend.fail({ kind: "putIfAbsent", key: /\/checkpoints\// });
    await rejectsWith(job.checkpoint({ states }), "storage-unavailable");
    await job.checkpoint({ states });
    assert.equal(await stateOf(job, "a"), "a");
  });

  test("writes four at once, and no more", async () => {
    const { job } = await openJobOn();
    const gates: (() => void)[] = [];
    const waiting = () =>
      new PieceSource([bytesOf("a")], () => new Promise<void>((resolve) => gates.push(resolve)));
    const writes = [1, 2, 3, 4].map(() => job.writeState("a", waiting()));
    await rejectsWith(job.writeState("a", bytesOf("a")), "backpressure");
    while (gates.length < 4) await hasSettled(writes[0]);
    gates.forEach((open) => open());
    await Promise.all(writes);
    await job.writeState("a", bytesOf("a"));
  });

  test("stops at its signal, and ends its source", async () => {
    const { job, backend } = await openJobOn();
    const controller = new AbortController();
    const source = new PieceSource([bytesOf("a"), bytesOf("b")]);
    const held = backend.hold({ kind: "createAppender" });
    const writing = job.writeState("a", source, { signal: controller.signal });
    await held.reached;
    controller.abort(new Error("enough"));
    await assert.rejects(writing, /enough/);
    held.release();
    await assert.rejects(job.writeState("a", source, { signal: controller.signal }), /enough/);
    await job.collect(AT_ONCE);
    assert.deepEqual(await stateKeys(backend), []);
  });

  test("is for the owner", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects);
    await openJobOn(objects);
    const { uuid } = await job.writeState("a", bytesOf("a"));
    await rejectsWith(job.checkpoint({ states: { a: { written: uuid } } }), "fenced");
    await rejectsWith(job.writeState("a", bytesOf("a")), "fenced");
    const { store } = await openEngine(objects, { mode: "read" });
    assert.deepEqual(await (await store.reader("orders")).checkpoints(), []);
  });
});
