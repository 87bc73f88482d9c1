import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { UploadThrottle } from "../../../src/engine/upload/upload_throttle.ts";
import { hasSettled, turn } from "../_engine.ts";

describe("UploadThrottle", () => {
  test("turns availability exactly at the soft limit", () => {
    const throttle = new UploadThrottle(10, 15);
    assert.ok(throttle.tryAdmit(9));
    assert.ok(throttle.isAvailable());
    assert.ok(throttle.tryAdmit(1));
    assert.equal(throttle.isAvailable(), false);
    throttle.uploadCompleted(1);
    assert.ok(throttle.isAvailable());
  });

  test("admits up to the hard limit, and takes nothing of what passes it", () => {
    const throttle = new UploadThrottle(10, 15);
    assert.ok(throttle.tryAdmit(10));
    assert.ok(throttle.tryAdmit(5));
    assert.equal(throttle.tryAdmit(1), false);
    assert.equal(throttle.bytes, 15);
  });

  test("admits what is larger than the limit when nothing else is held, and only then", () => {
    const throttle = new UploadThrottle(10, 15);
    assert.ok(throttle.tryAdmit(1));
    assert.equal(throttle.tryAdmit(100), false);
    throttle.uploadCompleted(1);
    assert.ok(throttle.tryAdmit(100));
    assert.equal(throttle.tryAdmit(1), false);
  });

  test("answers at once when it is available, and else when it becomes so", async () => {
    const throttle = new UploadThrottle(10, 15);
    await throttle.whenAvailable();
    throttle.tryAdmit(12);
    const waits = [throttle.whenAvailable(), throttle.whenAvailable()];
    throttle.uploadCompleted(1);
    assert.equal(await hasSettled(waits[0]), false);
    throttle.uploadCompleted(2);
    await Promise.all(waits);
  });

  test("is not available until what was refused would fit", async () => {
    const throttle = new UploadThrottle(10, 10);
    throttle.tryAdmit(7);
    assert.equal(throttle.tryAdmit(6), false);
    assert.equal(throttle.tryAdmit(4), false);
    const wait = throttle.whenAvailable();
    throttle.uploadCompleted(2);
    assert.equal(throttle.isAvailable(), false);
    assert.equal(await hasSettled(wait), false);
    throttle.uploadCompleted(1);
    await wait;
    assert.ok(throttle.tryAdmit(6));
  });

  test("refuses to let go of more than it holds, and to hold less than nothing", () => {
    const throttle = new UploadThrottle(10, 15);
    throttle.tryAdmit(3);
    assert.throws(() => throttle.uploadCompleted(4), RangeError);
    assert.throws(() => throttle.uploadCompleted(-1), RangeError);
    assert.throws(() => throttle.tryAdmit(-1), RangeError);
    assert.throws(() => throttle.tryAdmit(NaN), RangeError);
    assert.equal(throttle.bytes, 3);
  });

  test("refuses limits that contradict each other, and names both", () => {
    assert.throws(() => new UploadThrottle(10, 9), { name: "RangeError", message: /10.*9/ });
    assert.throws(() => new UploadThrottle(0), RangeError);
  });
});

