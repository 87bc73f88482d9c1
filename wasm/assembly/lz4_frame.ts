/**
 * The blocks of an LZ4 frame, many at once: compressed, or stored plainly where that is not smaller, and hashed.
 * Source: "LZ4 Frame Format Description", lz4 project, doc/lz4_Frame_format.md.
 */
import { compress, compressBeside } from "./lz4_compress";
import { xxh32Update } from "./xxh32";
import { xxh64, xxh64Update } from "./xxh64";

/** Bytes before each block: its stored length. */
const WORD_BYTES: u32 = 4;
/** Set in that word of a block that is stored plainly. */
const PLAIN: u32 = 0x80000000;
/** Bytes that tell of a block: its stored length (4 at 0), XXH64 of the block and its word (8 at 8). */
const ENTRY_BYTES: usize = 16;

/** Brings a block into the frame, plainly unless `compressed` is less than its bytes, and tells of it. Returns its end. */
@inline
function putBlock(source: usize, bytes: u32, to: usize, compressed: u32, entry: usize): usize {
  let stored = compressed, word = compressed;
  if (stored >= bytes) {
    stored = bytes;
    word = bytes | PLAIN;
    memory.copy(to + WORD_BYTES, source, bytes);
  }
  store<u32>(to, word);
  store<u32>(entry, stored);
  store<u64>(entry, xxh64(to, WORD_BYTES + stored), 8);
  return to + WORD_BYTES + stored;
}

/** Puts blocks one after the other; `isBeside` is known to the compiler. Returns the place after the last one. */
@inline
function putBlocks(
  isBeside: bool,
  source: usize,
  length: u32,
  blockBytes: u32,
  target: usize,
  contentState: usize,
  entries: usize,
  isCompressed: bool,
): usize {
  const end = source + length;
  let at = source, to = target, entry = entries;
  while (at < end) {
    const bytes = min(blockBytes, <u32> (end - at));
    if (!isBeside) xxh32Update(contentState, at, bytes);
    let stored = bytes;
    if (isCompressed) {
      stored = isBeside
        ? compressBeside(at, bytes, to + WORD_BYTES)
        : compress(at, bytes, to + WORD_BYTES);
    }
    to = putBlock(at, bytes, to, stored, entry);
    entry += ENTRY_BYTES;
    at += bytes;
  }
  return to;
}

/**
 * Encodes `length` bytes at `source` as blocks of `blockBytes`, the last one shorter, to `target`. Takes the source into
 * the XXH32 at `contentState`, what is written into the XXH64 at `frameState`, and tells of each block at `entries`.
 * Returns the place after the last block.
 */
export function encodeBlocks(
  source: usize,
  length: u32,
  blockBytes: u32,
  target: usize,
  contentState: usize,
  frameState: usize,
  entries: usize,
  isCompressed: bool,
): usize {
  const to = putBlocks(
    false,
    source,
    length,
    blockBytes,
    target,
    contentState,
    entries,
    isCompressed,
  );
  xxh64Update(frameState, target, <u32> (to - target));
  return to;
}

/** The same without the two states, while another thread calls {@link encodeBlocks} in the same memory. */
export function encodeBlocksBeside(
  source: usize,
  length: u32,
  blockBytes: u32,
  target: usize,
  entries: usize,
  isCompressed: bool,
): usize {
  return putBlocks(true, source, length, blockBytes, target, 0, entries, isCompressed);
}

/** Moves blocks from `from` to `end`, where the others end, into the XXH64 at `frameState`. Returns their new end. */
export function joinBlocks(end: usize, from: usize, length: u32, frameState: usize): usize {
  memory.copy(end, from, length);
  xxh64Update(frameState, end, length);
  return end + length;
}
