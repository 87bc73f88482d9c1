import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  adopt,
  CHUNK_BYTES_MAX,
  giveBack,
  moved,
  takeWhole,
} from "../../../src/engine/changelog/_chunk_memory.ts";
import { ChangeSetBuilder } from "../../../src/engine/changelog/change_set_builder.ts";
import { encodeChanges } from "../../../src/engine/format/change_input.ts";
import type { ChangeSet } from "../../../src/engine/format/change_set.ts";
import type { Change } from "../../../src/engine/types.ts";
import { SeededRandom } from "../../doubles/seeded_random.ts";
import { bytesOf, changesOf } from "../_engine.ts";

const PLACE = { writer: "totals", keyGroups: [0, 127], epoch: 2, sequenceNumber: 5 } as const;

function joined(set: ChangeSet): number[] {
  return set.chunks.flatMap((chunk) => [...chunk]);
}

describe("ChangeSetBuilder", () => {
  test("is empty at first", () => {
    const builder = new ChangeSetBuilder(7);
    assert.equal(builder.count, 0);
    assert.equal(builder.byteLength, 0);
    assert.equal(builder.firstOffset, 7);
  });

  test("says of the set what is in it, and where it belongs", () => {
    const builder = new ChangeSetBuilder(7);
    builder.append(5, bytesOf("a"));
    builder.append(-1, bytesOf("meta"));
    builder.appendEncoded(encodeChanges([{ keyGroup: 900, data: bytesOf("b") }]));
    const { chunks: _, byteLength, ...facts } = builder.build(PLACE);
    assert.deepEqual(facts, {
      ...PLACE,
      firstOffset: 7,
      count: 3,
      keyGroupMin: -1,
      keyGroupMax: 900,
    });
    assert.equal(byteLength, 4 + 7 + 6);
  });

  test("copies what append is given, and takes over what is encoded", () => {
    const builder = new ChangeSetBuilder(0);
    const data = bytesOf("abc");
    builder.append(0, data);
    data.fill(0);
    const encoded = changesOf("def");
    builder.appendEncoded(encoded);
    const set = builder.build(PLACE);
    assert.deepEqual(joined(set), [...changesOf("abc", "def").bytes]);
    assert.equal(set.chunks.at(-1), encoded.bytes);
  });

  test("keeps the order of both kinds of appends", () => {
    const builder = new ChangeSetBuilder(0);
    builder.appendEncoded(changesOf("0"));
    builder.append(0, bytesOf("1"));
    builder.append(0, bytesOf("2"));
    builder.appendEncoded(changesOf("3", "4"));
    builder.append(0, bytesOf("5"));
    assert.deepEqual(joined(builder.build(PLACE)), [
      ...changesOf("0", "1", "2", "3", "4", "5").bytes,
    ]);
  });

  test("begins with a large chunk after a large set, and with a small one after a small set", () => {
    const builder = new ChangeSetBuilder(0);
    const firstChunkBytes = (): number => {
      builder.append(0, bytesOf("a"));
      return builder.build(PLACE).chunks[0].buffer.byteLength;
    };
    assert.ok(firstChunkBytes() < CHUNK_BYTES_MAX);
    builder.append(0, new Uint8Array(8 * CHUNK_BYTES_MAX));
    builder.build(PLACE);
    assert.equal(firstChunkBytes(), CHUNK_BYTES_MAX);
    assert.ok(firstChunkBytes() < CHUNK_BYTES_MAX);
  });

  test("takes little memory for changes that stand between encoded ones", () => {
    const builder = new ChangeSetBuilder(0);
    for (let i = 0; i < 50; i++) {
      builder.append(0, bytesOf("a"));
      builder.appendEncoded(changesOf("b"));
    }
    const arrays = new Set(builder.build(PLACE).chunks.map(({ buffer }) => buffer));
    assert.ok(Math.max(...[...arrays].map(({ byteLength }) => byteLength)) < CHUNK_BYTES_MAX / 8);
  });

  for (const seed of [1, 2, 3]) {
    test(`makes the bytes that the encoder makes, for changes of any size (seed ${seed})`, () => {
      const random = new SeededRandom(seed);
      const changes = Array.from({ length: 400 }, (): Change => {
        const data = new Uint8Array(random.chance(0.02) ? random.below(400_000) : random.below(90));
        return { keyGroup: random.below(70_000) - 1, data };
      });
      const builder = new ChangeSetBuilder(0);
      for (const { keyGroup, data } of changes) builder.append(keyGroup, data);
      const set = builder.build(PLACE);
      const encoded = encodeChanges(changes);
      assert.equal(set.byteLength, encoded.bytes.length);
      assert.ok(set.chunks.every((chunk) => chunk.length > 0));
      let at = 0;
      for (const chunk of set.chunks) {
        assert.deepEqual(chunk, encoded.bytes.subarray(at, at += chunk.length));
      }
      assert.equal(at, encoded.bytes.length);
      const { count, keyGroupMin, keyGroupMax } = encoded;
      assert.deepEqual([set.count, set.keyGroupMin, set.keyGroupMax], [
        count,
        keyGroupMin,
        keyGroupMax,
      ]);
    });
  }

  test("holds little memory for a small set", () => {
    const builder = new ChangeSetBuilder(0);
    builder.append(0, bytesOf("a"));
    const [chunk] = builder.build(PLACE).chunks;
    assert.ok(chunk.buffer.byteLength <= 8192, `${chunk.buffer.byteLength} bytes`);
  });

  test("keeps sets apart that are built at the same time and share memory", () => {
    const random = new SeededRandom(4);
    const builders = Array.from({ length: 20 }, () => new ChangeSetBuilder(0));
    const changes: Change[][] = builders.map(() => []);
    for (let i = 0; i < 500; i++) {
      const one = random.below(builders.length);
      const change = { keyGroup: one, data: new Uint8Array(random.below(300)).fill(one) };
      changes[one].push(change);
      builders[one].append(change.keyGroup, change.data);
      if (!random.chance(0.1)) continue;
      const other = random.below(builders.length);
      assert.deepEqual(joined(builders[other].build(PLACE)), [
        ...encodeChanges(changes[other]).bytes,
      ]);

      changes[other] = [];
    }
  });
});

