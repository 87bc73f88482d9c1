import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  acquireCodec,
  BLOCK_ENTRY_BYTES,
  BLOCK_WORD_BYTES,
  type BlocksCall,
  Codec,
  CODEC_BLOCK_BYTES_MAX,
  compressBound,
  HASH_STATE_BYTES,
  releaseCodec,
  SLOP_BYTES,
} from "../../wasm/mod.ts";

import { SeededRandom } from "../doubles/seeded_random.ts";

const MIB = 1024 * 1024;

describe("Codec.create", () => {
  test("gives an aligned arena of at least the wanted size, in one memory", () => {
    for (const arenaBytes of [0, 1, 65535, 65536, 65537, MIB]) {
      const codec = Codec.create({ arenaBytes });
      assert.equal(codec.arenaStart % 64, 0);
      assert.equal(codec.arenaEnd % 64, 0);
      assert.ok(codec.arenaEnd - codec.arenaStart >= arenaBytes);
      assert.equal(codec.arenaEnd, codec.bytes.length);
      assert.equal(codec.bytes.byteOffset, 0);
    }
  });

  test("has room by default for a block of 4 MiB, its bound and 8 MiB of output", () => {
    const { arenaStart, arenaEnd } = Codec.create();
    const bound = compressBound(4 * MIB);
    assert.ok(arenaEnd - arenaStart >= 12 * MIB + bound + 3 * SLOP_BYTES);
  });

  test("refuses sizes that are none", () => {
    for (const arenaBytes of [-1, 0.5, NaN, 2 ** 31]) {
      assert.throws(() => Codec.create({ arenaBytes }), RangeError);
    }
  });

  test("keeps instances apart", () => {
    const first = Codec.create({ arenaBytes: 1 }), second = Codec.create({ arenaBytes: 1 });
    first.bytes[first.arenaStart] = 1;
    assert.equal(second.bytes[second.arenaStart], 0);
  });
});

