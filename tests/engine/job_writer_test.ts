import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MIB } from "../../src/engine/limits.ts";
import { CHANGE_FILE, changesOf, newMemory, openJobOn, throwsWith } from "./_engine.ts";

describe("a writer of a job", () => {
  test("refuses encoded changes above changeBytesMax", async () => {
    const { job } = await openJobOn(newMemory(), { changeBytesMax: 10 });
    const writer = job.writer("w");
    throwsWith(() => writer.append(0, new Uint8Array(11)), "change-too-large");
    throwsWith(() => writer.appendEncoded(changesOf("x".repeat(11))), "change-too-large");
  });

  test("refuses an offset that is none", async () => {
    const { job } = await openJobOn();
    const writer = job.writer("w");
    await writer.appendAt(0, changesOf("a"));
    for (const offset of [-1, 0.5, Number.NaN]) {
      await assert.rejects(writer.appendAt(offset, changesOf("a")), RangeError);
    }
  });
});

describe("uploads of a job", () => {
  test("do not write again what was durable before a later one failed", async () => {
    const { job, backend } = await openJobOn(newMemory(), {
      inFlightBytesMax: 256 * MIB,
      preemptivePersistBytes: 255 * MIB,
      persistSizeThresholdBytes: 40 * MIB,
      compression: "none",
      uploadRetryPolicy: "none",
    });
    for (const id of ["a", "b"]) job.writer(id).append(0, new Uint8Array(40 * MIB));
    backend.fail({ kind: "sync", key: CHANGE_FILE, skip: 1 });
    const persisted = ["a", "b"].map((id) => job.writer(id).persist());
    const results = await Promise.allSettled(persisted);
    assert.deepEqual(results.map(({ status }) => status), ["fulfilled", "rejected"]);
  });
});
