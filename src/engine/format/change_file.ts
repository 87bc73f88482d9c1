/**
 * What a change file is made of. `docs/FORMAT.md` says it byte by byte.
 * @module
 */
import type { ChangeSetEntry } from "./change_set.ts";

/** An earlier file of the same epoch that no header on disk names yet. */
export interface Predecessor {
  readonly number: number;
  readonly uuid: string;
  /** Up to which its syncs had returned. */
  readonly syncedLength: number;
}

/** What the header of a change file says. */
export interface ChangeFileHeader {
  readonly store: string;
  readonly job: string;
  readonly log: string;
  readonly epoch: number;
  readonly run: number;
  /** Counts the epoch's files. */
  readonly number: number;
  readonly uuid: string;
  readonly createdAtMs: number;
  readonly predecessors: readonly Predecessor[];
}

/** A header, and where it ends. */
export interface HeaderFrame {
  readonly header: ChangeFileHeader;
  /** Bytes of the frame; the first batch begins there. */
  readonly length: number;
  /** XXH64 of the frame; the first batch's index names it. */
  readonly hash: bigint;
}

/** One block of a batch, as stored. */
export interface Block {
  /** Stored bytes, without the word before them. */
  readonly length: number;
  /** XXH64 of the word and the stored bytes. */
  readonly hash: bigint;
}

/** A batch, as its index says. */
export interface Batch {
  /** The file's uuid. */
  readonly uuid: string;
  /** The file's epoch. */
  readonly epoch: number;
  /** Counts the file's batches, from 0. */
  readonly number: number;
  /** Where its LZ4 frame begins in the file. */
  readonly position: number;
  /** Bytes of its LZ4 frame. */
  readonly frameLength: number;
  /** XXH64 of its LZ4 frame. */
  readonly frameHash: bigint;
  /** Where its index frame begins in the file. */
  readonly indexPosition: number;
  /** Where it ends in the file. */
  readonly end: number;
  /** XXH64 of its index frame. */
  readonly indexHash: bigint;
  /** XXH64 of the index before, or of the header. */
  readonly previousHash: bigint;
  /** Bytes of the body, uncompressed. */
  readonly bodyLength: number;
  /** Uncompressed bytes of every block but the last. */
  readonly blockBytes: number;
  readonly blocks: readonly Block[];
  /** In the order of the body. */
  readonly sets: readonly ChangeSetEntry[];
}

/** What the frame at the end of a sealed file says. */
export interface FileIndex {
  readonly uuid: string;
  readonly epoch: number;
  /** XXH64 of the last batch's index, or of the header. */
  readonly lastHash: bigint;
  /** Place of every batch's index frame: u64 position and u32 length, little-endian, for each. */
  readonly places: Uint8Array;
}