for (const isShared of [false, true]) {
  describe(`Codec.encodeBlocks, ${isShared ? "in shared memory" : "in memory of its own"}`, () => {
    const KIB = 1024;
    const codec = Codec.create({ isShared });
    const contentState = codec.arenaStart;
    const frameState = contentState + HASH_STATE_BYTES;
    const entries = frameState + HASH_STATE_BYTES;
    const source = entries + 64 * BLOCK_ENTRY_BYTES;
    const call = (length: number, blockBytes: number, isCompressed = true): BlocksCall => {
      const target = source + length + SLOP_BYTES;
      codec.xxh32Begin(contentState);
      codec.xxh64Begin(frameState);
      return {
        source,
        length,
        blockBytes,
        target,
        contentState,
        frameState,
        entries,
        isCompressed,
      };
    };
    /** Every other block can be compressed. */
    const fill = (length: number, blockBytes: number): void => {
      const random = new SeededRandom(length);
      for (let at = 0; at < length; at += blockBytes) {
        const part = codec.bytes.subarray(source + at, source + Math.min(at + blockBytes, length));
        if (at / blockBytes % 2 === 0) part.fill(7);
        else random.fill(part);
      }
    };

    for (const blockBytes of [64 * KIB, 256 * KIB]) {
      for (const length of [1, 1000, blockBytes, blockBytes + 1, 5 * blockBytes - 3]) {
        for (const isCompressed of [true, false]) {
          test(`${length} bytes in blocks of ${blockBytes}, compressed: ${isCompressed}`, () => {
            fill(length, blockBytes);
            const blocks = call(length, blockBytes, isCompressed);
            const end = codec.encodeBlocks(blocks);
            assert.ok(end <= blocks.target + Codec.blocksBound(length, blockBytes));
            assert.equal(codec.xxh32Digest(contentState), codec.xxh32(source, length));
            const { target } = blocks;
            assert.equal(codec.xxh64Digest(frameState), codec.xxh64(target, end - target));
            const view = new DataView(codec.bytes.buffer);
            const scratch = end + SLOP_BYTES;
            let at = target;
            for (let from = 0, i = 0; from < length; from += blockBytes, i++) {
              const plainBytes = Math.min(blockBytes, length - from);
              const word = view.getUint32(at, true);
              const stored = word & 0x7fffffff;
              const isPlain = word !== stored;
              assert.equal(isPlain, !isCompressed || i % 2 === 1 || plainBytes < 10);
              assert.equal(view.getUint32(entries + 16 * i, true), stored);
              assert.equal(
                view.getBigUint64(entries + 16 * i + 8, true),
                codec.xxh64(at, BLOCK_WORD_BYTES + stored),
              );
              at += BLOCK_WORD_BYTES;
              const found = isPlain ? at : scratch;
              if (!isPlain) {
                assert.equal(codec.decompress(at, stored, scratch, plainBytes), plainBytes);
              }
              const wanted = codec.bytes.slice(source + from, source + from + plainBytes);
              assert.deepEqual(codec.bytes.slice(found, found + plainBytes), wanted);
              at += stored;
            }
            assert.equal(at, end);
          });
        }
      }
    }

    test("refuses what does not lie in the arena", () => {
      const good = call(64 * KIB, 64 * KIB);
      const far = codec.arenaEnd - 1;
      for (
        const part of [
          { source: 0 },
          { source: far },
          { target: far },
          { length: -1 },
          { length: 2 ** 30 },
          { contentState: far },
          { frameState: 0 },
          { entries: far },
        ]
      ) {
        assert.throws(() => codec.encodeBlocks({ ...good, ...part }), RangeError);
        assert.throws(() => codec.divideBlocks({ ...good, ...part }), RangeError);
      }
      for (const blockBytes of [0, -1, 0.5, NaN]) {
        assert.throws(() => codec.encodeBlocks({ ...good, blockBytes }), RangeError);
        assert.throws(() => codec.divideBlocks({ ...good, blockBytes }), RangeError);
      }
      // Of two blocks the first lies in the arena, and the second does not.
      const two = { ...good, length: 128 * KIB };
      for (
        const part of [
          { source: codec.arenaEnd - 96 * KIB, target: good.source },
          { entries: codec.arenaEnd - BLOCK_ENTRY_BYTES },
        ]
      ) assert.throws(() => codec.divideBlocks({ ...two, ...part }), RangeError);
    });

    // Only in shared memory are there two who could make the two calls.
    for (const blockBytes of isShared ? [64 * KIB, 256 * KIB] : []) {
      for (const length of [blockBytes + 1, 3 * blockBytes, 5 * blockBytes - 3]) {
        for (const isCompressed of [true, false]) {
          test(`${length} bytes, compressed: ${isCompressed}, in two calls of ${blockBytes}`, () => {
            fill(length, blockBytes);
            const whole = call(length, blockBytes, isCompressed);
            const told = BLOCK_ENTRY_BYTES * Math.ceil(length / blockBytes);
            const result = (target: number, end: number) => [
              end - target,
              codec.xxh64(target, end - target),
              codec.xxh64(entries, told),
              codec.xxh32Digest(contentState),
              codec.xxh64Digest(frameState),
            ];
            const wanted = result(whole.target, codec.encodeBlocks(whole));
            const target = whole.target + 1000;
            const divided = codec.divideBlocks({
              ...call(length, blockBytes, isCompressed),
              target,
            })!;
            const { module, memory } = codec.shared!;
            const { exports } = new WebAssembly.Instance(module, { env: { memory } });
            // The second part first: whatever the first leaves in its table plays no part.
            const [secondEnd, firstEnd] = divided.parts.toReversed().map((calls) =>
              calls.map(([name, ...values]) => (exports[name] as CallableFunction)(...values))[0]
            );
            const end = codec.joinBlocks({ ...whole, target }, divided, [firstEnd, secondEnd]);
            assert.deepEqual(result(target, end), wanted);
          });
        }
      }
    }

    test("is not divided where there is but one block, nor where the parts have no room", () => {
      assert.equal(codec.divideBlocks(call(64 * KIB, 64 * KIB)), undefined);
      const good = call(128 * KIB, 64 * KIB);
      // Room for the whole, but not for what may be written behind the first part.
      const target = codec.arenaEnd - Codec.blocksBound(128 * KIB, 64 * KIB) - SLOP_BYTES;
      assert.throws(() => codec.divideBlocks({ ...good, target }), RangeError);
      assert.ok(codec.divideBlocks({ ...good, target: target - SLOP_BYTES }) !== undefined);
      const divided = codec.divideBlocks(good)!;
      const { secondTarget } = divided;
      for (
        const ends of [[codec.arenaEnd, secondTarget + 1], [
          good.target,
          codec.arenaEnd + 1,
        ]] as const
      ) assert.throws(() => codec.joinBlocks(good, divided, ends), RangeError);
    });

    test(`tells another thread what it needs: ${isShared}`, () => {
      assert.equal(codec.shared !== undefined, isShared);
      assert.equal(codec.bytes.buffer instanceof SharedArrayBuffer, isShared);
    });
  });
}

