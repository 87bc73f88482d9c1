import { scanChanges } from "../format/change_scan.ts";
import type { KeyGroupRange, RestoredSlice } from "../types.ts";

/** Which changes of a writer are wanted. */
export interface SliceFilter {
  /** @default all */
  readonly keyGroups?: KeyGroupRange;
  /** First offset. @default 0 */
  readonly from?: number;
  /** First offset not wanted any more. @default none */
  readonly to?: number;
}

/** Cuts a slice down to the runs of changes that are wanted, without a copy. */
export function* filterSlice(slice: RestoredSlice, filter: SliceFilter): Generator<RestoredSlice> {
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
