/** Where writers stand, in manifests and out of them. @module */
import type { ManifestWriter } from "../format/manifest.ts";
import type { WriterEnd } from "./tail.ts";

/** Where a writer stands in a checkpoint. */
export function endOfManifest(stored: ManifestWriter): WriterEnd {
  const { writer, keyGroups, sequenceNumber, nextOffset, isClosed } = stored;
  const base = { sequenceNumber: stored.baseSequenceNumber, offset: stored.baseOffset };
  return { writer, keyGroups, sequenceNumber, nextOffset, base, isClosed };
}

/** Writes where a writer stands into a checkpoint. */
export function endToManifest(end: WriterEnd): ManifestWriter {
  const { writer, keyGroups, sequenceNumber, nextOffset, base, isClosed = false } = end;
  const baseSequenceNumber = base?.sequenceNumber ?? 0;
  const baseOffset = base?.offset ?? 0;
  return {
    writer,
    keyGroups,
    baseSequenceNumber,
    baseOffset,
    sequenceNumber,
    nextOffset,
    isClosed,
  };
}
