import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Codec, HASH_STATE_BYTES, Xxh64, xxh64 } from "../../wasm/mod.ts";
import { SeededRandom } from "../doubles/seeded_random.ts";
import { referenceXxh32, referenceXxh64 } from "./_reference.ts";

const encoder = new TextEncoder();
const codec = Codec.create({ arenaBytes: 256 * 1024 });
const state = codec.arenaStart;
const source = codec.arenaStart + HASH_STATE_BYTES;

function put(bytes: Uint8Array): void {
  codec.bytes.set(bytes, source);
}

/** The bytes that the xxHash project checks its own implementations with. */
function sanityBytes(length: number): Uint8Array {
  let generator = 2654435761n;
  return Uint8Array.from({ length }, () => {
    const byte = Number(generator >> 56n);
    generator = BigInt.asUintN(64, generator * 11400714785074694797n);
    return byte;
  });
}

const QUESTION = encoder.encode("Nobody inspects the spammish repetition");
const KNOWN: readonly { name: string; bytes: Uint8Array; hash32: number; hash64: bigint }[] = [
  { name: "nothing", bytes: sanityBytes(0), hash32: 0x02cc5d05, hash64: 0xef46db3751d8e999n },
  { name: "1 byte", bytes: sanityBytes(1), hash32: 0xcf65b03e, hash64: 0xe934a84adb052768n },
  { name: "14 bytes", bytes: sanityBytes(14), hash32: 0x1208e7e2, hash64: 0x8282dcc4994e35c8n },
  { name: "222 bytes", bytes: sanityBytes(222), hash32: 0x5bd11dbd, hash64: 0xb641ae8cb691c174n },
  { name: "abc", bytes: encoder.encode("abc"), hash32: 0x32d153ff, hash64: 0x44bc2cf5ad770999n },
  { name: "a sentence", bytes: QUESTION, hash32: 0xe2293b2f, hash64: 0xfbcea83c8a378bf1n },
];

describe("XXH32 and XXH64", () => {
  for (const { name, bytes, hash32, hash64 } of KNOWN) {
    test(`give the known answers for ${name}`, () => {
      put(bytes);
      assert.equal(codec.xxh32(source, bytes.length), hash32);
      assert.equal(codec.xxh64(source, bytes.length), hash64);
      assert.equal(referenceXxh32(bytes), hash32);
      assert.equal(referenceXxh64(bytes), hash64);
      assert.equal(xxh64(bytes), hash64);
    });
  }

  test("agree with the plain reference at every length up to 300", () => {
    const bytes = new Uint8Array(300);
    new SeededRandom(1).fill(bytes);
    put(bytes);
    for (let length = 0; length <= bytes.length; length++) {
      const part = bytes.subarray(0, length);
      assert.equal(codec.xxh32(source, length), referenceXxh32(part), `length ${length}`);
      assert.equal(codec.xxh64(source, length), referenceXxh64(part), `length ${length}`);
    }
  });

  test("do not depend on where the bytes lie", () => {
    const bytes = sanityBytes(222);
    for (let shift = 0; shift < 32; shift++) {
      codec.bytes.set(bytes, source + shift);
      assert.equal(codec.xxh32(source + shift, 222), 0x5bd11dbd);
      assert.equal(codec.xxh64(source + shift, 222), 0xb641ae8cb691c174n);
    }
  });
});

describe("streaming hashes", () => {
  const pieces = fc.array(fc.nat({ max: 90 }), { maxLength: 40 });

  test("equal the hash in one call, however the bytes are cut", () => {
    const bytes = new Uint8Array(90 * 40);
    new SeededRandom(2).fill(bytes);
    put(bytes);
    fc.assert(fc.property(pieces, (lengths) => {
      const other = state + HASH_STATE_BYTES + bytes.length;
      codec.xxh32Begin(state);
      codec.xxh64Begin(other);
      let at = source;
      for (const length of lengths) {
        codec.xxh32Update(state, at, length);
        codec.xxh64Update(other, at, length);
        at += length;
        assert.equal(codec.xxh32Digest(state), codec.xxh32(source, at - source));
        assert.equal(codec.xxh64Digest(other), codec.xxh64(source, at - source));
      }
    }));
  });

  test("stay inside their state", () => {
    const bytes = sanityBytes(222);
    for (const begin of ["xxh32Begin", "xxh64Begin"] as const) {
      const update = begin === "xxh32Begin" ? "xxh32Update" : "xxh64Update";
      codec.bytes.fill(0xa5, state, state + 3 * HASH_STATE_BYTES);
      const place = state + HASH_STATE_BYTES;
      codec.bytes.set(bytes, place + 2 * HASH_STATE_BYTES);
      codec[begin](place);
      for (let at = 0; at < 222; at++) codec[update](place, place + 2 * HASH_STATE_BYTES + at, 1);
      const around = [
        ...codec.bytes.subarray(state, place),
        ...codec.bytes.subarray(place + HASH_STATE_BYTES, place + 2 * HASH_STATE_BYTES),
      ];
      assert.ok(around.every((byte) => byte === 0xa5), begin);
    }
  });

  test("count their bytes in 64 bits", () => {
    const length = 128 * 1024;
    codec.bytes.fill(0, source, source + length);
    codec.xxh64Begin(state);
    codec.xxh64Update(state, source, length);
    const total = new DataView(codec.bytes.buffer).getBigUint64(state + 64, true);
    assert.equal(total, BigInt(length));
    const before = codec.xxh64Digest(state);
    new DataView(codec.bytes.buffer).setBigUint64(state + 64, total + 2n ** 32n, true);
    assert.notEqual(codec.xxh64Digest(state), before);
  });
});

describe("Xxh64 and xxh64 of ordinary arrays", () => {
  test("xxh64 takes parts as if they were one array", () => {
    const bytes = sanityBytes(222);
    const parts = [bytes.subarray(0, 1), bytes.subarray(1, 100), bytes.subarray(100)];
    assert.equal(xxh64(...parts), 0xb641ae8cb691c174n);
    assert.equal(xxh64(), 0xef46db3751d8e999n);
  });

  test("xxh64 takes arrays larger than its own memory", () => {
    const bytes = new Uint8Array(200_000);
    new SeededRandom(3).fill(bytes);
    put(bytes);
    assert.equal(xxh64(bytes), codec.xxh64(source, bytes.length));
  });

  test("Xxh64 keeps several hashes under way apart", () => {
    const bytes = new Uint8Array(1000);
    new SeededRandom(4).fill(bytes);
    const hashes = Array.from({ length: 5 }, () => new Xxh64());
    for (let at = 0; at < 1000; at += 37) {
      hashes.forEach((hash, index) => hash.update(bytes.subarray(at + index, at + index + 37)));
      assert.notEqual(xxh64(bytes.subarray(at)), 0n);
    }
    hashes.forEach((hash, index) => {
      const taken = [];
      for (let at = 0; at < 1000; at += 37) taken.push(bytes.subarray(at + index, at + index + 37));
      assert.equal(hash.digest(), xxh64(...taken));
    });
  });

  test("Xxh64 can be read and goes on", () => {
    const bytes = sanityBytes(222);
    const hash = new Xxh64().update(bytes.subarray(0, 14));
    assert.equal(hash.digest(), 0x8282dcc4994e35c8n);
    assert.equal(hash.digest(), 0x8282dcc4994e35c8n);
    assert.equal(hash.update(bytes.subarray(14)).digest(), 0xb641ae8cb691c174n);
  });
});
