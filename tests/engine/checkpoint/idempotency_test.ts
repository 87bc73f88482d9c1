/** Checkpoints that are made once under a key, however often they are asked for. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { CheckpointOptions } from "../../../src/engine/types.ts";
import {
  append,
  bytesOf,
  GENERATION,
  JOB,
  MANIFEST,
  newMemory,
  openJobOn,
  rejectsWith,
  restore,
  turn,
} from "../_engine.ts";

const UUID = "0197a0e0-0000-7000-8000-000000000001";

async function* inPieces(text: string): AsyncGenerator<Uint8Array> {
  for (const piece of text) yield bytesOf(piece);
}

/** A request, its facts in another order. */
const REQUEST: CheckpointOptions = {
  idempotencyKey: "batch 17",
  identifier: "noon",
  steps: 17n,
  processedRecords: 1000n,
  metadata: { topic: "orders", offsets: { a: 1, b: [2] } },
};
const AGAIN: CheckpointOptions = {
  ...REQUEST,
  metadata: { offsets: { b: [2], a: 1 }, topic: "orders" },
};

describe("idempotency key", () => {
  test("the same request answers the checkpoint that was made, whatever was appended since", async () => {
    const { job } = await openJobOn();
    append(job, "totals", "a");
    const made = await job.checkpoint(REQUEST);
    assert.equal(made.idempotencyKey, "batch 17");
    append(job, "totals", "b");
    await job.checkpoint();
    const again = await job.checkpoint(AGAIN);
    assert.deepEqual(again, { ...made, isHead: false });
    assert.equal((await job.checkpoints()).length, 2);
    assert.deepEqual((await restore(job, { at: again.uuid })).changes, { totals: ["a"] });
  });

  test("is joined while it is being made", async () => {
    const { job, backend } = await openJobOn();
    append(job, "totals", "a");
    const held = backend.hold({ kind: "putIfAbsent", key: MANIFEST });
    const first = job.checkpoint(REQUEST);
    await held.reached;
    const others = [job.checkpoint(AGAIN), job.checkpoint(AGAIN)];
    await rejectsWith(job.checkpoint({ ...REQUEST, steps: 18n }), "idempotency-conflict");
    await turn();
    held.release();
    const made = await first;
    assert.deepEqual(await Promise.all(others), [made, made]);
    assert.equal((await job.checkpoints()).length, 1);
  });

  test("holds after a restart, in another process", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects);
    const made = await job.checkpoint(REQUEST);
    await job.close();
    const next = await openJobOn(objects);
    assert.deepEqual(await next.job.checkpoint(AGAIN), made);
    const other = { ...REQUEST, metadata: { topic: "orders", offsets: { a: 2, b: [2] } } };
    await rejectsWith(next.job.checkpoint(other), "idempotency-conflict");
  });

  test("every fact of the request counts", async () => {
    const { job } = await openJobOn();
    await job.checkpoint({ states: { sums: bytesOf("1") } });
    const states = { sums: bytesOf("12"), old: { from: "latest" } } as const;
    const request = { ...REQUEST, uuid: UUID, states: { ...states, old: bytesOf("x") } };
    const made = await job.checkpoint(request);
    assert.equal((await job.checkpoint(request)).uuid, made.uuid);
    const others: CheckpointOptions[] = [
      { ...request, uuid: undefined },
      { ...request, identifier: undefined },
      { ...request, identifier: "night" },
      { ...request, steps: undefined },
      { ...request, processedRecords: 1001n },
      { ...request, metadata: undefined },
      { ...request, metadata: { offsets: { a: 1, b: 2 }, topic: "orders" } },
      { ...request, states: undefined },
      { ...request, states },
      { ...request, states: { ...request.states, more: bytesOf("") } },
      { ...request, states: { ...request.states, sums: bytesOf("13") } },
    ];
    for (const [i, other] of others.entries()) {
      const { message } = await rejectsWith(job.checkpoint(other), "idempotency-conflict");
      assert.match(message, /idempotency key batch 17/, String(i));
    }
  });

  test("a state that comes piece by piece is not read again", async () => {
    const { job } = await openJobOn();
    const made = await job.checkpoint({ ...REQUEST, states: { sums: inPieces("12") } });
    const never = {
      [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
        throw new Error("read again");
      },
    };
    const again = await job.checkpoint({ ...REQUEST, states: { sums: never } });
    assert.equal(again.uuid, made.uuid);
    const asBytes = await job.checkpoint({ ...REQUEST, states: { sums: bytesOf("12") } });
    assert.equal(asBytes.uuid, made.uuid);
  });

  test("of states that were written ahead the content counts, written once or once more", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects);
    const write = async (text: string) => ({
      sums: { written: (await job.writeState("sums", bytesOf(text))).uuid },
    });
    const first = await write("12");
    const made = await job.checkpoint({ ...REQUEST, states: first });
    const answers = [first, await write("12"), { sums: bytesOf("12") }].map((states) =>
      job.checkpoint({ ...REQUEST, states })
    );
    for (const { uuid } of await Promise.all(answers)) assert.equal(uuid, made.uuid);
    const other = { ...REQUEST, states: await write("13") };
    await rejectsWith(job.checkpoint(other), "idempotency-conflict");
    await job.close();
    const { job: next } = await openJobOn(objects);
    assert.equal((await next.checkpoint({ ...REQUEST, states: first })).uuid, made.uuid);
    await rejectsWith(next.checkpoint(other), "idempotency-conflict");
  });

  test("one that failed frees the key, and whoever joined makes it", async () => {
    const { job, backend } = await openJobOn();
    append(job, "totals", "a");
    const held = backend.hold({ kind: "putIfAbsent", key: MANIFEST });
    backend.fail({ kind: "putIfAbsent", key: MANIFEST });
    const first = rejectsWith(job.checkpoint(REQUEST), "storage-unavailable");
    await held.reached;
    const joined = job.checkpoint(AGAIN);
    held.release();
    await first;
    const made = await joined;
    assert.equal((await job.checkpoints()).length, 1);
    assert.equal((await job.checkpoint({ ...REQUEST })).uuid, made.uuid);
  });

  test("who gives up leaves the one that joined alone", async () => {
    const { job } = await openJobOn();
    const given = new AbortController();
    const first = job.checkpoint({ ...REQUEST, signal: given.signal });
    const joined = job.checkpoint(AGAIN);
    given.abort(new Error("gone"));
    await assert.rejects(first, /gone/);
    assert.equal((await joined).idempotencyKey, "batch 17");
    const late = AbortSignal.abort(new Error("late"));
    await assert.rejects(job.checkpoint({ ...REQUEST, signal: late }), /late/);
  });

  test("the wait of one that joined ends with its signal, and the first goes on", async () => {
    const { job, backend } = await openJobOn();
    const held = backend.hold({ kind: "putIfAbsent", key: MANIFEST });
    const first = job.checkpoint(REQUEST);
    await held.reached;
    const given = new AbortController();
    const joined = job.checkpoint({ ...AGAIN, signal: given.signal });
    given.abort(new Error("enough"));
    await assert.rejects(joined, /enough/);
    held.release();
    assert.equal((await first).isHead, true);
  });

  test("one whose answer was lost is found, and made once", async () => {
    const objects = newMemory();
    const { job, backend } = await openJobOn(objects);
    append(job, "totals", "a");
    backend.fail({ kind: "putIfAbsent", key: GENERATION, when: "after" });
    backend.fail({ kind: "get", key: GENERATION, times: 3 });
    backend.fail({ kind: "putIfAbsent", key: GENERATION, times: 2 });
    const lost = await rejectsWith(job.checkpoint(REQUEST), "storage-unavailable");
    assert.equal(lost.outcome, "unknown");
    const made = await job.checkpoint(AGAIN);
    assert.equal((await job.checkpoints()).length, 1);
    const other = { ...REQUEST, steps: 18n };
    await rejectsWith(job.checkpoint(other), "idempotency-conflict");
    const { job: next } = await openJobOn(objects);
    assert.equal((await next.checkpoint(AGAIN)).uuid, made.uuid);
  });

  test("a resume keeps the keys of the line that goes on, and frees those that it leaves", async () => {
    const { job } = await openJobOn();
    append(job, "totals", "a");
    const kept = await job.checkpoint({ idempotencyKey: "1", steps: 1n });
    append(job, "totals", "b");
    const left = await job.checkpoint({ idempotencyKey: "2", steps: 2n });
    await job.resume({ at: kept.uuid });
    append(job, "totals", "other");
    assert.equal((await job.checkpoint({ idempotencyKey: "1", steps: 1n })).uuid, kept.uuid);
    const made = await job.checkpoint({ idempotencyKey: "2", steps: 2n });
    assert.notEqual(made.uuid, left.uuid);
    assert.deepEqual((await restore(job)).changes, { totals: ["a", "other"] });
    assert.equal((await job.checkpoint({ idempotencyKey: "2", steps: 2n })).uuid, made.uuid);
  });

  test("is free again when its checkpoint was collected", async () => {
    const { job } = await openJobOn();
    const first = await job.checkpoint({ idempotencyKey: "1" });
    await job.checkpoint();
    await job.deleteCheckpoint(first.uuid);
    const second = await job.checkpoint({ idempotencyKey: "1", steps: 5n });
    assert.notEqual(second.uuid, first.uuid);
  });

  test("is free as well when its checkpoint is collected while it is compared", async () => {
    const { job, backend } = await openJobOn();
    await job.setRetention({ minCount: 1 });
    const request = { ...REQUEST, states: { sums: bytesOf("1") } };
    const first = await job.checkpoint(request);
    await job.checkpoint();
    const held = backend.hold({ kind: "get", key: MANIFEST, times: 2 });
    const both = [job.checkpoint(request), job.checkpoint(request)];
    await held.reached;
    await job.collect({ quarantineMs: 0 });
    held.release();
    const [one, other] = await Promise.all(both);
    assert.ok(one.uuid === other.uuid && one.uuid !== first.uuid);
  });

  test("comes back with a salvage", async () => {
    const objects = newMemory();
    const { job, store } = await openJobOn(objects);
    const made = await job.checkpoint(REQUEST);
    await job.close();
    for await (const { key } of objects.list(`jobs/${JOB}/catalog/`)) await objects.delete(key);
    const { id } = await store.salvage(JOB);
    await store.salvage(JOB, { accept: id });
    const salvaged = await store.job(JOB);
    assert.equal((await salvaged.checkpoint(AGAIN)).uuid, made.uuid);
  });

  test("a fenced owner answers nothing", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects);
    await job.checkpoint(REQUEST);
    await openJobOn(objects, {}, { takeOver: true });
    await rejectsWith(job.checkpoint(AGAIN), "fenced");
  });

  test("a key that is none is refused, and the longest fits the catalog", async () => {
    const { job } = await openJobOn();
    for (const idempotencyKey of ["", " a", "a ", "a\n", "é", "a".repeat(129), 7 as never]) {
      await rejectsWith(job.checkpoint({ idempotencyKey }), "invalid-request");
    }
    const { idempotencyKey } = await job.checkpoint({ idempotencyKey: "a".repeat(128) });
    assert.equal(idempotencyKey?.length, 128);
  });
});
