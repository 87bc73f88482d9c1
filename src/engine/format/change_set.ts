/**
 * A change set: what one writer's changes between two roll-overs are on their way into a batch, and the
 * item that stands before them in its body.
 * @module
 */
import { KEY_GROUP_MAX, META_KEY_GROUP } from "../limits.ts";
import type { KeyGroupRange } from "../types.ts";
import { headBytes } from "./_cbor_head.ts";
import { Malformed } from "./_malformed.ts";
import { wantCount, wantName, wantWithin } from "./_want.ts";

/**
 * What is known of a change set wherever it is.
 *
 * @example
 * ```ts
 * import type { ChangeSetFacts } from "@tidemark/tidemark";
 *
 * const nextOffsetOf = ({ firstOffset, count }: ChangeSetFacts): number => firstOffset + count;
 * console.assert(nextOffsetOf.length === 1);
 * ```
 */
export interface ChangeSetFacts {
  /** Whose changes they are. */
  readonly writer: string;
  /** The writer's key groups. */
  readonly keyGroups: KeyGroupRange;
  /** Epoch of the append. */
  readonly epoch: number;
  /** Its place among the writer's sets. */
  readonly sequenceNumber: number;
  /** Offset of the first change. */
  readonly firstOffset: number;
  /** Changes in it, at least one. */
  readonly count: number;
  /** Smallest key group among the changes. */
  readonly keyGroupMin: number;
  /** Largest key group among the changes. */
  readonly keyGroupMax: number;
  /** Bytes of the encoded changes. */
  readonly byteLength: number;
}

/**
 * A change set that is to be written. Seed: `StateChangeSet`.
 *
 * @example
 * ```ts
 * import { type ChangeSet, encodeChanges } from "@tidemark/tidemark";
 *
 * const { bytes, ...facts } = encodeChanges([{ keyGroup: 7, data: new Uint8Array([1]) }]);
 * const set: ChangeSet = {
 *   ...facts,
 *   writer: "totals",
 *   keyGroups: [0, 127],
 *   epoch: 1,
 *   sequenceNumber: 0,
 *   firstOffset: 0,
 *   byteLength: bytes.length,
 *   chunks: [bytes],
 * };
 * console.assert(set.count === 1 && set.byteLength === 4);
 * ```
 */
export interface ChangeSet extends ChangeSetFacts {
  /** The encoded changes, one chunk after the other. */
  readonly chunks: readonly Uint8Array[];
}

/** A change set that stands in a batch. */
export interface ChangeSetEntry extends ChangeSetFacts {
  /** Where its header item begins in the body. */
  readonly bodyOffset: number;
  /** Bytes of its header item; the changes follow. */
  readonly headerLength: number;
}

/** The item that stands before the changes: `[writer, epoch, sqn, firstOffset, count, byteLength]`, preferred encoding. */
export function encodeSetHeader(set: ChangeSetFacts): Uint8Array {
  const item = new Uint8Array(setHeaderBytes(set));
  writeSetHeader(item, 0, set);
  return item;
}

/** Writes what {@link encodeSetHeader} makes; answers the position after it. */
export function writeSetHeader(target: Uint8Array, at: number, set: ChangeSetFacts): number {
  const { writer } = set;
  target[at++] = 0x86;
  at = writeHead(target, at, 0x60, writer.length);
  // Names are ASCII.
  for (let i = 0; i < writer.length; i++) target[at++] = writer.charCodeAt(i);
  at = writeHead(target, at, 0x00, set.epoch);
  at = writeHead(target, at, 0x00, set.sequenceNumber);
  at = writeHead(target, at, 0x00, set.firstOffset);
  at = writeHead(target, at, 0x00, set.count);
  return writeHead(target, at, 0x00, set.byteLength);
}

/** How many bytes {@link encodeSetHeader} makes. */
export function setHeaderBytes(set: ChangeSetFacts): number {
  const { writer, epoch, sequenceNumber, firstOffset, count, byteLength } = set;
  return 1 + headBytes(writer.length) + writer.length + headBytes(epoch) +
    headBytes(sequenceNumber) + headBytes(firstOffset) + headBytes(count) + headBytes(byteLength);
}

/** The entry of a change set whose header item begins at `bodyOffset`. */
export function entryOf(set: ChangeSetFacts, bodyOffset: number): ChangeSetEntry {
  return {
    writer: set.writer,
    keyGroups: set.keyGroups,
    epoch: set.epoch,
    sequenceNumber: set.sequenceNumber,
    firstOffset: set.firstOffset,
    count: set.count,
    keyGroupMin: set.keyGroupMin,
    keyGroupMax: set.keyGroupMax,
    byteLength: set.byteLength,
    bodyOffset,
    headerLength: setHeaderBytes(set),
  };
}

/**
 * Checks types, ranges and what must agree.
 *
 * @throws {Malformed}
 */
export function checkSetFacts(set: ChangeSetFacts): void {
  const from = set.keyGroups[0];
  const to = set.keyGroups[1];
  wantName("writer", set.writer);
  wantWithin("the writer's first key group", from, META_KEY_GROUP, KEY_GROUP_MAX);
  wantWithin("the writer's last key group", to, from, KEY_GROUP_MAX);
  wantCount("epoch", set.epoch);
  wantCount("sequence number", set.sequenceNumber);
  wantCount("first offset", set.firstOffset);
  wantCount("count", set.count);
  wantCount("offset after the last change", set.firstOffset + set.count);
  wantWithin("smallest key group", set.keyGroupMin, META_KEY_GROUP, KEY_GROUP_MAX);
  wantWithin("largest key group", set.keyGroupMax, set.keyGroupMin, KEY_GROUP_MAX);
  wantCount("length", set.byteLength);
  if (set.count === 0 || set.byteLength < set.count * 3) {
    throw new Malformed(`${set.count} changes do not fit ${set.byteLength} bytes`);
  }
}

function writeHead(target: Uint8Array, at: number, major: number, value: number): number {
  const bytes = headBytes(value);
  if (bytes === 1) {
    target[at] = major | value;
    return at + 1;
  }
  target[at] = major | (0x18 + Math.log2(bytes - 1));
  let rest = value;
  for (let i = at + bytes - 1; i > at; i--) {
    target[i] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  return at + bytes;
}
