/** Which changes lie between two places, writer by writer. @module */
import type { OffsetRange } from "../types.ts";

/** An offset of every writer; one that is missing stands at 0. */
export type Offsets = ReadonlyMap<string, number>;

/** Where writers end, as offsets. */
export function offsetsOf(
  ends: Iterable<{ readonly writer: string; readonly nextOffset: number }>,
): Map<string, number> {
  return new Map([...ends].map(({ writer, nextOffset }) => [writer, nextOffset]));
}

/** The greater offset of each writer. */
export function furthest(...places: readonly Offsets[]): Map<string, number> {
  const furthest = new Map<string, number>();
  for (const [writer, offset] of places.flatMap((place) => [...place])) {
    furthest.set(writer, Math.max(offset, furthest.get(writer) ?? 0));
  }
  return furthest;
}

/** What lies beyond one place and before another, in order of writers' names. */
export function rangesBetween(from: Offsets, to: Offsets): OffsetRange[] {
  return [...to].flatMap(([writer, end]) => {
    const start = from.get(writer) ?? 0;
    return end > start ? [{ writer, from: start, to: end }] : [];
  }).sort((a, b) => a.writer < b.writer ? -1 : 1);
}
