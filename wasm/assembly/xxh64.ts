/**
 * XXH64 with seed 0, in one call or piece by piece.
 * Source: "xxHash fast digest algorithm", xxHash project, doc/xxhash_spec.md.
 *
 * A streaming state, at an address that the caller gives:
 * four lanes (4 x 8 bytes at 0), bytes not yet taken in (32 at 32), total length (8 at 64).
 */
const PRIME_1: u64 = 0x9E3779B185EBCA87;
const PRIME_2: u64 = 0xC2B2AE3D27D4EB4F;
const PRIME_3: u64 = 0x165667B19E3779F9;
const PRIME_4: u64 = 0x85EBCA77C2B2AE63;
const PRIME_5: u64 = 0x27D4EB2F165667C5;

const STRIPE_BYTES: u32 = 32;
const BUFFER: usize = 32;
const TOTAL: usize = 64;

function round(lane: u64, input: u64): u64 {
  return rotl<u64>(lane + input * PRIME_2, 31) * PRIME_1;
}

function mergeLane(hash: u64, lane: u64): u64 {
  return (hash ^ round(0, lane)) * PRIME_1 + PRIME_4;
}

function merge(a: u64, b: u64, c: u64, d: u64): u64 {
  let hash = rotl<u64>(a, 1) + rotl<u64>(b, 7) + rotl<u64>(c, 12) + rotl<u64>(d, 18);
  hash = mergeLane(hash, a);
  hash = mergeLane(hash, b);
  hash = mergeLane(hash, c);
  return mergeLane(hash, d);
}

/** Takes in the last bytes, fewer than a stripe, and mixes the result. */
function finish(lanes: u64, source: usize, length: u32): u64 {
  let hash = lanes, at = source;
  const end = source + length;
  while (at + 8 <= end) {
    hash = rotl<u64>(hash ^ round(0, load<u64>(at)), 27) * PRIME_1 + PRIME_4;
    at += 8;
  }
  if (at + 4 <= end) {
    hash = rotl<u64>(hash ^ (<u64> load<u32>(at) * PRIME_1), 23) * PRIME_2 + PRIME_3;
    at += 4;
  }
  while (at < end) {
    hash = rotl<u64>(hash ^ (<u64> load<u8>(at) * PRIME_5), 11) * PRIME_1;
    at++;
  }
  hash = (hash ^ (hash >> 33)) * PRIME_2;
  hash = (hash ^ (hash >> 29)) * PRIME_3;
  return hash ^ (hash >> 32);
}

/** Hashes `length` bytes at `source`. */
export function xxh64(source: usize, length: u32): u64 {
  let at = source, lanes = PRIME_5;
  const end = source + length;
  if (length >= STRIPE_BYTES) {
    let a = PRIME_1 + PRIME_2, b = PRIME_2, c: u64 = 0, d: u64 = 0 - PRIME_1;
    const last = end - STRIPE_BYTES;
    do {
      a = round(a, load<u64>(at));
      b = round(b, load<u64>(at, 8));
      c = round(c, load<u64>(at, 16));
      d = round(d, load<u64>(at, 24));
      at += STRIPE_BYTES;
    } while (at <= last);
    lanes = merge(a, b, c, d);
  }
  return finish(lanes + <u64> length, at, <u32> (end - at));
}

/** Begins a streaming hash at `state`. */
export function xxh64Begin(state: usize): void {
  store<u64>(state, PRIME_1 + PRIME_2);
  store<u64>(state, PRIME_2, 8);
  store<u64>(state, 0, 16);
  store<u64>(state, 0 - PRIME_1, 24);
  store<u64>(state, 0, TOTAL);
}

/** Takes whole stripes into the lanes; returns the place after them. */
function takeStripes(state: usize, source: usize, stripes: u32): usize {
  let a = load<u64>(state), b = load<u64>(state, 8);
  let c = load<u64>(state, 16), d = load<u64>(state, 24);
  let at = source;
  const end = source + stripes * STRIPE_BYTES;
  while (at < end) {
    a = round(a, load<u64>(at));
    b = round(b, load<u64>(at, 8));
    c = round(c, load<u64>(at, 16));
    d = round(d, load<u64>(at, 24));
    at += STRIPE_BYTES;
  }
  store<u64>(state, a);
  store<u64>(state, b, 8);
  store<u64>(state, c, 16);
  store<u64>(state, d, 24);
  return at;
}

/** Takes `length` bytes at `source` into the streaming hash at `state`. */
export function xxh64Update(state: usize, source: usize, length: u32): void {
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
export function xxh64Digest(state: usize): u64 {
  const total = load<u64>(state, TOTAL);
  const lanes = total < <u64> STRIPE_BYTES
    ? PRIME_5
    : merge(load<u64>(state), load<u64>(state, 8), load<u64>(state, 16), load<u64>(state, 24));
  return finish(lanes + total, state + BUFFER, <u32> total % STRIPE_BYTES);
}
