import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import * as api from "../mod.ts";
import { MemoryBackend } from "../src/engine/storage/memory_backend.ts";
import { ManualClock } from "./doubles/manual_clock.ts";
import { RecordingLogger } from "./doubles/recording_logger.ts";
import { temporaryFolder } from "./runtime/temporary_folder.ts";

const { encodeChanges, openStore, TidemarkError } = api;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What the README shows: append, persist, checkpoint, resume, restore. */
async function liveOn(location: string | URL): Promise<void> {
  await using store = await openStore(location, { persistDelayMs: 0 });
  const job = await store.job("orders", { fingerprint: 7n });
  const writer = job.writer("totals", { keyGroups: [0, 127] });
  assert.equal(writer.append(3, encoder.encode("apples +3")), 0);
  writer.appendMeta(encoder.encode("meta"));
  assert.equal((await writer.persist()).durableOffset, 2);
  const { uuid } = await job.checkpoint({ identifier: "first", metadata: { source: 2 } });
  const encoded = encodeChanges([{ keyGroup: 4, data: encoder.encode("pears +1") }]);
  const { offset, ack } = await writer.appendAt(2, encoded);
  assert.deepEqual([offset, ack], [2, "durable"]);
  const resumed = await job.resume({ at: uuid });
  assert.deepEqual(resumed.checkpoint?.metadata, { source: 2 });
  const texts: string[] = [];
  const stream = job.restore({ at: "tail", writers: ["totals"] });
  for await (const { keyGroup, data } of stream) texts.push(`${keyGroup} ${decoder.decode(data)}`);
  assert.deepEqual(texts, ["3 apples +3", "-1 meta"]);
  assert.equal((await stream.trailer).count, 2);
  assert.equal((await job.verify()).ok, true);
}

describe("the public interface", () => {
  test("lives in memory", () => liveOn("memory:"));

  test("lives in a folder, given as a path or as a URL, and is there again afterwards", async () => {
    await using folder = await temporaryFolder();
    const path = `${folder.path}/some/where/store`;
    await liveOn(path);
    await using store = await openStore(pathToFileURL(path), { mode: "read" });
    assert.equal(store.isNew, false);
    assert.equal(store.location, path);
    assert.deepEqual(await store.jobs(), ["orders"]);
    await using reader = await store.reader("orders");
    const [checkpoint] = await reader.checkpoints();
    assert.equal(checkpoint.identifier, "first");
    assert.deepEqual([checkpoint.fingerprint, checkpoint.isHead], [7n, true]);
    const texts: string[] = [];
    for await (const { data } of reader.restore()) texts.push(decoder.decode(data));
    assert.deepEqual(texts, ["apples +3", "meta"]);
  });

  test("opens a backend of one's own, and reports to a logger of one's own", async () => {
    const backend = new MemoryBackend({ clock: new ManualClock() });
    const logger = new RecordingLogger();
    const store = await openStore(backend, { logger });
    await store.job("orders");
    await store.close();
    const again = await openStore(backend, { logger });
    assert.equal(again.id, store.id);
    await again.close();
  });

  test("gives no memory that threads share to a backend of one's own", async () => {
    const backend = new MemoryBackend({ clock: new ManualClock() });
    await assert.rejects(openStore(backend, { codecThreads: 1 }), {
      name: "RangeError",
      message: /codecThreads is 1, with a backend of your own: wants 0/,
    });
  });

  test("refuses settings that do not exist, by name", async () => {
    await assert.rejects(openStore("memory:", { speed: 9 } as object), {
      name: "TypeError",
      message: /"speed"/,
    });
  });

  test("throws its own error, with code and kind", async () => {
    await assert.rejects(openStore("memory:", { mode: "read" }), (error) => {
      assert.ok(error instanceof TidemarkError);
      assert.deepEqual([error.code, error.kind], ["store-not-found", "not-found"]);
      return true;
    });
  });

  test("has a version, defaults that are frozen, and no default export", () => {
    assert.match(api.VERSION, /^\d+\.\d+\.\d+/);
    assert.ok(Object.isFrozen(api.DEFAULT_SETTINGS));
    assert.equal("default" in api, false);
  });
});
