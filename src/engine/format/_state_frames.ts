/** Header and index frame of a state object. @module */
import { FORMAT_VERSION, STATE_BLOCKS_MAX } from "../limits.ts";
import { decodeBlocks, encodeBlocks } from "./_block_list.ts";
import { cborCount, decodeCbor, encodeCbor } from "./_cbor.ts";
import {
  HEADER_FRAME,
  openFrame,
  type SealedFrame,
  sealFrame,
  STATE_INDEX_FRAME,
} from "./_frame.ts";
import { openHeader } from "./_header_fields.ts";
import { isBlockSize, lz4FrameBytes, UNSIZED } from "./_lz4_frame.ts";
import { Malformed } from "./_malformed.ts";
import {
  wantArray,
  wantBytes,
  wantCount,
  wantHash,
  wantName,
  wantSame,
  wantUuid,
  wantWithin,
} from "./_want.ts";
import type { StateHeader, StateIndex } from "./state_object.ts";

const KIND = "state-object";
const FIELDS = [
  "kind",
  "version",
  "store",
  "job",
  "name",
  "epoch",
  "run",
  "uuid",
  "createdAtMs",
] as const;

/**
 * Makes the header frame.
 *
 * @throws {Malformed} A value in it is out of range.
 */
export function encodeStateHeader(header: StateHeader): SealedFrame {
  checkHeader(header);
  const { store, job, name, uuid } = header;
  return sealFrame(
    HEADER_FRAME,
    encodeCbor({
      kind: KIND,
      version: FORMAT_VERSION,
      store,
      job,
      name,
      epoch: cborCount(header.epoch),
      run: cborCount(header.run),
      uuid,
      createdAtMs: cborCount(header.createdAtMs),
    }),
  );
}

/** A header, and where it ends. */
export interface StateHeaderFrame {
  readonly header: StateHeader;
  readonly length: number;
  readonly hash: bigint;
}

/**
 * Reads a header frame that is whole.
 *
 * @throws {Malformed}
 * @throws {NewerFormat}
 */
export function decodeStateHeader(frame: Uint8Array): StateHeaderFrame {
  const { fields, hash } = openHeader(frame, KIND, FIELDS);
  const header = checkHeader(fields);
  return { header, length: frame.length, hash };
}

function checkHeader(fields: Readonly<Record<keyof StateHeader, unknown>>): StateHeader {
  return {
    store: wantUuid("store", fields.store),
    job: wantName("job", fields.job),
    name: wantName("state", fields.name),
    epoch: wantCount("epoch", fields.epoch),
    run: wantCount("run", fields.run),
    uuid: wantUuid("uuid", fields.uuid),
    createdAtMs: wantCount("creation time", fields.createdAtMs),
  };
}

/** Makes the index frame. */
export function encodeStateIndex(index: StateIndex): SealedFrame {
  return sealFrame(
    STATE_INDEX_FRAME,
    encodeCbor([
      index.uuid,
      cborCount(index.epoch),
      cborCount(index.position),
      cborCount(index.size),
      cborCount(index.blockBytes),
      encodeBlocks(index.blocks),
      index.frameHash,
      index.headerHash,
      index.contentHash,
    ]),
  );
}

/**
 * Reads an index frame that is whole.
 *
 * @param position Where the frame begins in its file.
 * @throws {Malformed} Also when what it says of its object does not agree with itself.
 */
export function decodeStateIndex(frame: Uint8Array, position: number): StateIndex {
  const { item } = openFrame(STATE_INDEX_FRAME, frame);
  const fields = wantArray("content", decodeCbor(item), 9);
  const [uuid, epoch, start, size, blockBytes, blocks, frameHash, headerHash, contentHash] = fields;
  const index: StateIndex = {
    uuid: wantUuid("file uuid", uuid),
    epoch: wantCount("epoch", epoch),
    position: wantCount("position", start),
    size: wantCount("size", size),
    blockBytes: wantCount("block size", blockBytes),
    blocks: decodeBlocks(wantBytes("list of blocks", blocks)),
    frameHash: wantHash("hash of the LZ4 frame", frameHash),
    headerHash: wantHash("hash of the header", headerHash),
    contentHash: wantHash("hash of the content", contentHash),
  };
  checkIndex(index, position);
  return index;
}

function checkIndex({ size, blockBytes, blocks, position }: StateIndex, end: number): void {
  if (!isBlockSize(blockBytes)) throw new Malformed(`its block size is ${blockBytes}`);
  wantSame("number of blocks", blocks.length, Math.ceil(size / blockBytes));
  wantWithin("number of blocks", blocks.length, 0, STATE_BLOCKS_MAX);
  for (const { length } of blocks) wantWithin("block's length", length, 1, blockBytes);
  wantSame("end of the LZ4 frame", position + lz4FrameBytes(blocks, UNSIZED), end);
}
