/**
 * Which change sets and changes a range holds.
 * Owns: the cut of slices. Does not own: reading them.
 * @module
 */
import { scanChanges } from "../format/change_scan.ts";
import type { ChangeSetFacts } from "../format/change_set.ts";
import type { ChangeRange, RestoredSlice } from "../types.ts";

/** Whether a change set may hold something that is wanted. */
export function mayHold(range: ChangeRange, set: ChangeSetFacts): boolean {
  const { writers, keyGroups, from = 0, to = Number.MAX_SAFE_INTEGER } = range;
  if (writers !== undefined && !writers.includes(set.writer)) return false;
  if (set.firstOffset >= to || set.firstOffset + set.count <= from) return false;
  return keyGroups === undefined ||
    (set.keyGroupMax >= keyGroups[0] && set.keyGroupMin <= keyGroups[1]);
}

/** Cuts a slice down to the runs of changes that are wanted, whoever their writer is; without a copy. */
export function* filterSlice(slice: RestoredSlice, filter: ChangeRange): Generator<RestoredSlice> {
  const { keyGroups, from = 0, to = Number.MAX_SAFE_INTEGER } = filter;
  const end = slice.firstOffset + slice.count;
  if (end <= from || slice.firstOffset >= to) return;
  if (keyGroups === undefined && slice.firstOffset >= from && end <= to) {
    yield slice;
    return;
  }
  const scan = scanChanges(slice.bytes);
  const isWanted = (index: number): boolean => {
    const offset = slice.firstOffset + index;
    if (offset < from || offset >= to) return false;
    const keyGroup = scan.keyGroup(index);
    return keyGroups === undefined || (keyGroup >= keyGroups[0] && keyGroup <= keyGroups[1]);
  };
  for (let first = 0; first < scan.count;) {
    if (!isWanted(first)) {
      first += 1;
      continue;
    }
    let next = first + 1;
    while (next < scan.count && isWanted(next)) next += 1;
    yield {
      writer: slice.writer,
      firstOffset: slice.firstOffset + first,
      count: next - first,
      bytes: slice.bytes.subarray(scan.itemStart(first), scan.itemEnd(next - 1)),
    };
    first = next;
  }
}
