import assert from "node:assert/strict";
import { test } from "node:test";
import { FACT_BYTES_MAX } from "../../../src/engine/limits.ts";
import type { GetOptions } from "../../../src/engine/storage/backend.ts";
import { readOptional, readSmall } from "../../../src/engine/storage/derived.ts";
import { MemoryBackend } from "../../../src/engine/storage/memory_backend.ts";
import { bytesOf, rejectsWith, textOf } from "../../conformance/storage_backend.ts";
import { ForgettingDisk } from "../../doubles/forgetting_file_system.ts";
import { ManualClock } from "../../doubles/manual_clock.ts";
import { preparedPosixOn } from "../../doubles/posix_on_double.ts";

test("readOptional tells absent from unreadable", async () => {
  const disk = new ForgettingDisk();
  const backend = await preparedPosixOn(disk);
  assert.equal(await readOptional(backend, "a/k"), undefined);
  await backend.put("a/k", bytesOf("0123"));
  assert.equal(textOf(await readOptional(backend, "a/k") as Uint8Array), "0123");
  for (const kind of ["open", "read", "fstat", "statSync"] as const) {
    disk.addFault({ matches: (call) => call.kind === kind, error: "EIO" });
    await rejectsWith(() => readOptional(backend, "a/k"), "storage-unavailable");
  }
});

/** A backend with one object of any size. */
class Sized extends MemoryBackend {
  size = 0;
  asked: GetOptions = {};

  constructor() {
    super({ clock: new ManualClock() });
  }

  override get(_key: string, options: GetOptions = {}): Promise<Uint8Array> {
    this.asked = options;
    return Promise.resolve(new Uint8Array(Math.min(options.to ?? this.size, this.size)));
  }
}

test("readSmall takes no more into memory than the largest small object, and a byte", async () => {
  const backend = new Sized();
  backend.size = FACT_BYTES_MAX;
  assert.equal((await readSmall(backend, "k")).length, FACT_BYTES_MAX);
  backend.size = 2 ** 40;
  const error = await rejectsWith(() => readSmall(backend, "k"), "corrupt");
  assert.equal(error.message, 'Cannot read "k": it has more than 67108864 bytes');
  assert.deepEqual(backend.asked, { from: 0, to: FACT_BYTES_MAX + 1 });
});
