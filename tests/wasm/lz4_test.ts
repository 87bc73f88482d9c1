import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Codec, CODEC_BLOCK_BYTES_MAX, compressBound, SLOP_BYTES, Xxh64 } from "../../wasm/mod.ts";
import { SeededRandom } from "../doubles/seeded_random.ts";
import { compressByPeer, decompressByPeer, makeData } from "./_fuzz.ts";
import { decodeBlock } from "./_reference.ts";

const codec = Codec.create({ arenaBytes: 1024 * 1024 });

function compress(data: Uint8Array, by: Codec = codec): Uint8Array {
  const source = by.arenaStart, target = source + data.length + SLOP_BYTES;
  by.bytes.set(data, source);
  const written = by.compress(source, data.length, target);
  return by.bytes.slice(target, target + written);
}

/** Decompresses with source at the end of the memory and its slop full of `slop`. */
function decompress(block: Uint8Array, capacity: number, slop = 0): Uint8Array | undefined {
  const source = codec.arenaEnd - block.length - SLOP_BYTES, target = codec.arenaStart;
  codec.bytes.fill(slop, source);
  codec.bytes.set(block, source);
  const written = codec.decompress(source, block.length, target, capacity);
  return written < 0 ? undefined : codec.bytes.slice(target, target + written);
}

/** Length bytes after a token's half. */
function lengthBytes(length: number): number[] {
  if (length < 15) return [];
  const full = Math.floor((length - 15) / 255);
  return [...new Array(full).fill(255), (length - 15) % 255];
}

function sequence(literals: number, matched: number, distance: number): number[] {
  const token = Math.min(literals, 15) << 4 | Math.min(matched - 4, 15);
  const literalBytes = Array.from({ length: literals }, (_, index) => index * 37 & 255);
  return [
    token,
    ...lengthBytes(literals),
    ...literalBytes,
    distance & 255,
    distance >> 8,
    ...lengthBytes(matched - 4),
  ];
}

const END = 0;

describe("Codec.compress", () => {
  test("gives back any bytes through decompress", () => {
    const segment = fc.record({
      bytes: fc.uint8Array({ minLength: 1, maxLength: 60 }),
      times: fc.integer({ min: 1, max: 40 }),
    });
    fc.assert(fc.property(fc.array(segment, { maxLength: 12 }), (segments) => {
      const data = Uint8Array.from(
        segments.flatMap(({ bytes, times }) => new Array(times).fill([...bytes]).flat()),
      );
      const block = compress(data);
      assert.ok(block.length <= compressBound(data.length));
      assert.deepEqual(decompress(block, data.length), data);
    }));
  });

  test("gives back every length up to 300, one value and random bytes", () => {
    const random = new SeededRandom(5);
    for (let length = 0; length <= 300; length++) {
      const data = new Uint8Array(length).fill(7);
      assert.deepEqual(decompress(compress(data), length), data);
      random.fill(data);
      assert.deepEqual(decompress(compress(data), length), data);
    }
  });

  test("writes what another LZ4 reads, and reads what it writes", () => {
    for (let seed = 0; seed < 200; seed++) {
      const data = makeData(new SeededRandom(seed));
      if (data.length === 0) continue;
      const read = decompressByPeer(compress(data), data.length);
      assert.deepEqual(new Uint8Array(read), data, `seed ${seed}`);
      assert.deepEqual(decompress(compressByPeer(data), data.length), data, `seed ${seed}`);
    }
  });

  test("gives the same bytes on every runtime", () => {
    const hash = new Xxh64();
    for (let seed = 0; seed < 200; seed++) hash.update(compress(makeData(new SeededRandom(seed))));
    assert.equal(hash.digest(), 0x22da0267bbd511b4n);
  });

  test("takes the largest block", () => {
    const length = CODEC_BLOCK_BYTES_MAX;
    const large = Codec.create({ arenaBytes: 2 * (compressBound(length) + 2 * SLOP_BYTES) });
    const source = large.arenaStart, target = source + length + SLOP_BYTES;
    large.bytes.fill(3, source, source + length);
    large.bytes.set(new Uint8Array(1000).map((_, index) => index * index), source + length / 2);
    const wanted = large.xxh64(source, length);
    const written = large.compress(source, length, target);
    assert.ok(written < length / 200);
    large.bytes.fill(0, source, source + length);
    assert.equal(large.decompress(target, written, source, length), length);
    assert.equal(large.xxh64(source, length), wanted);
  });

  test("says by the size that random bytes are better stored plainly", () => {
    const data = new Uint8Array(64 * 1024);
    new SeededRandom(6).fill(data);
    assert.ok(compress(data).length >= data.length);
  });

  test("takes no place for its own match when bytes repeat after exactly 64 KiB", () => {
    const half = new Uint8Array(65536);
    const random = new SeededRandom(7);
    for (let at = 0; at < half.length; at += 24) {
      random.fill(half.subarray(at, at + 8));
      half.copyWithin(at + 8, Math.max(0, at - 200), at);
    }
    const data = new Uint8Array(4 * half.length);
    for (let at = 0; at < data.length; at += half.length) data.set(half, at);
    const decoded = decodeBlock(compress(data), data.length);
    assert.ok(decoded !== undefined);
    assert.deepEqual(decoded, data);
  });

  test("leaves the same bytes alone whatever was compressed before", () => {
    const data = makeData(new SeededRandom(8));
    const block = compress(data);
    compress(new Uint8Array(5000).map((_, index) => index % 7));
    assert.deepEqual(compress(data), block);
    assert.deepEqual(compress(data, Codec.create({ arenaBytes: 400_000 })), block);
  });
});

