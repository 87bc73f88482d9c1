/**
 * Random cases for the codec: each holds the result against the plain reference decoder, against
 * another LZ4, and the memory around source and target against what was there before.
 *
 * Some cases put source or target at the very end of the memory, where reading or writing one byte
 * too far would trap. The bytes around a source differ from case to case, so a result that depended
 * on them would differ from the reference.
 * @module
 */
import { compressSync, uncompressSync } from "lz4-napi";
import assert from "node:assert/strict";
import { Codec, compressBound, SLOP_BYTES } from "../../wasm/mod.ts";
import { SeededRandom } from "../doubles/seeded_random.ts";
import { decodeBlock } from "./_reference.ts";

/** Which random cases to run. */
export interface FuzzOptions {
  readonly cases: number;
  readonly seed: number;
}

/** How often each thing happened, to see that the cases reach what they should. */
export interface FuzzReport {
  readonly byKind: Record<string, { accepted: number; refused: number }>;
}

const PEER_PREFIX_BYTES = 4;
const GUARD_BYTES = 256;
const SHIFT_BYTES = 64;
const ARENA_BYTES = 1024 * 1024;
const SHORT_BYTES = 600;
const LONG_BYTES = 70_000;
const LONG_SHARE = 0.02;
/** Valid blocks to damage; made anew after so many cases. */
const POOL_BLOCKS = 48;
const POOL_CASES = 4096;
const COMPRESS_SHARE = 0.1;

interface ValidBlock {
  readonly data: Uint8Array;
  readonly block: Uint8Array;
}

interface Case {
  readonly block: Uint8Array;
  /** Size of what the block might hold. */
  readonly size: number;
}

/** Compressible bytes: random runs, repetitions near and far. */
export function makeData(random: SeededRandom): Uint8Array {
  const data = new Uint8Array(random.below(random.chance(LONG_SHARE) ? LONG_BYTES : SHORT_BYTES));
  let at = 0;
  while (at < data.length) {
    const length = Math.min(data.length - at, 1 + random.below(random.pick([8, 40, 400])));
    const part = data.subarray(at, at + length);
    if (at === 0 || random.chance(0.3)) {
      random.fill(part);
    } else {
      const distance = 1 + random.below(Math.min(at, random.pick([4, 20, 100_000])));
      for (let index = 0; index < length; index++) part[index] = data[at + index - distance];
    }
    at += length;
  }
  return data;
}

/** The peer's decompression of a bare block that holds `size` bytes. */
export function decompressByPeer(block: Uint8Array, size: number): Uint8Array {
  const prefixed = new Uint8Array(PEER_PREFIX_BYTES + block.length);
  new DataView(prefixed.buffer).setUint32(0, size, true);
  prefixed.set(block, PEER_PREFIX_BYTES);
  return uncompressSync(prefixed);
}

/** The peer's compression, as a bare block. */
export function compressByPeer(data: Uint8Array): Uint8Array {
  const prefixed = compressSync(data as Parameters<typeof compressSync>[0]);
  return new Uint8Array(prefixed.subarray(PEER_PREFIX_BYTES));
}

/** A source and a target in the arena, with guards of one byte value around both. */
class Surroundings {
  readonly source: number;
  readonly target: number;
  readonly #codec: Codec;
  readonly #fill: number;
  readonly #guards: readonly (readonly [from: number, to: number])[];

  constructor(codec: Codec, random: SeededRandom, sourceBytes: number, targetBytes: number) {
    this.#codec = codec;
    this.#fill = random.pick([0, 255, random.below(256)]);
    const { arenaStart, arenaEnd } = codec;
    const low = arenaStart + GUARD_BYTES + random.below(SHIFT_BYTES);
    const atEnd = random.chance(0.5);
    const highOf = (bytes: number): number =>
      arenaEnd - bytes - SLOP_BYTES - (atEnd ? 0 : GUARD_BYTES + random.below(SHIFT_BYTES));
    const sourceIsLow = random.chance(0.5);
    this.source = sourceIsLow ? low : highOf(sourceBytes);
    this.target = sourceIsLow ? highOf(targetBytes) : low;
    const sourceEnd = this.source + sourceBytes;
    const targetEnd = this.target + targetBytes + SLOP_BYTES;
    this.#guards = [
      [this.source - GUARD_BYTES, this.source],
      [sourceEnd, Math.min(arenaEnd, sourceEnd + SLOP_BYTES + GUARD_BYTES)],
      [this.target - GUARD_BYTES, this.target],
      [targetEnd, Math.min(arenaEnd, targetEnd + GUARD_BYTES)],
    ];
    for (const [from, to] of this.#guards) codec.bytes.fill(this.#fill, from, to);
  }

