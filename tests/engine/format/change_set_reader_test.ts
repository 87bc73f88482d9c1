import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../../../src/engine/errors.ts";
import { LZ4_HEADER_BYTES } from "../../../src/engine/format/_lz4_frame.ts";
import { readSets, verifyBatchContent } from "../../../src/engine/format/change_file_reader.ts";
import { scanChanges } from "../../../src/engine/format/change_scan.ts";
import type { Batch } from "../../../src/engine/format/change_file.ts";
import type { ChangeSet } from "../../../src/engine/format/change_set.ts";
import { SeededRandom } from "../../doubles/seeded_random.ts";
import { changeSet, encodeFile, HEADER, MemorySource, OPTIONS, randomBytes } from "./_files.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

function setOf(
  writer: string,
  lengths: readonly number[],
  random = new SeededRandom(1),
): ChangeSet {
  const changes = lengths.map((length, i) => ({ keyGroup: i, data: randomBytes(random, length) }));
  return changeSet(changes, { writer, sequenceNumber: 0, firstOffset: 100 });
}

function fileOf(sets: ChangeSet[]): { source: MemorySource; batch: Batch } {
  const { bytes, batches } = encodeFile(HEADER, [sets], { ...OPTIONS, compression: "none" });
  return { source: new MemorySource(bytes), batch: batches[0] };
}

describe("readSets", () => {
  test("reads only the blocks that it needs", async () => {
    const tenBlocks = Array.from({ length: 640 }, () => KIB);
    const { source, batch } = fileOf(["a", "b", "c"].map((writer) => setOf(writer, tenBlocks)));
    const [, b] = batch.sets;
    for await (const slice of readSets(source, batch, [b])) assert.equal(slice.entry, b);
    const stored = 64 * KIB + 4;
    const first = Math.floor(b.bodyOffset / (64 * KIB));
    const last = Math.floor((b.bodyOffset + b.headerLength + b.byteLength - 1) / (64 * KIB));
    const start = batch.position + LZ4_HEADER_BYTES;
    assert.deepEqual(source.reads, [{
      from: start + first * stored,
      to: start + (last + 1) * stored,
    }]);
  });

  test("reads a block once for all the change sets in it", async () => {
    const { source, batch } = fileOf(["a", "b", "c", "d"].map((writer) => setOf(writer, [5, 5])));
    let count = 0;
    for await (const slice of readSets(source, batch, batch.sets)) count += slice.count;
    assert.deepEqual([count, source.reads.length], [8, 1]);
    for await (const _slice of readSets(source, batch, [])) assert.fail("there is no slice");
  });

  test("passes over blocks between change sets", async () => {
    const { source, batch } = fileOf([setOf("a", [5]), setOf("b", [MIB]), setOf("c", [5])]);
    const found: string[] = [];
    for await (const slice of readSets(source, batch, [batch.sets[0], batch.sets[2]])) {
      found.push(`${slice.entry.writer} ${slice.count}`);
    }
    assert.deepEqual(found, ["a 1", "c 1"]);
    assert.equal(source.reads.length, 2);
  });

  test("gives slices of whole changes, about 1 MiB at most unless one is larger", async () => {
    const lengths = [
      10,
      3 * MIB,
      0,
      ...Array.from({ length: 5000 }, (_, i) => i % 700),
      MIB - 5,
      7,
    ];
    const set = setOf("a", lengths);
    const { source, batch } = fileOf([set]);
    const sizes: number[] = [];
    let count = 0;
    for await (const slice of readSets(source, batch, batch.sets)) {
      assert.equal(slice.firstOffset, 100 + count);
      const scan = scanChanges(slice.bytes);
      assert.equal(scan.count, slice.count);
      for (let i = 0; i < scan.count; i++) {
        assert.equal(scan.dataEnd(i) - scan.dataStart(i), lengths[count + i]);
        assert.equal(scan.keyGroup(i), count + i);
      }
      if (slice.count > 1) assert.ok(slice.bytes.length <= MIB, `${slice.bytes.length}`);
      sizes.push(slice.count);
      count += slice.count;
    }
    assert.equal(count, lengths.length);
    assert.ok(sizes.length < 8, `${sizes}`);
  });

  test("wants change sets in the batch's order", async () => {
    const { source, batch } = fileOf([setOf("a", [5]), setOf("b", [5])]);
    await assert.rejects(
      readSets(source, batch, [batch.sets[1], batch.sets[0]]).next(),
      RangeError,
    );
  });

  test("says which block is bad, and gives what comes before it", async () => {
    const lengths = Array.from({ length: 4000 }, () => KIB);
    const { source, batch } = fileOf([setOf("a", lengths)]);
    const bad = 40;
    const at = batch.position + LZ4_HEADER_BYTES + bad * (64 * KIB + 4) + 1000;
    source.bytes[at] ^= 1;
    let count = 0;
    await assert.rejects(async () => {
      for await (const slice of readSets(source, batch, batch.sets)) count += slice.count;
    }, (error: unknown) => {
      assert.ok(hasCode(error, "corrupt"));
      assert.match(error.message, /block 40 of batch 0 at bytes \d+ to \d+ of "jobs/);
      const { from, to } = error.details as { from: number; to: number };
      assert.ok(from <= at && at < to && to - from === 64 * KIB + 4);
      return true;
    });
    assert.ok(count > 1000 && count < 40 * 64, `${count}`);
    await assert.rejects(verifyBatchContent(source, batch), (error) => hasCode(error, "corrupt"));
  });

  test("can be left at any time, and by many at once", async () => {
    const { source, batch } = fileOf([setOf("a", Array.from({ length: 4000 }, () => KIB))]);
    const readers = Array.from({ length: 6 }, () => readSets(source, batch, batch.sets));
    const firsts = await Promise.all(readers.map((reader) => reader.next()));
    for (const first of firsts) assert.equal(first.value?.firstOffset, 100);
    await Promise.all(readers.slice(0, 4).map((reader) => reader.return()));
    for (const reader of readers.slice(4)) {
      let last = 0;
      for await (const slice of reader) last = slice.firstOffset + slice.count;
      assert.equal(last, 4100);
    }
  });
});