describe("Codec.decompress", () => {
  test("holds the capacity to the byte for every short literal run and match", () => {
    for (const distance of [1, 3, 15, 16, 17]) {
      for (let literals = 0; literals <= 36; literals++) {
        for (let matched = 4; matched <= 40; matched++) {
          const block = Uint8Array.from([
            ...sequence(20, 4, 1),
            ...sequence(literals, matched, distance),
            END,
          ]);
          const size = 24 + literals + matched;
          const what = `${literals} literals, ${matched} at ${distance}`;
          assert.deepEqual(decompress(block, size), decodeBlock(block, size), what);
          assert.equal(decompress(block, size)?.length, size, what);
          assert.equal(decompress(block, size - 1), undefined, what);
        }
      }
    }
  });

  const MALFORMED: Readonly<Record<string, number[]>> = {
    "nothing": [],
    "literal length bytes that do not end": [0xf0, ...new Array(40).fill(255)],
    "match length bytes that do not end": [0x1f, 1, 1, 0, ...new Array(40).fill(255)],
    "a match length that would wrap around": [0x1f, 1, 1, 0, ...new Array(4000).fill(255), 0, END],
    "literals that are missing": [0x80, 1, 2, 3],
    "half a distance": [0x10, 1, 1],
    "distance 0": [...sequence(20, 4, 0), END],
    "distance 0 with room": [...sequence(20, 4, 0), ...sequence(200, 9, 9), END],
    "a distance before the target": [...sequence(20, 4, 21), END],
    "a distance before the target with room": [...sequence(20, 40, 21), ...sequence(99, 9, 9), END],
    "an end after a match": sequence(20, 4, 1),
    "an end after a long match": sequence(14, 15 + 4 + 255, 1),
  };
  for (const [name, bytes] of Object.entries(MALFORMED)) {
    test(`refuses ${name}`, () => {
      for (const slop of [0, 1, 16, 255]) {
        for (const capacity of [0, 30, 1000, 400_000]) {
          assert.equal(decompress(Uint8Array.from(bytes), capacity, slop), undefined);
        }
      }
    });
  }

  test("takes an empty block of one byte", () => {
    assert.deepEqual(decompress(Uint8Array.of(END), 0), new Uint8Array(0));
  });

  test("refuses every cut of a block", () => {
    const data = new Uint8Array(400).map((_, index) => index % 50 < 25 ? index : 9);
    const block = compress(data);
    for (let length = 0; length < block.length; length++) {
      const cut = block.subarray(0, length);
      const found = decompress(cut, data.length);
      assert.deepEqual(found, decodeBlock(cut, data.length), `cut at ${length}`);
      if (found !== undefined) assert.ok(found.length < data.length);
    }
  });
});
