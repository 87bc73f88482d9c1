import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { UploadThrottle } from "../../../src/engine/upload/upload_throttle.ts";
import { hasSettled } from "../_engine.ts";

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

  test("refuses to let go of more than it holds", () => {
    const throttle = new UploadThrottle(10, 15);
    throttle.tryAdmit(3);
    assert.throws(() => throttle.uploadCompleted(4), RangeError);
  });
});