describe("Memory of large chunks", () => {
  /** Changes that fill a large chunk and begin another. */
  const filling = Array.from({ length: 70 }, () => ({
    keyGroup: 0,
    data: new Uint8Array(9000).fill(1),
  }));

  function built(fill: number): ChangeSet {
    const builder = new ChangeSetBuilder(0);
    for (const { keyGroup, data } of filling) builder.append(keyGroup, data.fill(fill));
    return builder.build(PLACE);
  }

  function largeBuffers(set: ChangeSet): ArrayBufferLike[] {
    return set.chunks.map(({ buffer }) => buffer)
      .filter(({ byteLength }) => byteLength === CHUNK_BYTES_MAX);
  }

  test("is used again when it was given back, once", () => {
    const first = built(1);
    const buffers = largeBuffers(first);
    assert.ok(buffers.length > 0);
    giveBack(first.chunks);
    giveBack(first.chunks);
    const [second, third] = [built(2), built(3)];
    assert.deepEqual(new Set(largeBuffers(second)), new Set(buffers));
    for (const buffer of largeBuffers(third)) assert.ok(!buffers.includes(buffer));
    const encoded = encodeChanges(filling.map(({ keyGroup, data }) => (
      { keyGroup, data: data.slice().fill(2) }
    )));
    assert.deepEqual(joined(second), [...encoded.bytes]);
  });

  test("is never what a caller owns", () => {
    const builder = new ChangeSetBuilder(0);
    const bytes = new Uint8Array(CHUNK_BYTES_MAX);
    builder.appendEncoded({ bytes, count: 1, keyGroupMin: 0, keyGroupMax: 0 });
    giveBack(builder.build(PLACE).chunks);
    assert.ok(!largeBuffers(built(4)).includes(bytes.buffer));
  });

  /** A set of one change set that was read into memory as a whole. */
  function received(bytes: Uint8Array): ChangeSet {
    const builder = new ChangeSetBuilder(0);
    builder.appendEncoded({ bytes, count: 1, keyGroupMin: 0, keyGroupMax: 0 });
    return builder.build(PLACE);
  }

  test("for what comes encoded is used again, once, by what is as large", () => {
    const first = takeWhole(100_000);
    assert.equal(first.length, 100_000);
    const set = received(first);
    giveBack(set.chunks);
    giveBack(set.chunks);
    const [second, third] = [takeWhole(99_000), takeWhole(100_000)];
    assert.equal(second.buffer, first.buffer);
    assert.equal(second.length, 99_000);
    assert.notEqual(third.buffer, first.buffer);
  });

  test("for what comes encoded is not used again where a part of it may be elsewhere", () => {
    const whole = takeWhole(300_000);
    giveBack(received(whole.subarray(0, 200_000)).chunks);
    giveBack(received(whole.subarray(200_000)).chunks);
    assert.notEqual(takeWhole(300_000).buffer, whole.buffer);
  });

  test("that a runtime made is let go of when it comes back whole, where the runtime can", () => {
    const [whole, part] = [new Uint8Array(100_000), new Uint8Array(200_000)];
    assert.equal(adopt(whole), whole);
    adopt(part.subarray(100_000));
    giveBack(received(part.subarray(100_000)).chunks);
    giveBack(received(whole.subarray(1)).chunks);
    assert.deepEqual([whole.length, part.length], [100_000, 200_000]);
    giveBack(received(whole).chunks);
    const canLetGo = "transfer" in ArrayBuffer.prototype;
    assert.equal(whole.length, canLetGo ? 0 : 100_000);
    assert.notEqual(takeWhole(100_000).buffer, whole.buffer);
  });

  test("is let go of, too, when it lies in another buffer by then", () => {
    const first = takeWhole(5_000_000);
    const second = new Uint8Array(first.buffer.slice(0));
    moved(first.buffer, second.buffer);
    giveBack(received(second).chunks);
    assert.equal(first.length, 5_000_000);
    assert.equal(second.length, "transfer" in ArrayBuffer.prototype ? 0 : 5_000_000);
  });

  test("is used again, too, when it lies in another buffer by then", () => {
    const first = takeWhole(150_000);
    const { buffer } = new Uint8Array(first.buffer.slice(0));
    moved(first.buffer, buffer);
    giveBack(received(first).chunks);
    giveBack(received(new Uint8Array(buffer, 0, 150_000)).chunks);
    assert.equal(takeWhole(150_000).buffer, buffer);
    assert.notEqual(takeWhole(150_000).buffer, first.buffer);
  });

  test("for what comes encoded is an eighth larger at most, and bounded where nobody has it", () => {
    const sizes = [1, 32 * 1024, 33_000, 65_537, 1_000_001, 4 * 1024 * 1024, 9_000_000];
    for (const bytes of sizes) {
      const { length, buffer } = takeWhole(bytes);
      assert.equal(length, bytes);
      assert.ok(buffer.byteLength <= bytes * 9 / 8, `${buffer.byteLength} for ${bytes}`);
    }
    const many = Array.from({ length: 20 }, () => takeWhole(2_000_000));
    const buffers = new Set(many.map(({ buffer }) => buffer));
    for (const bytes of many) giveBack(received(bytes).chunks);
    const again = Array.from({ length: 20 }, () => takeWhole(2_000_000));
    const kept = again.filter(({ buffer }) => buffers.has(buffer));
    assert.ok(kept.length > 0 && kept.length * 2_000_000 <= 32 * 1024 * 1024, `${kept.length}`);
  });

  test("stays bounded when all of a size was taken again before others come back", () => {
    const fill = Array.from({ length: 10 }, () => takeWhole(4_000_000));
    for (let round = 0; round < 20; round++) {
      // The oldest size stands first, and nothing is left of it.
      giveBack(received(takeWhole(3_000_000)).chunks);
      takeWhole(3_000_000);
      for (const bytes of fill.splice(0)) giveBack(received(bytes).chunks);
      for (let i = 0; i < 10; i++) fill.push(takeWhole(4_000_000));
    }
    const buffers = new Set(fill.map(({ buffer }) => buffer));
    for (const bytes of fill) giveBack(received(bytes).chunks);
    const again = Array.from({ length: 10 }, () => takeWhole(4_000_000));
    const kept = again.filter(({ buffer }) => buffers.has(buffer));
    assert.ok(kept.length > 0 && kept.length * 4_000_000 <= 32 * 1024 * 1024, `${kept.length}`);
  });
});
