import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sameBytes } from "../../../src/engine/format/_bytes.ts";
import {
  batchSize,
  endFrameBytesMax,
  fitsOneBatch,
} from "../../../src/engine/format/batch_size.ts";
import { ChangeFileEncoder } from "../../../src/engine/format/change_file_encoder.ts";
import {
  batchesBackwards,
  ChangeFileScan,
  readBatchEndingAt,
  readHeader,
  readSets,
  verifyBatchContent,
} from "../../../src/engine/format/change_file_reader.ts";
import type { ChangeSet } from "../../../src/engine/format/change_set.ts";
import type { Change } from "../../../src/engine/types.ts";
import { SeededRandom } from "../../doubles/seeded_random.ts";
import {
  changeSet,
  encodeBatch,
  encodeFile,
  HEADER,
  join,
  MemorySource,
  OPTIONS,
  randomBytes,
  scanAll,
  smallSets,
} from "./_files.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** Change sets of all sizes, some of their data compressible, in chunks cut anywhere. */
function randomSets(random: SeededRandom): ChangeSet[] {
  return Array.from({ length: 1 + random.below(6) }, (_, i) => {
    const sizeMax = random.pick([0, 30, 300, 5_000, 60_000]);
    const changes = Array.from({ length: 1 + random.below(40) }, (): Change => {
      const length = random.below(sizeMax + 1);
      const data = random.chance(0.5)
        ? randomBytes(random, length)
        : new Uint8Array(length).fill(i);
      return { keyGroup: random.below(1000) - 1, data };
    });
    const set = changeSet(changes, {
      writer: `writer-${i}`,
      sequenceNumber: random.below(2 ** 32) * random.pick([1, 2 ** 20]),
      firstOffset: random.below(1000),
      epoch: random.below(4),
    });
    return { ...set, chunks: cutAnywhere(set.chunks[0], random) };
  });
}

function cutAnywhere(bytes: Uint8Array, random: SeededRandom): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = random.pick([0, 1, 100, 70_000, bytes.length]);
    chunks.push(bytes.subarray(at, at + length));
    at += length;
  }
  return chunks;
}