describe("UploadThrottle requestUpload", () => {
  test("takes at once what fits, and else waits until it does", async () => {
    const throttle = new UploadThrottle(10);
    await throttle.requestUpload(8);
    const waiting = throttle.requestUpload(3);
    assert.equal(await hasSettled(waiting), false);
    assert.equal(throttle.bytes, 8);
    throttle.uploadCompleted(1);
    await waiting;
    assert.equal(throttle.bytes, 10);
  });

  test("serves whoever waits in order, and lets nobody overtake", async () => {
    const throttle = new UploadThrottle(10);
    await throttle.requestUpload(6);
    const served: string[] = [];
    const large = throttle.requestUpload(9).then(() => served.push("large"));
    const small = throttle.requestUpload(1).then(() => served.push("small"));
    assert.equal(throttle.waitingCount, 2);
    assert.equal(throttle.isAvailable(), false);
    assert.equal(throttle.tryAdmit(1), false);
    throttle.uploadCompleted(4);
    await turn();
    assert.deepEqual(served, []);
    throttle.uploadCompleted(2);
    await Promise.all([large, small]);
    assert.deepEqual(served, ["large", "small"]);
    assert.equal(throttle.bytes, 10);
  });

  test("takes what is larger than the limit when nothing else is held", async () => {
    const throttle = new UploadThrottle(10);
    await throttle.requestUpload(1);
    const waiting = throttle.requestUpload(11);
    assert.equal(await hasSettled(waiting), false);
    throttle.uploadCompleted(1);
    await waiting;
    assert.equal(throttle.bytes, 11);
  });

  test("takes nothing when it is aborted, before or while it waits, and lets the next go on", async () => {
    const throttle = new UploadThrottle(10);
    const reason = new Error("left");
    await assert.rejects(throttle.requestUpload(1, { signal: AbortSignal.abort(reason) }), reason);
    await throttle.requestUpload(5);
    const abort = new AbortController();
    const left = throttle.requestUpload(9, { signal: abort.signal });
    const next = throttle.requestUpload(2);
    abort.abort(reason);
    await assert.rejects(left, reason);
    await next;
    assert.equal(throttle.bytes, 7);
    assert.ok(throttle.isAvailable());
  });

  test("keeps what was admitted when it is aborted later", async () => {
    const throttle = new UploadThrottle(10);
    const abort = new AbortController();
    await throttle.requestUpload(10);
    const waiting = throttle.requestUpload(4, { signal: abort.signal });
    throttle.uploadCompleted(10);
    abort.abort();
    await waiting;
    assert.equal(throttle.bytes, 4);
  });
});

describe("UploadThrottle tells that room is wanted", () => {
  function counted(softBytes: number, hardBytes?: number) {
    const calls: number[] = [];
    const throttle: UploadThrottle = new UploadThrottle(softBytes, hardBytes, {
      onShortage: () => calls.push(throttle.bytes),
    });
    return { throttle, calls };
  }

  test("once for a turn, when availability turns", async () => {
    const { throttle, calls } = counted(10, 15);
    throttle.tryAdmit(9);
    await turn();
    assert.deepEqual(calls, []);
    throttle.tryAdmit(1);
    throttle.tryAdmit(2);
    await turn();
    assert.deepEqual(calls, [12]);
  });

  test("when it refuses, or lets wait, though it is below the soft limit", async () => {
    const { throttle, calls } = counted(10);
    throttle.tryAdmit(8);
    throttle.tryAdmit(3);
    await turn();
    assert.deepEqual(calls, [8]);
    throttle.uploadCompleted(1);
    const waiting = throttle.requestUpload(4);
    await turn();
    assert.deepEqual(calls, [8, 7]);
    throttle.uploadCompleted(7);
    await waiting;
  });

  test("again when what was let go is not enough, and not when it is", async () => {
    const { throttle, calls } = counted(10, 20);
    throttle.tryAdmit(20);
    await turn();
    throttle.uploadCompleted(5);
    await turn();
    assert.deepEqual(calls, [20, 15]);
    throttle.tryAdmit(1);
    throttle.uploadCompleted(16);
    await turn();
    assert.deepEqual(calls, [20, 15]);
  });
});

describe("UploadThrottle that is closed", () => {
  test("fails requests, and lets go on who waits for availability", async () => {
    const throttle = new UploadThrottle(10);
    throttle.tryAdmit(10);
    const request = throttle.requestUpload(1);
    const wait = throttle.whenAvailable();
    const reason = new Error("closed");
    throttle.close(reason);
    throttle.close(new Error("again"));
    await assert.rejects(request, reason);
    await wait;
    assert.ok(throttle.isAvailable());
    await throttle.whenAvailable();
    await assert.rejects(throttle.requestUpload(1), reason);
    throttle.uploadCompleted(10);
    assert.equal(throttle.bytes, 0);
  });
});
