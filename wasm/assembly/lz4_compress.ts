/**
 * LZ4 block compression, in one pass with one table.
 *
 * The table maps a hash of five bytes to the newest place that had it, as the low 16 bits of its
 * address. Taken modulo 64 KiB, the difference to the current address is always a legal distance,
 * so a candidate needs no range check, whatever the size of the block: comparing its bytes decides.
 * A stale entry costs a comparison, never a wrong match; an empty one stands for the first byte.
 *
 * Measured, and left out: a second look-up right after a match, and entries for places inside
 * matches (slower, and not smaller); a 14-bit table (2 % slower, 0.7 % smaller); vectors in
 * `endOfMatch`, one exit for both probes, and backward extension without branches (slower).
 */
import { copy16, POSITION_TABLE, SECOND_TABLE } from "./layout";
import {
  LAST_LITERALS,
  LAST_MATCH_MARGIN,
  LENGTH_BYTE_MAX,
  MATCH_BYTES_MIN,
  TOKEN_HALF_MAX,
} from "./lz4_block";

/** Bits of the hash: the table has 2^13 entries of two bytes. */
const HASH_BITS: u64 = 13;
const TABLE_BYTES: usize = 2 << <usize> HASH_BITS;
/** Brings the five lowest bytes to the top, so that the others do not count. */
const HASH_INPUT_SHIFT: u64 = 64 - 5 * 8;
const HASH_FACTOR: u64 = 0x9E3779B185EBCA87;

/** Each step of the search probes two places, then goes on by one more than the stride. */
const STRIDE_START: usize = 2;
/** Log2 of the failed steps after which the stride grows by one. */
const STRIDE_GROWTH_BITS: usize = 5;
/** Shorter data is all literals. */
const SEARCHED_BYTES_MIN: u32 = LAST_MATCH_MARGIN + 2;

/** Makes every entry of the table stand for `source`. */
@inline
function clearTable(table: usize, source: usize): void {
  const entries = i16x8.splat(<i16> source);
  for (let at = table; at < table + TABLE_BYTES; at += 32) {
    v128.store(at, entries);
    v128.store(at, entries, 16);
  }
}

/** Address in the table for the five lowest bytes of `bytes`. */
@inline
function slotOf(table: usize, bytes: u64): usize {
  return table +
    (<usize> (((bytes << HASH_INPUT_SHIFT) * HASH_FACTOR) >> (64 - HASH_BITS)) << 1);
}

/** Takes the candidate out of a slot and puts the current place in. */
@inline
function swapCandidate(slot: usize, at: usize): usize {
  const distance = (at - <usize> load<u16>(slot)) & 0xFFFF;
  store<u16>(slot, at);
  return at - distance;
}

/** First place from `start` on, at most `limit`, whose byte is not the match's. */
@inline
function endOfMatch(start: usize, startOfMatch: usize, limit: usize): usize {
  let at = start, match = startOfMatch;
  do {
    const difference = load<u64>(at) ^ load<u64>(match);
    if (difference) {
      at += <usize> ctz(difference) >> 3;
      break;
    }
    at += 8;
    match += 8;
  } while (at < limit);
  return min(at, limit);
}

/** Writes what a token's half could not hold; returns the place after it. */
@inline
function writeLength(target: usize, length: u32): usize {
  let output = target, rest = length;
  while (rest >= LENGTH_BYTE_MAX) {
    store<u8>(output++, LENGTH_BYTE_MAX);
    rest -= LENGTH_BYTE_MAX;
  }
  store<u8>(output++, rest);
  return output;
}

/** Writes a token for `length` literals and the literals; returns the place after them. */
@inline
function writeLiterals(token: usize, literals: usize, length: u32): usize {
  let output = token + 1;
  if (length < TOKEN_HALF_MAX) {
    store<u8>(token, length << 4);
    copy16(output, literals);
    return output + length;
  }
  store<u8>(token, TOKEN_HALF_MAX << 4);
  output = writeLength(output, length - TOKEN_HALF_MAX);
  const end = output + length;
  let from = literals;
  do {
    copy16(output, from);
    output += 16;
    from += 16;
  } while (output < end);
  return end;
}

/** Writes a match and adds its length to the token; returns the place after it. */
@inline
function writeMatch(target: usize, token: usize, distance: u32, length: u32): usize {
  const extra = length - MATCH_BYTES_MIN;
  store<u16>(target, distance);
  store<u8>(token, <u32> load<u8>(token) + min(extra, TOKEN_HALF_MAX));
  return extra < TOKEN_HALF_MAX
    ? target + 2
    : writeLength(target + 2, extra - TOKEN_HALF_MAX);
}

/**
 * Compresses `length` bytes at `source` into a block at `target`.
 *
 * @param target With room for the bound of `length`, and the slop.
 * @returns Bytes written.
 */
export function compress(source: usize, length: u32, target: usize): u32 {
  return compressWith(POSITION_TABLE, source, length, target);
}

/** The same while another thread calls {@link compress} in the same memory. */
export function compressBeside(source: usize, length: u32, target: usize): u32 {
  return compressWith(SECOND_TABLE, source, length, target);
}

/** With a table whose place the compiler knows. */
@inline
function compressWith(table: usize, source: usize, length: u32, target: usize): u32 {
  const sourceEnd = source + length;
  let output = target, anchor = source;
  if (length >= SEARCHED_BYTES_MIN) {
    const searchEnd = sourceEnd - LAST_MATCH_MARGIN;
    const matchLimit = sourceEnd - LAST_LITERALS;
    let at = source + 1;
    clearTable(table, source);
    while (true) {
      let match: usize = 0, stride = STRIDE_START << STRIDE_GROWTH_BITS;
      while (at < searchEnd) {
        const bytes = load<u64>(at);
        const first = swapCandidate(slotOf(table, bytes), at);
        const second = swapCandidate(slotOf(table, bytes >> 8), at + 1);
        if (load<u32>(first) == <u32> bytes) {
          if (first != at) {
            match = first;
            break;
          }
        }
        if (load<u32>(second) == <u32> (bytes >> 8)) {
          if (second != at + 1) {
            match = second;
            at++;
            break;
          }
        }
        at += 1 + (stride++ >> STRIDE_GROWTH_BITS);
      }
      if (match == 0) break;
      while (at > anchor) {
        if (match <= source) break;
        if (load<u8>(at - 1) != load<u8>(match - 1)) break;
        at--;
        match--;
      }
      const token = output;
      output = writeLiterals(token, anchor, <u32> (at - anchor));
      anchor = endOfMatch(at + MATCH_BYTES_MIN, match + MATCH_BYTES_MIN, matchLimit);
      output = writeMatch(output, token, <u32> (at - match), <u32> (anchor - at));
      at = anchor;
    }
  }
  return <u32> (writeLiterals(output, anchor, <u32> (sourceEnd - anchor)) - target);
}
