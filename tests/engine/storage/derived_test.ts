import assert from "node:assert/strict";
import { test } from "node:test";
import {
  deleteIfExists,
  deleteRecursive,
  exists,
  readJson,
  readOptional,
  usage,
  writeJson,
} from "../../../src/engine/storage/derived.ts";
import { MemoryBackend } from "../../../src/engine/storage/memory_backend.ts";
import { bytesOf, collect, rejectsWith, textOf } from "../../conformance/storage_backend.ts";
import { ForgettingDisk } from "../../doubles/forgetting_file_system.ts";
import { ManualClock } from "../../doubles/manual_clock.ts";
import { preparedPosixOn } from "../../doubles/posix_on_double.ts";

function memory(): MemoryBackend {
  return new MemoryBackend({ clock: new ManualClock() });
}

test("writeJson and readJson give a value back", async () => {
  const backend = memory();
  const value = { text: "Grüße", list: [1, null, true] };
  await writeJson(backend, "a/j", value);
  assert.deepEqual(await readJson(backend, "a/j"), value);
  await writeJson(backend, "a/j", 7);
  assert.equal(await readJson(backend, "a/j"), 7);
  await assert.rejects(() => writeJson(backend, "a/j", undefined), TypeError);
  await assert.rejects(() => writeJson(backend, "a/j", 7n), TypeError);
});

test("readJson tells absent from corrupt", async () => {
  const backend = memory();
  await rejectsWith(() => readJson(backend, "none"), "object-not-found");
  for (const bytes of [bytesOf("{"), bytesOf(""), new Uint8Array([0x22, 0xff, 0x22])]) {
    await backend.put("j", bytes);
    const error = await rejectsWith(() => readJson(backend, "j"), "corrupt");
    assert.match(error.message, new RegExp(`"j": its ${bytes.length} bytes are not JSON`));
  }
});

test("readOptional tells absent from unreadable", async () => {
  const disk = new ForgettingDisk();
  const backend = await preparedPosixOn(disk);
  assert.equal(await readOptional(backend, "a/k"), undefined);
  await backend.put("a/k", bytesOf("0123"));
  assert.equal(textOf(await readOptional(backend, "a/k", { from: 2 }) as Uint8Array), "23");
  for (const kind of ["open", "read", "fstat", "statSync"] as const) {
    disk.addFault({ matches: (call) => call.kind === kind, error: "EIO" });
    await rejectsWith(() => readOptional(backend, "a/k"), "storage-unavailable");
  }
});

test("exists, deleteIfExists, usage and deleteRecursive follow from the primitives", async () => {
  const backend = memory();
  for (const key of ["a/1", "a/b/2", "ab/3"]) await backend.put(key, bytesOf(key));
  assert.equal(await exists(backend, "a/1"), true);
  assert.equal(await exists(backend, "a/b"), false);
  assert.deepEqual(await usage(backend, "a/"), { bytes: 8, objects: 2 });
  assert.deepEqual(await usage(backend, ""), { bytes: 12, objects: 3 });
  await deleteIfExists(backend, "none");
  await deleteIfExists(backend, "a/1");
  assert.equal(await exists(backend, "a/1"), false);
  assert.equal(await deleteRecursive(backend, "a/"), 1);
  assert.equal(await deleteRecursive(backend, "a/"), 0);
  assert.deepEqual((await collect(backend.list(""))).map(({ key }) => key), ["ab/3"]);
});
