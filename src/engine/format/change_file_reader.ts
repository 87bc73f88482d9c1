/**
 * Reads a change file from any of its ends: the header from the front, batches from the back.
 *
 * Owns: that what is read is whole and belongs where it stands.
 * Does not own: I/O, which a {@link ByteSource} does; what a batch means to a job.
 * @module
 */
import { wantOfFile } from "./_chain.ts";
import { HEADER_FRAME, INDEX_FRAME } from "./_frame.ts";
import { readFirstFrame, readFrameEndingAt } from "./_frame_ends.ts";
import { decodeHeader } from "./_header.ts";
import { decodeIndex } from "./_index.ts";
import { orCorrupt } from "./_malformed.ts";
import { wantSame } from "./_want.ts";
import type { ByteSource } from "./byte_source.ts";
import type { Batch, HeaderFrame } from "./change_file.ts";

export type { ByteSource } from "./byte_source.ts";
export { ChangeFileScan, type ScanEnd } from "./change_file_scan.ts";
export { type ChangeSlice, readSets, verifyBatchContent } from "./change_set_reader.ts";

/**
 * Reads the header of a change file.
 *
 * @throws {TidemarkError} `corrupt`; `unsupported-format` when the file is of a newer format; what the source throws.
 */
export function readHeader(source: ByteSource): Promise<HeaderFrame> {
  return readFirstFrame(source, HEADER_FRAME, decodeHeader);
}

/**
 * Reads the index that ends at `end`: what a length in a manifest stands for. Whether its uuid and epoch are the
 * header's, and its hash the manifest's, is for the caller to compare.
 *
 * @throws {TidemarkError} `corrupt`; what the source throws.
 */
export function readBatchEndingAt(source: ByteSource, end: number): Promise<Batch> {
  return readFrameEndingAt(source, { end, kind: INDEX_FRAME }, decodeIndex);
}

/**
 * Reads the indexes of a file backwards, each checked against the one after it, down to the header.
 *
 * @param end Where a batch ends, or the header.
 * @param file What {@link readHeader} read.
 * @returns Batches, the newest first.
 * @throws {TidemarkError} `corrupt`; what the source throws.
 */
export async function* batchesBackwards(
  source: ByteSource,
  end: number,
  file: HeaderFrame,
): AsyncGenerator<Batch, void> {
  const { key } = source;
  let next: Batch | undefined;
  for (let at = end; at !== file.length || next !== undefined && next.number > 0;) {
    const batch = await readBatchEndingAt(source, at);
    const range = { key, from: batch.indexPosition, to: batch.end };
    await orCorrupt(range, "the batch index", () => checkLink(batch, next, file));
    yield batch;
    next = batch;
    at = batch.position;
  }
}

function checkLink(batch: Batch, next: Batch | undefined, file: HeaderFrame): void {
  wantOfFile(batch, file);
  if (next !== undefined) {
    wantSame("batch number", batch.number, next.number - 1);
    wantSame("hash", batch.indexHash, next.previousHash);
  }
  if (batch.number > 0) return;
  wantSame("position", batch.position, file.length);
  wantSame("hash of the header", batch.previousHash, file.hash);
}
