import assert from "node:assert/strict";
import { test } from "node:test";
import { FACT_BYTES_MAX } from "../../src/engine/limits.ts";
import type { GetOptions } from "../../src/engine/storage/backend.ts";
import { MemoryBackend } from "../../src/engine/storage/memory_backend.ts";
import { ManualClock } from "../doubles/manual_clock.ts";
import { append, appendDurably, JOB, openEngine, restore } from "./_engine.ts";
import { openLocalJob } from "./_local_engine.ts";

/** Notes how much each read may take into memory. */
class ReadLog extends MemoryBackend {
  readonly reads: { readonly kind: string; readonly bytesMax: number }[] = [];

  constructor() {
    super({ clock: new ManualClock() });
  }

  override get(key: string, options: GetOptions = {}): Promise<Uint8Array> {
    const { from = 0, to = Infinity } = options;
    const kind = /^jobs\/[^/]+\/([^/]+)\//.exec(key)?.[1] ?? key;
    this.reads.push({ kind, bytesMax: to - from });
    return super.get(key, options);
  }
}

test("a small fact that is far too large is not taken into memory, whichever it is", async () => {
  const places = { main: new ReadLog(), local: new ReadLog() };
  const first = await openLocalJob(places);
  append(first.job, "w", "a");
  await first.job.checkpoint();
  await appendDurably(first.job, "w", "b");
  await first.store.close();
  // It adopts what the first one left, and that is read by the next.
  await (await openLocalJob(places)).store.close();
  const { store, job, main } = await openLocalJob(places);
  const { store: reading } = await openEngine(places.main, { mode: "read" });
  await using reader = await reading.reader(JOB);
  const restored = reader.restore({ at: "latest" })[Symbol.asyncIterator]();
  await restored.next();
  await job.checkpoint();
  await job.collect({ quarantineMs: 0 });
  await restored.return?.();
  main.fail({ kind: "putIfAbsent", key: /owners/, when: "after" });
  await job.resume({ at: "tail" });
  assert.deepEqual((await restore(job)).changes, { w: ["a", "b"] });
  await store.close();
  const reads = [...places.main.reads, ...places.local.reads];
  const facts = ["TIDEMARK", "TIDEMARK-LOCAL", "adopted", "catalog", "checkpoints", "owners"];
  assert.deepEqual(
    [...new Set(reads.map(({ kind }) => kind))].sort(),
    [...facts, "changelog", "readers"].sort(),
  );
  assert.deepEqual(reads.filter(({ bytesMax }) => bytesMax > FACT_BYTES_MAX + 1), []);
});
