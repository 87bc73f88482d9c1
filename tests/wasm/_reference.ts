/**
 * The plainest decoder and hashes, byte by byte after the specifications, to hold the codec against.
 * @module
 */

/**
 * Decodes an LZ4 block; undefined when it is malformed or gives more than `capacity` bytes.
 *
 * @param onMatch Is told where each match begins and ends in the result.
 */
export function decodeBlock(
  block: Uint8Array,
  capacity: number,
  onMatch: (start: number, end: number) => void = () => {},
): Uint8Array | undefined {
  const output = new Uint8Array(capacity);
  let at = 0, written = 0;
  const readLength = (half: number): number => {
    let length = half;
    for (let more = half === 15 ? 255 : 0; more === 255;) {
      if (at >= block.length) return Infinity;
      more = block[at++];
      length += more;
    }
    return length;
  };
  while (at < block.length) {
    const token = block[at++];
    const literals = readLength(token >> 4);
    if (literals > block.length - at || literals > capacity - written) return undefined;
    output.set(block.subarray(at, at + literals), written);
    at += literals;
    written += literals;
    if (at === block.length) return output.subarray(0, written);
    if (block.length - at < 2) return undefined;
    const distance = block[at] | block[at + 1] << 8;
    at += 2;
    const matched = readLength(token & 15) + 4;
    if (distance === 0 || distance > written || matched > capacity - written) return undefined;
    onMatch(written, written + matched);
    for (let copied = 0; copied < matched; copied++, written++) {
      output[written] = output[written - distance];
    }
  }
  return undefined;
}

interface HashShape {
  readonly bits: 32 | 64;
  readonly primes: readonly bigint[];
  readonly roundShift: number;
}

const XXH32: HashShape = {
  bits: 32,
  primes: [2654435761n, 2246822519n, 3266489917n, 668265263n, 374761393n],
  roundShift: 13,
};
const XXH64: HashShape = {
  bits: 64,
  primes: [
    11400714785074694791n,
    14029467366897019727n,
    1609587929392839161n,
    9650029242287828579n,
    2870177450012600261n,
  ],
  roundShift: 31,
};

function littleEndian(bytes: Uint8Array): bigint {
  return bytes.reduceRight((sum, byte) => sum << 8n | BigInt(byte), 0n);
}

/** The lanes' state after all whole stripes, merged; or the start of a short input. */
function hashStripes(bytes: Uint8Array, shape: HashShape): { hash: bigint; taken: number } {
  const { bits, primes: [p1, p2, , p4, p5] } = shape;
  const wrap = (value: bigint): bigint => BigInt.asUintN(bits, value);
  const rotate = (value: bigint, by: number): bigint =>
    wrap(value << BigInt(by) | value >> BigInt(bits - by));
  const round = (lane: bigint, word: bigint): bigint =>
    wrap(rotate(wrap(lane + word * p2), shape.roundShift) * p1);
  const wordBytes = bits / 8, stripeBytes = 4 * wordBytes;
  if (bytes.length < stripeBytes) return { hash: p5, taken: 0 };
  const lanes = [wrap(p1 + p2), p2, 0n, wrap(-p1)];
  let taken = 0;
  while (taken + stripeBytes <= bytes.length) {
    for (let lane = 0; lane < 4; lane++, taken += wordBytes) {
      lanes[lane] = round(lanes[lane], littleEndian(bytes.subarray(taken, taken + wordBytes)));
    }
  }
  const turns = [1, 7, 12, 18];
  let hash = wrap(lanes.reduce((sum, lane, index) => sum + rotate(lane, turns[index]), 0n));
  if (bits === 64) {
    for (const lane of lanes) hash = wrap((hash ^ round(0n, lane)) * p1 + p4);
  }
  return { hash, taken };
}

/** XXH32 with seed 0. */
export function referenceXxh32(bytes: Uint8Array): number {
  const wrap = (value: bigint): bigint => BigInt.asUintN(32, value);
  const rotate = (value: bigint, by: bigint): bigint => wrap(value << by | value >> (32n - by));
  const [p1, p2, p3, p4, p5] = XXH32.primes;
  let { hash, taken } = hashStripes(bytes, XXH32);
  hash = wrap(hash + BigInt(bytes.length));
  for (; taken + 4 <= bytes.length; taken += 4) {
    const word = littleEndian(bytes.subarray(taken, taken + 4));
    hash = wrap(rotate(wrap(hash + word * p3), 17n) * p4);
  }
  for (const byte of bytes.subarray(taken)) {
    hash = wrap(rotate(wrap(hash + BigInt(byte) * p5), 11n) * p1);
  }
  hash = wrap((hash ^ hash >> 15n) * p2);
  hash = wrap((hash ^ hash >> 13n) * p3);
  return Number(hash ^ hash >> 16n);
}

/** XXH64 with seed 0. */
export function referenceXxh64(bytes: Uint8Array): bigint {
  const wrap = (value: bigint): bigint => BigInt.asUintN(64, value);
  const rotate = (value: bigint, by: bigint): bigint => wrap(value << by | value >> (64n - by));
  const [p1, p2, p3, p4, p5] = XXH64.primes;
  let { hash, taken } = hashStripes(bytes, XXH64);
  hash = wrap(hash + BigInt(bytes.length));
  for (; taken + 8 <= bytes.length; taken += 8) {
    const word = littleEndian(bytes.subarray(taken, taken + 8));
    hash = wrap(rotate(hash ^ wrap(rotate(wrap(word * p2), 31n) * p1), 27n) * p1 + p4);
  }
  if (taken + 4 <= bytes.length) {
    const word = littleEndian(bytes.subarray(taken, taken + 4));
    hash = wrap(rotate(hash ^ wrap(word * p1), 23n) * p2 + p3);
    taken += 4;
  }
  for (const byte of bytes.subarray(taken)) {
    hash = wrap(rotate(hash ^ wrap(BigInt(byte) * p5), 11n) * p1);
  }
  hash = wrap((hash ^ hash >> 33n) * p2);
  hash = wrap((hash ^ hash >> 29n) * p3);
  return hash ^ hash >> 32n;
}