describe("compressBound", () => {
  test("counts what a block can grow by", () => {
    assert.equal(compressBound(0), 16);
    assert.equal(compressBound(255), 255 + 1 + 16);
    assert.equal(compressBound(CODEC_BLOCK_BYTES_MAX), 16 * MIB + 65793 + 16);
  });

  test("refuses what is no block length", () => {
    for (const length of [-1, 1.5, NaN, CODEC_BLOCK_BYTES_MAX + 1]) {
      assert.throws(() => compressBound(length), RangeError);
    }
  });
});

describe("Codec", () => {
  const codec = Codec.create({ arenaBytes: MIB });
  const { arenaStart: start, arenaEnd: end } = codec;
  const stateEnd = end - HASH_STATE_BYTES;

  const REFUSED: Readonly<Record<string, () => unknown>> = {
    "a source before the arena": () => codec.compress(start - 1, 10, start + 1000),
    "a source without slop": () => codec.compress(end - 10 - SLOP_BYTES + 1, 10, start),
    "a target before the arena": () => codec.compress(start, 10, start - 64),
    "a target without room for the bound": () =>
      codec.compress(start, 1000, end - compressBound(1000) - SLOP_BYTES + 1),
    "a negative length": () => codec.compress(start, -1, start + 1000),
    "a fraction": () => codec.compress(start, 1.5, start + 1000),
    "no number": () => codec.compress(NaN, 1, start + 1000),
    "an offset above 2^32": () => codec.compress(2 ** 32 + start, 1, start + 1000),
    "a block above the cap": () => codec.decompress(start, CODEC_BLOCK_BYTES_MAX + 1, start, 10),
    "a capacity above the cap": () => codec.decompress(start, 10, start, CODEC_BLOCK_BYTES_MAX + 1),
    "a block without slop": () => codec.decompress(end - 10 - SLOP_BYTES + 1, 10, start, 10),
    "a target without slop": () => codec.decompress(start, 10, end - 10 - SLOP_BYTES + 1, 10),
    "a negative capacity": () => codec.decompress(start, 10, start + 100, -1),
    "bytes to hash past the arena": () => codec.xxh32(end - 10, 11),
    "bytes to hash before the arena": () => codec.xxh64(0, 11),
    "a state past the arena": () => codec.xxh32Begin(stateEnd + 1),
    "a state before the arena": () => codec.xxh64Begin(start - 8),
    "an update from past the arena": () => codec.xxh32Update(start, end, 1),
    "an update of a state past the arena": () => codec.xxh64Update(stateEnd + 1, start, 1),
    "a digest of a state past the arena": () => codec.xxh32Digest(stateEnd + 1),
    "a digest of a state before the arena": () => codec.xxh64Digest(start - 1),
  };
  for (const [name, call] of Object.entries(REFUSED)) {
    test(`refuses ${name}, and touches nothing`, () => {
      const before = codec.xxh64(start, end - start);
      assert.throws(call, (error: unknown) => {
        assert.ok(error instanceof RangeError);
        assert.match(error.message, /^Cannot .+: .*(?:wants|at most)/);
        return true;
      });
      assert.equal(codec.xxh64(start, end - start), before);
    });
  }

  test("takes what fits exactly", () => {
    assert.equal(codec.xxh32(end, 0), 0x02cc5d05);
    codec.xxh64Begin(stateEnd);
    assert.equal(codec.xxh64Digest(stateEnd), 0xef46db3751d8e999n);
    const target = end - compressBound(10) - SLOP_BYTES;
    const written = codec.compress(start, 10, target);
    assert.equal(codec.decompress(target, written, start, 10), 10);
  });
});

describe("acquireCodec and releaseCodec", () => {
  test("lend one codec to one caller at a time, and lend it again", () => {
    const first = acquireCodec(), second = acquireCodec();
    assert.notEqual(first, second);
    releaseCodec(first);
    assert.equal(acquireCodec(), first);
    releaseCodec(first);
    releaseCodec(second);
  });

  test("refuse a codec that is not lent", () => {
    const codec = acquireCodec();
    releaseCodec(codec);
    assert.throws(() => releaseCodec(codec), TypeError);
    assert.throws(() => releaseCodec(Codec.create({ arenaBytes: 1 })), TypeError);
  });

  test("keep only a few", () => {
    const lent = Array.from({ length: 4 }, () => acquireCodec());
    for (const codec of lent) releaseCodec(codec);
    const again = lent.map(() => acquireCodec());
    assert.equal(again.filter((codec) => lent.includes(codec)).length, 2);
    for (const codec of again) releaseCodec(codec);
  });
});