  /** Fails when a byte outside the target and its slop has changed. */
  check(source: Uint8Array): void {
    const { bytes } = this.#codec;
    for (const [from, to] of this.#guards) {
      for (let at = from; at < to; at++) {
        if (bytes[at] !== this.#fill) assert.fail(`byte ${at} changed outside the target`);
      }
    }
    assertSameBytes(bytes.subarray(this.source, this.source + source.length), source, "source");
  }
}

function assertSameBytes(found: Uint8Array, wanted: Uint8Array, what: string): void {
  assert.equal(found.length, wanted.length, `length of ${what}`);
  for (let at = 0; at < wanted.length; at++) {
    if (found[at] !== wanted[at]) assert.fail(`${what} differs at byte ${at}`);
  }
}

function flip(random: SeededRandom, { data, block }: ValidBlock): Case {
  const flipped = block.slice();
  for (let times = 1 + random.below(4); times > 0; times--) {
    flipped[random.below(flipped.length)] ^= 1 << random.below(8);
  }
  return { block: flipped, size: data.length };
}

function splice(random: SeededRandom, first: ValidBlock, second: ValidBlock): Case {
  const head = first.block.subarray(0, random.below(first.block.length + 1));
  const tail = second.block.subarray(random.below(second.block.length + 1));
  const block = new Uint8Array(head.length + tail.length);
  block.set(head);
  block.set(tail, head.length);
  return { block, size: first.data.length + second.data.length };
}

/** Sequences after the format's grammar, with lengths and distances near every limit. */
function craft(random: SeededRandom): Case {
  const bytes: number[] = [];
  let size = 0;
  const pushLength = (length: number): void => {
    for (; length >= 255; length -= 255) bytes.push(255);
    bytes.push(length);
  };
  const pickLength = (): number =>
    random.pick([
      0,
      1,
      7,
      12,
      14,
      15,
      16,
      17,
      27,
      28,
      29,
      31,
      32,
      33,
      191,
      192,
      193,
      269,
      270,
      271,
      525,
    ]) +
    (random.chance(0.2) ? random.below(300) : 0);
  const pushLiterals = (matched: number): void => {
    const literals = pickLength();
    bytes.push(Math.min(literals, 15) << 4 | Math.min(matched, 15));
    if (literals >= 15) pushLength(literals - 15);
    for (let index = 0; index < literals; index++) bytes.push(random.below(256));
    size += literals;
  };
  for (let sequences = random.below(8); sequences > 0; sequences--) {
    const matched = pickLength();
    pushLiterals(matched);
    const nearest = random.pick([1, 2, 3, 7, 8, 15, 16, 17, 31, 32, size - 1, size]);
    const distance = random.chance(0.03) ? random.below(65536) : Math.min(nearest, size);
    bytes.push(distance & 255, distance >> 8);
    if (matched >= 15) pushLength(matched - 15);
    size += matched + 4;
  }
  pushLiterals(random.chance(0.9) ? 0 : random.below(16));
  if (random.chance(0.1)) bytes.length = random.below(bytes.length + 1);
  return { block: Uint8Array.from(bytes), size };
}

function makeRandomBytes(random: SeededRandom): Case {
  const block = new Uint8Array(random.below(200));
  random.fill(block);
  return { block, size: random.below(4000) };
}

const MAKERS = {
  random: makeRandomBytes,
  valid: (random: SeededRandom, pool: readonly ValidBlock[]): Case => {
    const { block, data } = random.pick(pool);
    return { block, size: data.length };
  },
  flipped: (random: SeededRandom, pool: readonly ValidBlock[]): Case =>
    flip(random, random.pick(pool)),
  cut: (random: SeededRandom, pool: readonly ValidBlock[]): Case => {
    const { block, data } = random.pick(pool);
    return { block: block.subarray(0, random.below(block.length)), size: data.length };
  },
  spliced: (random: SeededRandom, pool: readonly ValidBlock[]): Case =>
    splice(random, random.pick(pool), random.pick(pool)),
  crafted: craft,
};
type Kind = keyof typeof MAKERS;
const KINDS = Object.keys(MAKERS) as Kind[];

function pickCapacity(random: SeededRandom, size: number): number {
  const around = size + random.below(3) - 1;
  return Math.max(0, random.pick([size, size, size, around, size + 100, random.below(size + 1)]));
}

/** Decompresses one block, whatever it is; returns whether it was accepted. */
function checkDecompress(codec: Codec, random: SeededRandom, { block, size }: Case): boolean {
  const capacity = pickCapacity(random, size);
  const place = new Surroundings(codec, random, block.length, capacity);
  codec.bytes.set(block, place.source);
  const written = codec.decompress(place.source, block.length, place.target, capacity);
  place.check(block);
  const wanted = decodeBlock(block, capacity);
  assert.equal(written, wanted?.length ?? -1, "bytes written");
  if (wanted === undefined) return false;
  const found = codec.bytes.subarray(place.target, place.target + written);
  assertSameBytes(found, wanted, "result");
  if (written > 0) assertSameBytes(decompressByPeer(block, written), wanted, "the peer's result");
  return true;
}

/** Compresses bytes; returns the block, which the reference and the peer have decoded. */
function checkCompress(codec: Codec, random: SeededRandom, data: Uint8Array): Uint8Array {
  const bound = compressBound(data.length);
  const pack = (): Uint8Array => {
    const place = new Surroundings(codec, random, data.length, bound);
    codec.bytes.set(data, place.source);
    const written = codec.compress(place.source, data.length, place.target);
    place.check(data);
    assert.ok(written <= bound, `${written} bytes are more than the bound ${bound}`);
    return codec.bytes.slice(place.target, place.target + written);
  };
  const block = pack();
  assertSameBytes(pack(), block, "the block at another place");
  let lastMatch = { start: -Infinity, end: -Infinity };
  const decoded = decodeBlock(block, data.length, (start, end) => lastMatch = { start, end });
  assert.ok(decoded !== undefined, "the reference accepts the block");
  assert.ok(lastMatch.start <= data.length - 12, "no match starts in the last 12 bytes");
  assert.ok(lastMatch.end <= data.length - 5, "the last 5 bytes are literals");
  assertSameBytes(decoded, data, "the reference's result");
  if (data.length > 0) {
    assertSameBytes(decompressByPeer(block, data.length), data, "the peer's result");
  }
  return block;
}

function makePool(codec: Codec, random: SeededRandom): ValidBlock[] {
  return Array.from({ length: POOL_BLOCKS }, (_, index) => {
    const data = makeData(random);
    const block = index % 2 === 0 ? checkCompress(codec, random, data) : compressByPeer(data);
    return { data, block };
  });
}

/**
 * Runs random cases.
 *
 * @throws {AssertionError} At the first case that fails, with the seed and the case's number.
 */
export function runFuzz({ cases, seed }: FuzzOptions): FuzzReport {
  const codec = Codec.create({ arenaBytes: ARENA_BYTES });
  const byKind: FuzzReport["byKind"] = {};
  const count = (kind: string, accepted: boolean): void => {
    const counts = byKind[kind] ??= { accepted: 0, refused: 0 };
    counts[accepted ? "accepted" : "refused"]++;
  };
  let pool: readonly ValidBlock[] = [];
  for (let index = 0; index < cases; index++) {
    const random = new SeededRandom(Math.imul(seed, 0x9e3779b1) + index);
    try {
      if (index % POOL_CASES === 0) pool = makePool(codec, random);
      if (random.chance(COMPRESS_SHARE)) {
        checkCompress(codec, random, makeData(random));
        count("compress", true);
      } else {
        const kind = random.pick(KINDS);
        count(kind, checkDecompress(codec, random, MAKERS[kind](random, pool)));
      }
    } catch (cause) {
      throw new assert.AssertionError({
        message: `Codec fuzz fails with seed ${seed} at case ${index}: ${cause}`,
      });
    }
  }
  return { byKind };
}
