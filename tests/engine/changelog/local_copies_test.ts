import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type ChangeFilePlace, RestoredFile } from "../../../src/engine/changelog/local_copies.ts";
import type { Batch } from "../../../src/engine/format/change_file.ts";
import { readBatchEndingAt } from "../../../src/engine/format/change_file_reader.ts";
import { scanChanges } from "../../../src/engine/format/change_scan.ts";
import { FaultyBackend } from "../../doubles/faulty_backend.ts";
import { newMemory, rejectsWith, textOf } from "../_engine.ts";
import { type MadeFile, set, TailBench } from "./_tail_bench.ts";

/** A file of one batch with three large sets, and its copy. */
class CopyBench {
  readonly tail: TailBench = new TailBench();
  readonly local: FaultyBackend = new FaultyBackend(newMemory());
  readonly fallbacks: string[] = [];
  readonly place: ChangeFilePlace = {
    backend: this.tail.backend,
    local: { backend: this.local, onFallback: (key) => void this.fallbacks.push(key) },
  };
  file!: MadeFile;

  static async make(): Promise<CopyBench> {
    const bench = new CopyBench();
    bench.file = await bench.tail.file({ batches: [SETS] });
    await bench.local.put(bench.file.key, await bench.tail.backend.get(bench.file.key));
    return bench;
  }

  get batch(): Batch {
    return this.file.batches[0];
  }

  open(signal?: AbortSignal): Promise<RestoredFile> {
    const { key, size } = this.file;
    return RestoredFile.open(this.place, key, { length: size, neededBy: "a test", signal });
  }

  /** Spoils the copy's block that holds a place of the body. */
  async spoil(bodyOffset: number): Promise<void> {
    const block = Math.floor(bodyOffset / this.batch.blockBytes);
    const before = this.batch.blocks.slice(0, block).reduce(
      (sum, { length }) => sum + length + 4,
      0,
    );
    const bytes = await this.local.get(this.file.key);
    bytes[this.batch.position + 15 + before + 10] ^= 1;
    await this.local.put(this.file.key, bytes);
  }
}

/** Texts that do not compress to nothing, several blocks for each set. */
const SETS = [0, 1, 2].map((number) =>
  set(number, number * 200, Array.from({ length: 200 }, (_, i) => `${number}/${i} `.repeat(300)))
);

/** Reads all sets: the begin of each change, by offset. */
async function read(file: RestoredFile, batch: Batch): Promise<Map<number, string>> {
  const changes = new Map<number, string>();
  for await (const { firstOffset, count, bytes } of file.sets(batch, batch.sets)) {
    const scan = scanChanges(bytes);
    assert.equal(scan.count, count);
    for (let i = 0; i < count; i++) {
      assert.ok(!changes.has(firstOffset + i), `change ${firstOffset + i} comes twice`);
      changes.set(firstOffset + i, textOf(scan.data(i)).split(" ")[0]);
    }
  }
  return changes;
}

const WANTED = new Map(
  SETS.flatMap(({ firstOffset }, number) =>
    Array.from({ length: 200 }, (_, i): [number, string] => [firstOffset + i, `${number}/${i}`])
  ),
);

describe("RestoredFile", () => {
  test("reads a copy that is whole to its end", async () => {
    const bench = await CopyBench.make();
    const file = await bench.open();
    assert.deepEqual(await read(file, bench.batch), WANTED);
    assert.deepEqual(bench.fallbacks, []);
  });

  test("goes on in the main file in the middle of a batch, and of a set, returning nothing twice", async () => {
    const { bodyLength, blockBytes } = (await CopyBench.make()).batch;
    for (let at = 0; at < bodyLength; at += blockBytes) {
      const bench = await CopyBench.make();
      await bench.spoil(at);
      assert.deepEqual(await read(await bench.open(), bench.batch), WANTED, `at ${at}`);
      assert.deepEqual(bench.fallbacks, [bench.file.key], `at ${at}`);
    }
  });

  test("goes on when the copy vanishes while it is read", async () => {
    const bench = await CopyBench.make();
    const file = await bench.open();
    await file.read(0, 10);
    file.rest();
    await bench.local.delete(bench.file.key);
    assert.deepEqual(await read(file, bench.batch), WANTED);
    assert.deepEqual(bench.fallbacks, [bench.file.key]);
  });

  test("goes on when the copy shrinks while it is read", async () => {
    const bench = await CopyBench.make();
    const file = await bench.open();
    const whole = await bench.local.get(bench.file.key);
    await bench.local.put(bench.file.key, whole.subarray(0, whole.length / 2));
    assert.deepEqual(await read(file, bench.batch), WANTED);
    assert.deepEqual(bench.fallbacks, [bench.file.key]);
  });

  test("runs an action again from the main file, once", async () => {
    const bench = await CopyBench.make();
    const bytes = await bench.local.get(bench.file.key);
    bytes[bytes.length - 30] ^= 1;
    await bench.local.put(bench.file.key, bytes);
    const file = await bench.open();
    let calls = 0;
    const batch = await file.attempt(() => {
      calls++;
      return readBatchEndingAt(file, bench.file.size);
    });
    assert.equal(batch.indexHash, bench.batch.indexHash);
    assert.equal(calls, 2);
    await assert.rejects(file.attempt(() => Promise.reject(new Error("other"))), /other/);
    assert.deepEqual(bench.fallbacks, [bench.file.key]);
  });

  test("throws what the main file is the reason of", async () => {
    const bench = await CopyBench.make();
    await bench.spoil(0);
    await bench.tail.backend.put(bench.file.key, await bench.local.get(bench.file.key));
    await rejectsWith(read(await bench.open(), bench.batch), "corrupt");
    assert.deepEqual(bench.fallbacks, [bench.file.key]);
  });

  test("says that changes are lost when the copy is bad and the main file gone", async () => {
    const bench = await CopyBench.make();
    await bench.spoil(bench.batch.bodyLength - 1);
    const file = await bench.open();
    await bench.tail.backend.delete(bench.file.key);
    await rejectsWith(read(file, bench.batch), "changes-lost");
  });

  test("serves two reads at once, and falls back once for both", async () => {
    const bench = await CopyBench.make();
    await bench.spoil(0);
    const file = await bench.open();
    const both = await Promise.all([read(file, bench.batch), read(file, bench.batch)]);
    assert.deepEqual(both, [WANTED, WANTED]);
    assert.deepEqual(bench.fallbacks, [bench.file.key]);
  });

  test("does not take the end of a read for a bad copy", async () => {
    const bench = await CopyBench.make();
    const abort = new AbortController();
    const file = await bench.open(abort.signal);
    abort.abort(new Error("enough"));
    await rejectsWith(read(file, bench.batch), "aborted");
    assert.deepEqual(bench.fallbacks, []);
  });

  test("reads the main file where there is no copy, or a short one", async () => {
    const bench = await CopyBench.make();
    const whole = await bench.local.get(bench.file.key);
    await bench.local.put(bench.file.key, whole.subarray(1));
    assert.deepEqual(await read(await bench.open(), bench.batch), WANTED);
    assert.deepEqual(bench.fallbacks, [bench.file.key]);
    await bench.local.delete(bench.file.key);
    assert.deepEqual(await read(await bench.open(), bench.batch), WANTED);
    assert.deepEqual(bench.fallbacks, [bench.file.key]);
    assert.equal(bench.local.keysOf("get").length, 1);
  });
});
