/**
 * Reads change sets out of a batch.
 *
 * Owns: that what comes out is just what was put in: every block against the index, every set's item against its
 * entry, every change against the format.
 * Does not own: which sets are wanted, and whether the batch belongs to its file.
 * @module
 */
import { acquireCodec, type Codec, releaseCodec } from "../../../wasm/mod.ts";
import { BodyReader } from "./_body_reader.ts";
import { orCorrupt } from "./_malformed.ts";
import { type ChangeSlice, endOf, SetReader } from "./_set_reader.ts";
import { SourceWindow } from "./_source_window.ts";
import { checkStoredFrame, readStoredFrame, STORED_FRAME_ARENA_BYTES } from "./_stored_frame.ts";
import type { ByteSource } from "./byte_source.ts";
import type { Batch } from "./change_file.ts";
import type { ChangeSetEntry } from "./change_set.ts";
export type { ChangeSlice } from "./_set_reader.ts";

/**
 * Reads change sets, in the order of the body.
 *
 * @param sets Some of the batch's, in their order.
 * @returns Slices of about 1 MiB at most, unless one change is larger.
 * @throws {TidemarkError} `corrupt`; what the source throws.
 */
export async function* readSets(
  source: ByteSource,
  batch: Batch,
  sets: readonly ChangeSetEntry[],
): AsyncGenerator<ChangeSlice, void> {
  checkOrder(sets);
  const codec = acquireCodec();
  try {
    const ranges = sets.map((set) => [set.bodyOffset, endOf(set)] as const);
    const body = new BodyReader(codec, { source, batch }, ranges);
    for (const set of sets) yield* new SetReader(body, set, { source, batch }).slices();
  } finally {
    releaseCodec(codec);
  }
}

/**
 * Checks all of a batch: every stored byte, the content checksum of its LZ4 frame, and every change.
 *
 * @throws {TidemarkError} `corrupt`; what the source throws.
 */
export async function verifyBatchContent(source: ByteSource, batch: Batch): Promise<void> {
  const codec = acquireCodec();
  try {
    await verifyFrame(codec, source, batch);
  } finally {
    releaseCodec(codec);
  }
  for await (const _slice of readSets(source, batch, batch.sets));
}

async function verifyFrame(codec: Codec, source: ByteSource, batch: Batch): Promise<void> {
  const range = { from: batch.position, to: batch.indexPosition };
  const memory = { codec, start: codec.arenaStart + STORED_FRAME_ARENA_BYTES };
  const window = new SourceWindow(source, range, memory);
  await orCorrupt({ key: source.key, ...range }, `batch ${batch.number}`, async () => {
    checkStoredFrame(await readStoredFrame(codec, window, { decompress: true }), batch);
  });
}

function checkOrder(sets: readonly ChangeSetEntry[]): void {
  for (let i = 1; i < sets.length; i++) {
    if (sets[i].bodyOffset < endOf(sets[i - 1])) {
      throw new RangeError("Cannot read change sets: wants them in the order of their batch");
    }
  }
}
