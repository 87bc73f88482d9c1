import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryBackend } from "../../../src/engine/storage/memory_backend.ts";
import {
  bytesOf,
  rejectsWith,
  storageBackendConformance,
  textOf,
} from "../../conformance/storage_backend.ts";
import { ManualClock } from "../../doubles/manual_clock.ts";

storageBackendConformance("MemoryBackend", () => {
  const backend = new MemoryBackend({ clock: new ManualClock() });
  return Promise.resolve({ backend, release: () => backend.close() });
});

test("MemoryBackend gives objects the clock's time", async () => {
  const clock = new ManualClock(1000);
  const backend = new MemoryBackend({ clock });
  await backend.put("a", bytesOf("x"));
  clock.advanceSync(500);
  const appender = await backend.createAppender("b");
  clock.advanceSync(500);
  await appender.write(bytesOf("x"));
  assert.equal((await backend.head("a"))?.modifiedMs, 1000);
  assert.equal((await backend.head("b"))?.modifiedMs, 2000);
});

test("MemoryBackend refuses what passes bytesMax and goes on once there is room", async () => {
  const backend = new MemoryBackend({ clock: new ManualClock(), bytesMax: 10 });
  await backend.put("a", bytesOf("12345678"));
  const error = await rejectsWith(() => backend.put("b", bytesOf("123")), "storage-full");
  assert.match(error.message, /asked for 3 bytes.*2 bytes free/);
  assert.equal(error.outcome, "not-applied");
  await backend.put("a", bytesOf("1234567890"));
  await backend.delete("a");
  await backend.put("b", bytesOf("123"));
});

test("MemoryBackend's appender takes nothing more after a failed write", async () => {
  const backend = new MemoryBackend({ clock: new ManualClock(), bytesMax: 10 });
  const appender = await backend.createAppender("log");
  await appender.write(bytesOf("12345"));
  await rejectsWith(() => appender.write(bytesOf("123456")), "storage-full");
  await rejectsWith(() => appender.write(bytesOf("1")), "storage-full");
  await rejectsWith(() => appender.sync(), "storage-full");
  assert.equal(appender.length, 5);
  assert.equal(textOf(await backend.get("log")), "12345");
  await appender.close();
});
