/**
 * LZ4 block compression, in one pass with one table.
 *
 * The table maps a hash of five bytes to the low 16 bits of the newest position that had it. Taken
 * modulo 64 KiB, the difference to the current position is always a legal distance, so a candidate
 * needs no range check, whatever the size of the block: comparing its bytes decides. A stale entry
 * costs a comparison, never a wrong match.
 */
import { copy16, POSITION_TABLE } from "./layout";
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
/** Failed steps after which the search strides one position further per step. */
const STRIDE_GROWTH_BITS: usize = 5;
/** The search needs a full window of positions before the last possible match. */
const SEARCHED_BYTES_MIN: u32 = LAST_MATCH_MARGIN + 2;

/** Offset in the table for the five lowest bytes of `bytes`. */

function slotOf(bytes: u64): usize {
  return <usize> (((bytes << HASH_INPUT_SHIFT) * HASH_FACTOR) >> (64 - HASH_BITS)) << 1;
}

/** Takes the candidate out of a slot and puts the current position in. */

function swapCandidate(slot: usize, at: usize, source: usize): usize {
  const position = <u32> (at - source);
  const distance = (position - <u32> load<u16>(slot, POSITION_TABLE)) & 0xFFFF;
  store<u16>(slot, position, POSITION_TABLE);
  return at - <usize> distance;
}

/** First place from `at` on, at most `limit`, whose byte differs from the one at `match`. */

function endOfMatch(start: usize, startOfMatch: usize, limit: usize): usize {
  let at = start, match = startOfMatch;
  const difference = load<u64>(at) ^ load<u64>(match);
  if (difference) {
    at += <usize> ctz(difference) >> 3;
  } else {
    at += 8;
    match += 8;
    while (true) {
      const unequal = i8x16.bitmask(i8x16.eq(v128.load(at), v128.load(match))) ^ 0xFFFF;
      if (unequal) {
        at += <usize> ctz(unequal);
        break;
      }
      at += 16;
      match += 16;
      if (at >= limit) break;
    }
  }
  return at > limit ? limit : at;
}

/** Writes what a token's half could not hold; returns the place after it. */

function writeLength(target: usize, length: u32): usize {
  let output = target, rest = length;
  while (rest >= LENGTH_BYTE_MAX) {
    store<u8>(output++, LENGTH_BYTE_MAX);
    rest -= LENGTH_BYTE_MAX;
  }
  store<u8>(output++, rest);
  return output;
}

/**
 * Compresses `length` bytes at `source` into a block at `target`.
 *
 * @param target With room for the bound of `length`, and the slop.
 * @returns Bytes written.
 */
export function compress(source: usize, length: u32, target: usize): u32 {
  let output = target, anchor = source;
  const sourceEnd = source + length;
  if (length >= SEARCHED_BYTES_MIN) {
    const matchStartLimit = sourceEnd - LAST_MATCH_MARGIN;
    const matchEndLimit = sourceEnd - LAST_LITERALS;
    let at = source + 1, match: usize = 0;
    memory.fill(POSITION_TABLE, 0, TABLE_BYTES);
    while (true) {
      let stride: usize = 1 << STRIDE_GROWTH_BITS;
      match = 0;
      while (at < matchStartLimit) {
        const bytes = load<u64>(at);
        const first = swapCandidate(slotOf(bytes), at, source);
        const second = swapCandidate(slotOf(bytes >> 8), at + 1, source);
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
      let tokenAt = output++, token: u32;
      const literals = <u32> (at - anchor);
      if (literals < TOKEN_HALF_MAX) {
        token = literals << 4;
        copy16(output, anchor);
        output += literals;
      } else {
        token = TOKEN_HALF_MAX << 4;
        output = writeLength(output, literals - TOKEN_HALF_MAX);
        const literalsEnd = output + literals;
        let from = anchor;
        do {
          copy16(output, from);
          output += 16;
          from += 16;
        } while (output < literalsEnd);
        output = literalsEnd;
      }
      while (true) {
        store<u16>(output, <u32> (at - match));
        output += 2;
        const matchEnd = endOfMatch(at + MATCH_BYTES_MIN, match + MATCH_BYTES_MIN, matchEndLimit);
        const matched = <u32> (matchEnd - at) - MATCH_BYTES_MIN;
        if (matched < TOKEN_HALF_MAX) {
          store<u8>(tokenAt, token + matched);
        } else {
          store<u8>(tokenAt, token + TOKEN_HALF_MAX);
          output = writeLength(output, matched - TOKEN_HALF_MAX);
        }
        at = matchEnd;
        anchor = matchEnd;
        if (at >= matchStartLimit) break;
        swapCandidate(slotOf(load<u64>(at - 2)), at - 2, source);
        const bytes = load<u64>(at);
        match = swapCandidate(slotOf(bytes), at, source);
        if (load<u32>(match) == <u32> bytes) {
          if (match != at) {
            tokenAt = output++;
            token = 0;
            continue;
          }
        }
        at++;
        break;
      }
    }
  }
  return <u32> (writeLastLiterals(output, anchor, <u32> (sourceEnd - anchor)) - target);
}

/** Writes the last sequence, which has no match; returns the place after it. */

function writeLastLiterals(target: usize, literals: usize, length: u32): usize {
  let output = target;
  if (length < TOKEN_HALF_MAX) {
    store<u8>(output++, length << 4);
  } else {
    store<u8>(output++, TOKEN_HALF_MAX << 4);
    output = writeLength(output, length - TOKEN_HALF_MAX);
  }
  memory.copy(output, literals, length);
  return output + length;
}
