/**
 * What a state object is made of. `docs/FORMAT.md` says it byte by byte.
 * @module
 */
import type { Block } from "./change_file.ts";

/** What the header of a state object says. */
export interface StateHeader {
  readonly store: string;
  readonly job: string;
  /** Name of the state. */
  readonly name: string;
  readonly epoch: number;
  readonly run: number;
  readonly uuid: string;
  readonly createdAtMs: number;
}

/** What the index at the end of a state object says. */
export interface StateIndex {
  /** As in the header. */
  readonly uuid: string;
  /** As in the header. */
  readonly epoch: number;
  /** Where the LZ4 frame begins in the file. */
  readonly position: number;
  /** Bytes of the content. */
  readonly size: number;
  /** Bytes of content in every block but the last. */
  readonly blockBytes: number;
  readonly blocks: readonly Block[];
  /** XXH64 of the LZ4 frame. */
  readonly frameHash: bigint;
  /** XXH64 of the header frame. */
  readonly headerHash: bigint;
  /** XXH64 of the content. */
  readonly contentHash: bigint;
}

/** A state object, as its ends say. */
export interface StateObject {
  readonly header: StateHeader;
  readonly index: StateIndex;
}
