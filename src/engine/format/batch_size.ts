/**
 * How large a batch gets: what whoever puts batches together must know before.
 * @module
 */
import { BLOCK_WORD_BYTES } from "../../../wasm/mod.ts";
import { BATCH_BODY_BYTES_MAX, INDEX_FRAME_BYTES_MAX } from "../limits.ts";
import { indexBytesMax, setEntryBytesMax } from "./_index.ts";
import { checkBlockSize, LZ4_HEADER_BYTES, LZ4_TAIL_BYTES } from "./_lz4_frame.ts";
import { type ChangeSetFacts, setHeaderBytes } from "./change_set.ts";
export { endFrameBytesMax } from "./_index.ts";

/** Bytes of a batch. */
export interface BatchSize {
  /** Bytes of the body, uncompressed; at most 1 GiB. */
  readonly bodyBytes: number;
  readonly blocks: number;
  /** Most bytes of the index frame; at most 64 MiB. */
  readonly indexBytesMax: number;
  /** Most bytes that the batch takes in its file. */
  readonly storedBytesMax: number;
}

/**
 * Sizes a batch of these change sets.
 *
 * @param options.blockBytes 64 KiB, 256 KiB, 1 MiB or 4 MiB.
 */
export function batchSize(
  sets: Iterable<ChangeSetFacts>,
  options: { blockBytes: number },
): BatchSize {
  checkBlockSize(options.blockBytes);
  let bodyBytes = 0;
  let entryBytes = 0;
  for (const set of sets) {
    bodyBytes += setHeaderBytes(set) + set.byteLength;
    entryBytes += setEntryBytesMax(set);
  }
  const blocks = Math.ceil(bodyBytes / options.blockBytes);
  const index = indexBytesMax(blocks) + entryBytes;
  const frame = LZ4_HEADER_BYTES + blocks * BLOCK_WORD_BYTES + bodyBytes + LZ4_TAIL_BYTES;
  return { bodyBytes, blocks, indexBytesMax: index, storedBytesMax: frame + index };
}

/** Whether a batch of this size is within the caps; a larger one must be split. */
export function fitsOneBatch(size: BatchSize): boolean {
  return size.bodyBytes <= BATCH_BODY_BYTES_MAX && size.indexBytesMax <= INDEX_FRAME_BYTES_MAX;
}
