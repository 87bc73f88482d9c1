/**
 * XXH32 with seed 0, in one call or piece by piece.
 * Source: "xxHash fast digest algorithm", xxHash project, doc/xxhash_spec.md.
 *
 * A streaming state, at an address that the caller gives:
 * four lanes (4 x 4 bytes at 0), bytes not yet taken in (16 at 16), total length (8 at 64).
 */
const PRIME_1: u32 = 0x9E3779B1;
const PRIME_2: u32 = 0x85EBCA77;
const PRIME_3: u32 = 0xC2B2AE3D;
const PRIME_4: u32 = 0x27D4EB2F;
const PRIME_5: u32 = 0x165667B1;

const STRIPE_BYTES: u32 = 16;
const BUFFER: usize = 16;
const TOTAL: usize = 64;

function round(lane: u32, input: u32): u32 {
  return rotl<u32>(lane + input * PRIME_2, 13) * PRIME_1;
}

function merge(a: u32, b: u32, c: u32, d: u32): u32 {
  return rotl<u32>(a, 1) + rotl<u32>(b, 7) + rotl<u32>(c, 12) + rotl<u32>(d, 18);
}

/** Takes in the last bytes, fewer than a stripe, and mixes the result. */
function finish(lanes: u32, source: usize, length: u32): u32 {
  let hash = lanes, at = source;
  const end = source + length;
  while (at + 4 <= end) {
    hash = rotl<u32>(hash + load<u32>(at) * PRIME_3, 17) * PRIME_4;
    at += 4;
  }
  while (at < end) {
    hash = rotl<u32>(hash + <u32> load<u8>(at) * PRIME_5, 11) * PRIME_1;
    at++;
  }
  hash = (hash ^ (hash >> 15)) * PRIME_2;
  hash = (hash ^ (hash >> 13)) * PRIME_3;
  return hash ^ (hash >> 16);
}

/** Hashes `length` bytes at `source`. */
export function xxh32(source: usize, length: u32): u32 {
  let at = source, lanes = PRIME_5;
  const end = source + length;
  if (length >= STRIPE_BYTES) {
    let a = PRIME_1 + PRIME_2, b = PRIME_2, c: u32 = 0, d: u32 = 0 - PRIME_1;
    const last = end - STRIPE_BYTES;
    do {
      a = round(a, load<u32>(at));
      b = round(b, load<u32>(at, 4));
      c = round(c, load<u32>(at, 8));
      d = round(d, load<u32>(at, 12));
      at += STRIPE_BYTES;
    } while (at <= last);
    lanes = merge(a, b, c, d);
  }
  return finish(lanes + length, at, <u32> (end - at));
}

/** Begins a streaming hash at `state`. */
export function xxh32Begin(state: usize): void {
  store<u32>(state, PRIME_1 + PRIME_2);
  store<u32>(state, PRIME_2, 4);
  store<u32>(state, 0, 8);
  store<u32>(state, 0 - PRIME_1, 12);
  store<u64>(state, 0, TOTAL);
}

/** Takes whole stripes into the lanes; returns the place after them. */
function takeStripes(state: usize, source: usize, stripes: u32): usize {
  let a = load<u32>(state), b = load<u32>(state, 4);
  let c = load<u32>(state, 8), d = load<u32>(state, 12);
  let at = source;
  const end = source + stripes * STRIPE_BYTES;
  while (at < end) {
    a = round(a, load<u32>(at));
    b = round(b, load<u32>(at, 4));
    c = round(c, load<u32>(at, 8));
    d = round(d, load<u32>(at, 12));
    at += STRIPE_BYTES;
  }
  store<u32>(state, a);
  store<u32>(state, b, 4);
  store<u32>(state, c, 8);
  store<u32>(state, d, 12);
  return at;
}

/** Takes `length` bytes at `source` into the streaming hash at `state`. */
export function xxh32Update(state: usize, source: usize, length: u32): void {
  let at = source, rest = length;
  const buffered = <u32> load<u64>(state, TOTAL) % STRIPE_BYTES;
  store<u64>(state, load<u64>(state, TOTAL) + <u64> length, TOTAL);
  if (buffered > 0) {
    const taken = min(rest, STRIPE_BYTES - buffered);
    memory.copy(state + BUFFER + buffered, at, taken);
    at += taken;
    rest -= taken;
    if (buffered + taken < STRIPE_BYTES) return;
    takeStripes(state, state + BUFFER, 1);
  }
  at = takeStripes(state, at, rest / STRIPE_BYTES);
  memory.copy(state + BUFFER, at, rest % STRIPE_BYTES);
}

/** The hash of all that `state` has taken in; `state` stays as it is. */
export function xxh32Digest(state: usize): u32 {
  const total = load<u64>(state, TOTAL);
  const lanes = total < <u64> STRIPE_BYTES
    ? PRIME_5
    : merge(load<u32>(state), load<u32>(state, 4), load<u32>(state, 8), load<u32>(state, 12));
  return finish(lanes + <u32> total, state + BUFFER, <u32> total % STRIPE_BYTES);
}
