/**
 * LZ4 block decompression that is safe against any input.
 *
 * Two paths take turns. The quick one takes sequences as long as enough source and target are left
 * for its unconditional wide copies; the careful one takes a single sequence and checks each step.
 * Neither reads outside source..source+length+slop nor before the target, and neither writes
 * outside target..target+capacity+slop.
 *
 * A place in both, input and output, travels between the paths as one 64-bit number: a function
 * gives back only one, and a flag in the loops instead costs a third of the speed.
 */
import { copy16, copy32, OVERLAP_PATTERNS, OVERLAP_STEPS } from "./layout";
import { LENGTH_BYTE_MAX, MATCH_BYTES_MIN, TOKEN_HALF_MAX } from "./lz4_block";

/** In place of a place: the block is malformed. No output lies at address 0. */
const MALFORMED: u64 = 0;

/** Token, 14 literals, distance and two bytes: what the quick path reads unchecked. */
const QUICK_SOURCE_BYTES: u32 = 19;
/** 14 literals and a match of 32: what the quick path writes unchecked. */
const QUICK_TARGET_BYTES: u32 = 46;
/** Distance and two bytes: what the quick path needs of the source after long literals. */
const QUICK_MATCH_SOURCE_BYTES: u32 = 4;
/** Literals above this are copied by the runtime's bulk copy. */
const VECTOR_COPY_BYTES_MAX: u32 = 192;
/** Matches up to this long are copied by two vectors, without a loop. */
const SHORT_MATCH_BYTES: u32 = 32;
/** Distances below this overlap within one vector. */
const VECTOR_BYTES: u32 = 16;

@inline
function place(input: usize, output: usize): u64 {
  return <u64> input << 32 | <u64> output;
}

@inline
function inputOf(place: u64): usize {
  return <usize> (place >> 32);
}

@inline
function outputOf(place: u64): usize {
  return <usize> place;
}

/** Copies vectors until `end`, and at most 31 bytes further; at least one pair. */
@inline
function copyVectors(target: usize, source: usize, end: usize): void {
  let output = target, from = source;
  do {
    copy32(output, from);
    output += 32;
    from += 32;
  } while (output < end);
}

/** Repeats the 1 to 15 bytes before `target` until `end`, and at most 15 bytes further. */
@inline
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

/** Takes sequences until one needs the careful path; returns the place of that one. */
function takeQuickly(at: u64, sourceEnd: usize, target: usize, targetEnd: usize): u64 {
  let input = inputOf(at), output = outputOf(at);
  const inputMax = sourceEnd - QUICK_SOURCE_BYTES, outputMax = targetEnd - QUICK_TARGET_BYTES;
  while (true) {
    if (input > inputMax) break;
    if (output > outputMax) break;
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
      if (<u32> (sourceEnd - from) - literals < QUICK_MATCH_SOURCE_BYTES) break;
      if (<u32> (targetEnd - output) - literals < QUICK_TARGET_BYTES) break;
      if (literals <= VECTOR_COPY_BYTES_MAX) copyVectors(output, from, output + literals);
      else memory.copy(output, from, literals);
      output += literals;
      input = from + literals;
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
    const match = output - distance;
    if (match < target) return MALFORMED;
    if (distance >= VECTOR_BYTES) {
      if (matched <= SHORT_MATCH_BYTES) {
        copy32(output, match);
        output += matched;
        continue;
      }
      if (matched > <u32> (targetEnd - output)) return MALFORMED;
      copyVectors(output, match, output + matched);
    } else {
      if (distance == 0) return MALFORMED;
      if (matched > <u32> (targetEnd - output)) return MALFORMED;
      repeatPattern(output, distance, output + matched);
    }
    output += matched;
  }
  return place(input, output);
}

/** Takes one sequence; returns the place after it: the source's end only after the last one. */
function takeCarefully(at: u64, sourceEnd: usize, target: usize, targetEnd: usize): u64 {
  let input = inputOf(at), output = outputOf(at);
  if (input >= sourceEnd) return MALFORMED;
  const token = <u32> load<u8>(input++);
  let literals = token >> 4, matched = token & TOKEN_HALF_MAX, more: u32;
  if (literals == TOKEN_HALF_MAX) {
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
  if (input == sourceEnd) return place(input, output);

  if (<u32> (sourceEnd - input) < 2) return MALFORMED;
  const distance = <u32> load<u16>(input), match = output - distance;
  input += 2;
  if (matched == TOKEN_HALF_MAX) {
    do {
      if (input >= sourceEnd) return MALFORMED;
      more = <u32> load<u8>(input++);
      matched += more;
    } while (more == LENGTH_BYTE_MAX);
  }
  matched += MATCH_BYTES_MIN;
  if (distance == 0) return MALFORMED;
  if (match < target) return MALFORMED;
  if (matched > <u32> (targetEnd - output)) return MALFORMED;
  if (distance >= VECTOR_BYTES) copyVectors(output, match, output + matched);
  else repeatPattern(output, distance, output + matched);
  return input < sourceEnd ? place(input, output + matched) : MALFORMED;
}

/**
 * Decompresses the block of `length` bytes at `source` to `target`.
 *
 * @param capacity Most bytes that the block may give.
 * @returns Bytes written, or -1 when the block is malformed or gives more.
 */
export function decompress(source: usize, length: u32, target: usize, capacity: u32): i32 {
  const sourceEnd = source + length, targetEnd = target + capacity;
  let at = place(source, target);
  while (true) {
    at = takeQuickly(at, sourceEnd, target, targetEnd);
    if (at == MALFORMED) return -1;
    at = takeCarefully(at, sourceEnd, target, targetEnd);
    if (at == MALFORMED) return -1;
    if (inputOf(at) == sourceEnd) return <i32> (outputOf(at) - target);
  }
}
