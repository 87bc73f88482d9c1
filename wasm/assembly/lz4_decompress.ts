/**
 * LZ4 block decompression that is safe against any input.
 *
 * Two paths: the quick one takes a sequence when enough source and target are left for its
 * unconditional wide copies, and leaves to the careful one, which checks each step, whenever they
 * are not. Neither reads outside source..source+length+slop, nor writes outside
 * target..target+capacity+slop.
 */
import { copy16, copy32, OVERLAP_PATTERNS, OVERLAP_STEPS } from "./layout";
import { LENGTH_BYTE_MAX, MATCH_BYTES_MIN, TOKEN_HALF_MAX } from "./lz4_block";

/** What a malformed block gives instead of a size. */
const MALFORMED: i32 = -1;
/** Token, 14 literals, distance and two bytes: what the quick path may read of the source. */
const QUICK_SOURCE_BYTES: u32 = 19;
/** 14 literals and a match of 32: what the quick path may write of the target unchecked. */
const QUICK_TARGET_BYTES: u32 = 46;
/** Literals from here on are copied by the engine's bulk copy. */
const BULK_COPY_BYTES: u32 = 192;
/** Matches up to this long are copied by two vectors, without a loop. */
const SHORT_MATCH_BYTES: u32 = 32;

/** Repeats the `distance` bytes before `target` until `end`; garbage follows, at most 15 bytes. */

function repeatPattern(target: usize, distance: u32, end: usize): void {
  let output = target;
  const pattern = v128.swizzle(
    v128.load(output - distance),
    v128.load(<usize> distance << 4, OVERLAP_PATTERNS),
  );
  const step = <usize> load<u8>(distance, OVERLAP_STEPS);
  do {
    v128.store(output, pattern);
    output += step;
  } while (output < end);
}

/**
 * Decompresses the block of `length` bytes at `source` to `target`.
 *
 * @param capacity Most bytes that the block may give.
 * @returns Bytes written, or -1 when the block is malformed or gives more.
 */
export function decompress(source: usize, length: u32, target: usize, capacity: u32): i32 {
  let input = source, output = target;
  const sourceEnd = source + length, targetEnd = target + capacity;
  while (true) {
    while (true) {
      if (<u32> (sourceEnd - input) < QUICK_SOURCE_BYTES) break;
      if (<u32> (targetEnd - output) < QUICK_TARGET_BYTES) break;
      const token = <u32> load<u8>(input);
      let literals = token >> 4, matched = token & TOKEN_HALF_MAX;
      if (literals < TOKEN_HALF_MAX) {
        copy16(output, input + 1);
        output += literals;
        input += literals + 1;
      } else {
        let from = input + 1, more: u32;
        do {
          if (from >= sourceEnd) return MALFORMED;
          more = <u32> load<u8>(from++);
          literals += more;
        } while (more == LENGTH_BYTE_MAX);
        if (literals > <u32> (sourceEnd - from)) return MALFORMED;
        if (literals > <u32> (targetEnd - output)) return MALFORMED;
        if (<u32> (sourceEnd - from) - literals < 4) break;
        if (<u32> (targetEnd - output) - literals < QUICK_TARGET_BYTES) break;
        const literalsEnd = output + literals;
        input = from + literals;
        if (literals <= BULK_COPY_BYTES) {
          copy32(output, from);
          if (literals > 32) {
            do {
              output += 32;
              from += 32;
              copy32(output, from);
            } while (output + 32 < literalsEnd);
          }
        } else {
          memory.copy(output, from, literals);
        }
        output = literalsEnd;
      }
      const distance = <u32> load<u16>(input);
      const more = <u32> load<u8>(input, 2), isLong = <u32> (matched == TOKEN_HALF_MAX);
      input += 2 + isLong;
      matched += select<u32>(more + MATCH_BYTES_MIN, MATCH_BYTES_MIN, isLong);
      if (matched == TOKEN_HALF_MAX + LENGTH_BYTE_MAX + MATCH_BYTES_MIN) {
        let next: u32;
        do {
          if (input >= sourceEnd) return MALFORMED;
          next = <u32> load<u8>(input++);
          matched += next;
        } while (next == LENGTH_BYTE_MAX);
      }
      if (distance - 1 >= <u32> (output - target)) return MALFORMED;
      if (distance >= 16) {
        let match = output - distance;
        if (matched <= SHORT_MATCH_BYTES) {
          copy32(output, match);
          output += matched;
          continue;
        }
        if (matched > <u32> (targetEnd - output)) return MALFORMED;
        const matchEnd = output + matched;
        do {
          copy32(output, match);
          output += 32;
          match += 32;
        } while (output < matchEnd);
        output = matchEnd;
      } else {
        if (matched > <u32> (targetEnd - output)) return MALFORMED;
        const matchEnd = output + matched;
        repeatPattern(output, distance, matchEnd);
        output = matchEnd;
      }
    }

    if (input >= sourceEnd) return MALFORMED;
    const token = <u32> load<u8>(input++);
    let literals = token >> 4, matched = token & TOKEN_HALF_MAX;
    if (literals == TOKEN_HALF_MAX) {
      let more: u32;
      do {
        if (input >= sourceEnd) return MALFORMED;
        more = <u32> load<u8>(input++);
        literals += more;
      } while (more == LENGTH_BYTE_MAX);
    }
    if (literals > <u32> (sourceEnd - input)) return MALFORMED;
    if (literals > <u32> (targetEnd - output)) return MALFORMED;
    memory.copy(output, input, literals);
    output += literals;
    input += literals;
    if (input == sourceEnd) return <i32> (output - target);
    if (<u32> (sourceEnd - input) < 2) return MALFORMED;
    const distance = <u32> load<u16>(input);
    input += 2;
    if (matched == TOKEN_HALF_MAX) {
      let more: u32;
      do {
        if (input >= sourceEnd) return MALFORMED;
        more = <u32> load<u8>(input++);
        matched += more;
      } while (more == LENGTH_BYTE_MAX);
    }
    matched += MATCH_BYTES_MIN;
    if (distance - 1 >= <u32> (output - target)) return MALFORMED;
    if (matched > <u32> (targetEnd - output)) return MALFORMED;
    const matchEnd = output + matched;
    if (distance >= 16) {
      let match = output - distance;
      do {
        copy16(output, match);
        output += 16;
        match += 16;
      } while (output < matchEnd);
    } else {
      repeatPattern(output, distance, matchEnd);
    }
    output = matchEnd;
  }
}
