/**
 * What the golden files hold. A golden file never changes: a new format gets new ones beside them.
 * @module
 */
import { ChangeFileEncoder } from "../../../src/engine/format/change_file_encoder.ts";
import type { ChangeFileHeader } from "../../../src/engine/format/change_file.ts";
import { encodeChanges } from "../../../src/engine/format/change_input.ts";
import type { ChangeSet } from "../../../src/engine/format/change_set.ts";
import type { StateHeader } from "../../../src/engine/format/state_object.ts";
import type { Change } from "../../../src/engine/types.ts";
import { encodeState } from "./_states.ts";

/** Header of the golden change files. */
export const HEADER: ChangeFileHeader = {
  store: "01890a5d-ac96-774b-bcce-b302099a8057",
  job: "word-count",
  log: "main",
  epoch: 5_000_000_000,
  run: 2,
  number: 3,
  uuid: "01890a5d-ac96-774b-bcce-b302099a8058",
  createdAtMs: 1_700_000_000_000,
  predecessors: [
    { number: 1, uuid: "01890a5d-ac96-774b-bcce-b302099a8059", syncedLength: 0 },
    { number: 2, uuid: "01890a5d-ac96-774b-bcce-b302099a805a", syncedLength: 5_000_000_000 },
  ],
};

/** One change set of the golden change files, its changes not yet encoded. */
export interface GoldenSet {
  readonly writer: string;
  readonly keyGroups: readonly [number, number];
  readonly epoch: number;
  readonly sequenceNumber: number;
  readonly firstOffset: number;
  readonly changes: readonly Change[];
}

function text(value: string): Uint8Array {
  return new TextEncoder().encode(value);
}

/** Changes whose key groups and lengths take every width that CBOR has for them, but the largest. */
const EVERY_WIDTH: readonly Change[] = [-1, 0, 23, 24, 255, 256, 65535, 65536, 2 ** 31 - 1].map(
  (keyGroup, i) => ({
    keyGroup,
    data: new Uint8Array([0, 1, 23, 24, 255, 256, 65535, 65536, 3][i]).fill(i),
  }),
);

/** The batches of the golden change files. */
export const BATCHES: readonly (readonly GoldenSet[])[] = [
  [{
    writer: "counts-0",
    keyGroups: [0, 63],
    epoch: 5_000_000_000,
    sequenceNumber: 0,
    firstOffset: 0,
    changes: [{ keyGroup: 7, data: text("tide") }, { keyGroup: -1, data: text("") }],
  }],
  [
    {
      writer: "counts-0",
      keyGroups: [0, 63],
      epoch: 5_000_000_000,
      sequenceNumber: 1,
      firstOffset: 2,
      changes: EVERY_WIDTH,
    },
    {
      writer: "a",
      keyGroups: [0, 2 ** 31 - 1],
      epoch: 3,
      sequenceNumber: 2 ** 53 - 1,
      firstOffset: 2 ** 40,
      changes: Array.from({ length: 40 }, () => ({ keyGroup: 1, data: text("ebb and flow") })),
    },
  ],
  [{
    writer: "counts-0",
    keyGroups: [0, 63],
    epoch: 5_000_000_000,
    sequenceNumber: 2,
    firstOffset: 11,
    changes: [{ keyGroup: 63, data: text("slack water") }],
  }],
];

/** A golden set as the encoder takes it. */
export function changeSetOf(set: GoldenSet): ChangeSet {
  const { changes, ...facts } = set;
  const { bytes, ...encoded } = encodeChanges(changes);
  return { ...facts, ...encoded, byteLength: bytes.length, chunks: [bytes] };
}

/** The golden change file, sealed, as the program writes it now. */
export function encodeGoldenFile(compression: "lz4" | "none"): Uint8Array {
  const encoder = new ChangeFileEncoder(HEADER, { compression, blockBytes: 64 * 1024 });
  const pieces = [encoder.begin()];
  for (const sets of BATCHES) {
    for (const piece of encoder.batch(sets.map(changeSetOf))) pieces.push(piece.slice());
  }
  pieces.push(encoder.end());
  const file = new Uint8Array(encoder.length);
  let at = 0;
  for (const piece of pieces) {
    file.set(piece, at);
    at += piece.length;
  }
  return file;
}

/** Header of the golden state objects. */
export const STATE_HEADER: StateHeader = {
  store: HEADER.store,
  job: HEADER.job,
  name: "counts-0",
  epoch: HEADER.epoch,
  run: HEADER.run,
  uuid: "01890a5d-ac96-774b-bcce-b302099a805b",
  createdAtMs: HEADER.createdAtMs,
};

/** Content of the golden state objects: more than one block. */
export const STATE_CONTENT: Uint8Array = text("high water, low water; ".repeat(3000));

/** The golden state object as the program writes it now. */
export function encodeGoldenState(compression: "lz4" | "none"): Uint8Array {
  const options = { compression, blockBytes: 64 * 1024 };
  return encodeState([STATE_CONTENT], options, STATE_HEADER).bytes;
}

/** The body of the golden fact. */
export const FACT = { key: "jobs/word-count/owners/x.json", epoch: 5_000_000_000, text: "é" };
