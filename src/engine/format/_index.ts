/** The index frame of a batch, and the one that ends a sealed file. @module */
import { BATCH_BODY_BYTES_MAX, KEY_GROUP_MAX, META_KEY_GROUP } from "../limits.ts";
import { BLOCK_ENTRY_BYTES, decodeBlocks, encodeBlocks } from "./_block_list.ts";
import { cborCount, decodeCbor, encodeCbor } from "./_cbor.ts";
import { CborWriter } from "./_cbor_writer.ts";
import {
  END_FRAME,
  FRAME_HEAD_BYTES,
  FRAME_TRAILER_BYTES,
  INDEX_FRAME,
  openFrame,
  type SealedFrame,
  sealFrame,
} from "./_frame.ts";
import { PLACE_BYTES } from "./_index_places.ts";
import { isBlockSize, lz4FrameBytes, SIZED } from "./_lz4_frame.ts";
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
import type { Batch, FileIndex } from "./change_file.ts";
import { type ChangeSetEntry, type ChangeSetFacts, checkSetFacts, entryOf } from "./change_set.ts";

const INDEX_FIXED_BYTES_MAX = FRAME_HEAD_BYTES + FRAME_TRAILER_BYTES + 1 + 38 + 9 * 9;
const SET_NUMBERS = 10;

const writer = new CborWriter();

/** Most bytes that the index spends on one change set. */
export function setEntryBytesMax(set: ChangeSetFacts): number {
  return 1 + 2 + set.writer.length + SET_NUMBERS * 9;
}

/** Most bytes of an index without its change sets. */
export function indexBytesMax(blocks: number): number {
  return INDEX_FIXED_BYTES_MAX + blocks * BLOCK_ENTRY_BYTES;
}

/** Most bytes of the frame that ends a file of so many batches. */
export function endFrameBytesMax(batches: number): number {
  return INDEX_FIXED_BYTES_MAX + batches * PLACE_BYTES;
}

/** Makes the index frame of a batch. */
export function encodeIndex(batch: Omit<Batch, "indexHash" | "end">): SealedFrame {
  writer.clear();
  writer.array(10);
  writer.text(batch.uuid);
  writer.integer(batch.epoch);
  writer.integer(batch.number);
  writer.integer(batch.position);
  writer.integer(batch.bodyLength);
  writer.integer(batch.blockBytes);
  writer.byteString(encodeBlocks(batch.blocks));
  writer.hash(batch.frameHash);
  writer.hash(batch.previousHash);
  writer.array(batch.sets.length);
  for (const set of batch.sets) encodeEntry(set);
  return sealFrame(INDEX_FRAME, writer.bytes);
}

function encodeEntry(set: ChangeSetEntry): void {
  writer.array(1 + SET_NUMBERS);
  writer.text(set.writer);
  writer.integer(set.keyGroups[0]);
  writer.integer(set.keyGroups[1]);
  writer.integer(set.epoch);
  writer.integer(set.sequenceNumber);
  writer.integer(set.firstOffset);
  writer.integer(set.count);
  writer.integer(set.keyGroupMin);
  writer.integer(set.keyGroupMax);
  writer.integer(set.bodyOffset);
  writer.integer(set.byteLength);
}

/**
 * Reads an index frame that is whole.
 *
 * @param position Where the frame begins in its file.
 * @throws {Malformed} Also when what it says of its batch does not agree with itself.
 */
export function decodeIndex(frame: Uint8Array, position: number): Batch {
  const { item, hash } = openFrame(INDEX_FRAME, frame);
  const fields = wantArray("content", decodeCbor(item), 10);
  const [uuid, epoch, number, start, bodyLength, blockBytes, blocks, frameHash, previous, sets] =
    fields;
  const batch: Batch = {
    uuid: wantUuid("file uuid", uuid),
    epoch: wantCount("epoch", epoch),
    number: wantCount("batch number", number),
    position: wantCount("position", start),
    frameLength: 0,
    frameHash: wantHash("hash of the LZ4 frame", frameHash),
    indexPosition: position,
    end: position + frame.length,
    indexHash: hash,
    previousHash: wantHash("hash of the index before", previous),
    bodyLength: wantWithin("body length", bodyLength, 1, BATCH_BODY_BYTES_MAX),
    blockBytes: wantCount("block size", blockBytes),
    blocks: decodeBlocks(wantBytes("list of blocks", blocks)),
    sets: wantArray("list of change sets", sets).map(decodeEntry),
  };
  const whole = { ...batch, frameLength: lz4FrameBytes(batch.blocks, SIZED) };
  checkBatch(whole);
  return whole;
}

function decodeEntry(value: unknown): ChangeSetEntry {
  const fields = wantArray("change set", value, 1 + SET_NUMBERS);
  const keyGroup = (what: string, field: number): number =>
    wantWithin(what, fields[field], META_KEY_GROUP, KEY_GROUP_MAX);
  const facts: ChangeSetFacts = {
    writer: wantName("writer", fields[0]),
    keyGroups: [keyGroup("first key group", 1), keyGroup("last key group", 2)],
    epoch: wantCount("epoch", fields[3]),
    sequenceNumber: wantCount("sequence number", fields[4]),
    firstOffset: wantCount("first offset", fields[5]),
    count: wantCount("count", fields[6]),
    keyGroupMin: keyGroup("smallest key group", 7),
    keyGroupMax: keyGroup("largest key group", 8),
    byteLength: wantCount("length", fields[10]),
  };
  return entryOf(facts, wantCount("place in the body", fields[9]));
}

/** Checks what an index says of its batch against itself. */
function checkBatch(batch: Batch): void {
  const { bodyLength, blockBytes, blocks, sets } = batch;
  if (!isBlockSize(blockBytes)) throw new Malformed(`its block size is ${blockBytes}`);
  wantSame("number of blocks", blocks.length, Math.ceil(bodyLength / blockBytes));
  for (const { length } of blocks) wantWithin("block's length", length, 1, blockBytes);
  wantSame("end of the LZ4 frame", batch.position + batch.frameLength, batch.indexPosition);
  let bodyOffset = 0;
  for (const set of sets) {
    checkSetFacts(set);
    wantWithin("change set's epoch", set.epoch, 0, batch.epoch);
    wantSame("change set's place in the body", set.bodyOffset, bodyOffset);
    bodyOffset += set.headerLength + set.byteLength;
  }
  wantSame("end of the last change set in the body", bodyOffset, bodyLength);
}

/** Makes the frame that ends a file. */
export function encodeFileIndex(index: FileIndex): SealedFrame {
  return sealFrame(
    END_FRAME,
    encodeCbor([index.uuid, cborCount(index.epoch), index.lastHash, index.places]),
  );
}

/**
 * Reads the frame that ends a file.
 *
 * @throws {Malformed}
 */
export function decodeFileIndex(frame: Uint8Array): FileIndex {
  const { item } = openFrame(END_FRAME, frame);
  const [uuid, epoch, lastHash, places] = wantArray("content", decodeCbor(item), 4);
  return {
    uuid: wantUuid("file uuid", uuid),
    epoch: wantCount("epoch", epoch),
    lastHash: wantHash("hash of the last index", lastHash),
    places: wantBytes("list of indexes", places),
  };
}