describe("ChangeFileEncoder", () => {
  test("makes files that every way of reading gives back", async () => {
    for (let seed = 1; seed <= 16; seed++) {
      const random = new SeededRandom(seed);
      const options = {
        compression: random.pick(["lz4", "none"] as const),
        blockBytes: random.pick([64 * KIB, 256 * KIB, MIB, 4 * MIB]),
      };
      const written = Array.from({ length: 1 + random.below(3) }, () => randomSets(random));
      const file = encodeFile(HEADER, written, options);
      const source = new MemorySource(file.bytes);
      const label = `seed ${seed}`;
      const { batches, end } = await scanAll(source);
      assert.deepEqual(batches, file.batches, label);
      assert.deepEqual(end, { kind: "end-frame", at: file.bytes.length }, label);
      const backwards = [];
      const last = batches[batches.length - 1].end;
      for await (const batch of batchesBackwards(source, last, await readHeader(source))) {
        backwards.unshift(batch);
      }
      assert.deepEqual(backwards, batches, label);
      for (const [i, batch] of batches.entries()) {
        const chosen = batch.sets.map((_, set) => set).filter(() => random.chance(0.6));
        await checkSets(source, batch, written[i], chosen, label);
        await verifyBatchContent(source, batch);
        const { storedBytesMax, bodyBytes, blocks } = batchSize(written[i], options);
        assert.ok(batch.end - batch.position <= storedBytesMax, label);
        assert.deepEqual([bodyBytes, blocks], [batch.bodyLength, batch.blocks.length], label);
      }
      assert.ok(
        file.parts[file.parts.length - 1].length <= endFrameBytesMax(batches.length),
        label,
      );
    }
  });

  test("makes a small batch in one piece, a large one in pieces of about 1 MiB", () => {
    for (const blockBytes of [64 * KIB, 256 * KIB, MIB, 4 * MIB]) {
      const encoder = new ChangeFileEncoder(HEADER, { compression: "none", blockBytes });
      encoder.begin();
      assert.equal(encodeBatch(encoder, smallSets()[0]).pieces.length, 1);
      const changes = Array.from(
        { length: 10 },
        () => ({ keyGroup: 0, data: new Uint8Array(MIB) }),
      );
      const large = changeSet(changes, { writer: "a", sequenceNumber: 1, firstOffset: 2 });
      const { pieces } = encodeBatch(encoder, [large]);
      assert.ok(pieces.length >= 7 && pieces.every((piece) => piece < 1.5 * MIB), String(pieces));
    }
  });

  test("counts what it gives out", () => {
    const encoder = new ChangeFileEncoder(HEADER, OPTIONS);
    let length = encoder.begin().length;
    assert.deepEqual([encoder.length, encoder.batchCount], [length, 0]);
    for (const sets of smallSets()) {
      const { bytes, batch } = encodeBatch(encoder, sets);
      assert.equal(batch.position, length);
      length += bytes.length;
      assert.deepEqual([encoder.length, encoder.lastIndexHash], [length, batch.indexHash]);
      assert.equal(batch.end, length);
    }
    assert.equal(encoder.batchCount, 3);
    length += encoder.end().length;
    assert.equal(encoder.length, length);
  });

  test("stores plainly what does not shrink", () => {
    const random = new SeededRandom(5);
    const data = randomBytes(random, 300 * KIB);
    const set = changeSet([{ keyGroup: 0, data }], {
      writer: "a",
      sequenceNumber: 0,
      firstOffset: 0,
    });
    const [batch] = encodeFile(HEADER, [[set]]).batches;
    const lengths = batch.blocks.map(({ length }) => length);
    assert.deepEqual(lengths.slice(0, 4), [64 * KIB, 64 * KIB, 64 * KIB, 64 * KIB]);
  });

  test("refuses as misuse what no file may hold, and makes nothing of it", () => {
    const encoder = new ChangeFileEncoder(HEADER, OPTIONS);
    encoder.begin();
    const [[good]] = smallSets();
    const huge = { length: 2 ** 30 } as Uint8Array;
    const bad: ChangeSet[][] = [
      [],
      [{ ...good, byteLength: good.byteLength + 1 }],
      [{ ...good, epoch: HEADER.epoch + 1 }],
      [{ ...good, count: 0 }],
      [{ ...good, writer: "a/b" }],
      [{ ...good, keyGroups: [5, 4] }],
      [{ ...good, keyGroupMin: -2 }],
      [{ ...good, keyGroupMax: 2 ** 31 }],
      [{ ...good, sequenceNumber: 1.5 }],
      [{ ...good, firstOffset: 2 ** 53 - 1 }],
      [{ ...good, byteLength: 2 ** 30, chunks: [huge] }],
    ];
    const before = encoder.length;
    for (const sets of bad) assert.throws(() => encoder.batch(sets).next(), RangeError);
    assert.equal(encoder.length, before);
    assert.equal(encodeBatch(encoder, [good]).batch.number, 0);
    assert.equal(fitsOneBatch(batchSize(bad[10], OPTIONS)), false);
  });

  test("refuses headers and block sizes out of range", () => {
    const [predecessor] = HEADER.predecessors;
    const bad = [
      { ...HEADER, store: "x" },
      { ...HEADER, job: "" },
      { ...HEADER, log: "a/b" },
      { ...HEADER, epoch: -1 },
      { ...HEADER, run: 2 ** 53 },
      { ...HEADER, uuid: HEADER.uuid.toUpperCase() + "0" },
      { ...HEADER, createdAtMs: 0.5 },
      { ...HEADER, predecessors: [{ ...predecessor, number: HEADER.number }] },
      { ...HEADER, predecessors: [{ ...predecessor, syncedLength: -1 }] },
    ];
    for (const header of bad) {
      assert.throws(
        () => new ChangeFileEncoder(header, OPTIONS),
        RangeError,
        JSON.stringify(header),
      );
    }
    for (const blockBytes of [0, 1000, 128 * KIB, 8 * MIB]) {
      assert.throws(() => new ChangeFileEncoder(HEADER, { ...OPTIONS, blockBytes }), RangeError);
    }
  });

  test("goes header, batches, end, and not on after a batch that was left", () => {
    const encoder = new ChangeFileEncoder(HEADER, OPTIONS);
    const [sets] = smallSets();
    assert.throws(() => encoder.batch(sets).next(), TypeError);
    assert.throws(() => encoder.end(), TypeError);
    encoder.begin();
    assert.throws(() => encoder.begin(), TypeError);
    const left = encoder.batch(sets);
    left.next();
    assert.throws(() => encoder.batch(sets).next(), TypeError);
    left.return(undefined as never);
    assert.throws(() => encoder.batch(sets).next(), TypeError);
    assert.throws(() => encoder.end(), TypeError);
  });

  test("goes on as if a batch had never been begun that was taken back", () => {
    const [first, second] = smallSets();
    const encoder = new ChangeFileEncoder(HEADER, OPTIONS);
    encoder.begin();
    encoder.withdraw();
    const left = encoder.batch(first);
    left.next();
    left.return(undefined as never);
    encoder.withdraw();
    const other = new ChangeFileEncoder(HEADER, OPTIONS);
    other.begin();
    for (const sets of [second, first]) {
      const pieces = [encoder, other].map((one) => [...one.batch(sets)].map((piece) => [...piece]));
      assert.deepEqual(pieces[0], pieces[1]);
    }
    assert.deepEqual(encoder.end(), other.end());
  });

  test("makes a file that never got its end readable up to its last batch", async () => {
    const { parts, batches } = encodeFile(HEADER, smallSets());
    const bytes = join(parts.slice(0, -1));
    const { end } = await scanAll(new MemorySource(bytes));
    assert.deepEqual(end, { kind: "length", at: batches[2].end });
    const scan = new ChangeFileScan(new MemorySource(bytes), { to: batches[1].end });
    assert.throws(() => scan.end, TypeError);
    for await (const batch of scan.batches()) assert.ok(batch.number < 2);
    assert.deepEqual(scan.end, { kind: "length", at: batches[1].end });
    assert.deepEqual(scan.header, HEADER);
    assert.deepEqual(await readBatchEndingAt(new MemorySource(bytes), batches[1].end), batches[1]);
  });
});

async function checkSets(
  source: MemorySource,
  batch: { sets: Parameters<typeof readSets>[2] } & Parameters<typeof readSets>[1],
  written: readonly ChangeSet[],
  chosen: readonly number[],
  label: string,
): Promise<void> {
  const found = new Map<number, { bytes: Uint8Array[]; count: number }>();
  for await (const slice of readSets(source, batch, chosen.map((set) => batch.sets[set]))) {
    const index = batch.sets.indexOf(slice.entry);
    const so = found.get(index) ?? { bytes: [], count: 0 };
    assert.equal(slice.firstOffset, slice.entry.firstOffset + so.count, label);
    so.bytes.push(slice.bytes.slice());
    so.count += slice.count;
    found.set(index, so);
  }
  assert.deepEqual([...found.keys()], chosen, label);
  for (const [index, { bytes, count }] of found) {
    assert.equal(count, written[index].count, label);
    assert.ok(sameBytes(join(bytes), join(written[index].chunks)), label);
  }
}
