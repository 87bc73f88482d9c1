/** Splits encoded changes between what a writer has and what it lacks: an append is all or nothing. */
import { changesFromCborSequence } from "../engine/format/change_input.ts";
import { scanChanges } from "../engine/format/change_scan.ts";
import type { EncodedChanges } from "../engine/types.ts";

/**
 * The changes as they can be appended at `offset` of a writer that ends at `end`: those before the
 * end apart from those after it.
 */
export function splitAtEnd(changes: EncodedChanges, offset: number, end: number): EncodedChanges[] {
  const known = end - offset;
  if (known <= 0 || known >= changes.count) return [changes];
  const at = scanChanges(changes.bytes).dataEnd(known - 1);
  return [changes.bytes.subarray(0, at), changes.bytes.slice(at)].map(changesFromCborSequence);
}
