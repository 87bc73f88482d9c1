import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { copyBatch } from "../../../src/engine/changelog/batch_copy.ts";
import { ChangeFileSource } from "../../../src/engine/changelog/change_file_source.ts";
import { readBatchEndingAt, readSets } from "../../../src/engine/format/change_file_reader.ts";
import { resolveSettings } from "../../../src/engine/settings.ts";
import type { StorageBackend } from "../../../src/engine/storage/backend.ts";
import { ChangeFileLog } from "../../../src/engine/upload/change_file_log.ts";
import { rejectsWith, Surroundings } from "../_engine.ts";
import { set, STORE, TailBench } from "./_tail_bench.ts";

function logOf({ backend, keys }: TailBench, epoch: number): ChangeFileLog {
  const ports = new Surroundings();
  return new ChangeFileLog({
    backend,
    keys,
    store: STORE,
    epoch,
    run: 1,
    settings: resolveSettings(),
    ports,
  });
}

/** The batch that ends there: what its index says of its sets, and their bytes. */
async function contentOf(backend: StorageBackend, key: string, end: number): Promise<unknown[]> {
  const source = new ChangeFileSource(backend, key, end);
  const batch = await readBatchEndingAt(source, end);
  const content: unknown[] = [...batch.sets];
  for await (const { bytes } of readSets(source, batch, batch.sets)) content.push([...bytes]);
  return content;
}

describe("copyBatch", () => {
  test("writes the batch to the own epoch's log, its body unchanged, and syncs it", async () => {
    const bench = new TailBench();
    const large = Array.from({ length: 3000 }, (_, i) => `change ${i} ${"x".repeat(i % 90)}`);
    const sets = [set(0, 0, large), set(4, 9, ["v"], { writer: "v" }), set(1, 3000, ["w"])];
    const file = await bench.file({
      epoch: 1,
      batches: [[set(7, 0, ["-"], { writer: "u" })], sets],
    });
    const log = logOf(bench, 2);
    const { end, indexHash } = file.batches[1];
    await copyBatch(bench.backend, log, { file, end, indexHash });
    const [copy] = log.files;
    assert.equal(copy.name.epoch, 2);
    const wanted = await contentOf(bench.backend, file.key, end);
    assert.deepEqual(await contentOf(bench.backend, copy.key, copy.syncedLength), wanted);
  });

  test("keeps the epoch of a set that was copied before", async () => {
    const bench = new TailBench();
    const file = await bench.file({ epoch: 2, batches: [[set(0, 0, ["a"], { epoch: 1 })]] });
    const log = logOf(bench, 3);
    const { end, indexHash } = file.batches[0];
    await copyBatch(bench.backend, log, { file, end, indexHash });
    const source = new ChangeFileSource(bench.backend, log.files[0].key, log.files[0].syncedLength);
    const { sets } = await readBatchEndingAt(source, log.files[0].syncedLength);
    assert.equal(sets[0].epoch, 1);
  });

  test("refuses a batch that is not the one that was scanned", async () => {
    const bench = new TailBench();
    const file = await bench.file({ batches: [[set(0, 0, ["a"])]] });
    const log = logOf(bench, 2);
    const { end } = file.batches[0];
    const error = await rejectsWith(
      copyBatch(bench.backend, log, { file, end, indexHash: 1n }),
      "corrupt",
    );
    assert.equal(error.details.key, file.key);
    assert.deepEqual(log.files, []);
  });

  test("refuses a batch whose content is bad", async () => {
    const bench = new TailBench();
    const file = await bench.file({ batches: [[set(0, 0, ["a"])]] });
    const { end, indexHash, position } = file.batches[0];
    await bench.flip(file, position + 20);
    const log = logOf(bench, 2);
    await rejectsWith(copyBatch(bench.backend, log, { file, end, indexHash }), "corrupt");
    assert.deepEqual(log.files, []);
  });
});
