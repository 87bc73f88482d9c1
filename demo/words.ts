/**
 * What the demo takes for a word, and counting in one go: what the pipeline, however often it was
 * killed, must arrive at.
 * @module
 */

/** The words of a text: letters, digits and underscores, in lower case. */
export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
}

/** How often each word occurs. */
export function countWords(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of wordsOf(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** Fails with the first word whose count differs. */
export function compareCounts(
  found: ReadonlyMap<string, number>,
  wanted: ReadonlyMap<string, number>,
): void {
  for (const word of new Set([...found.keys(), ...wanted.keys()])) {
    if (found.get(word) === wanted.get(word)) continue;
    throw new Error(
      `Counts differ: "${word}" was counted ${found.get(word) ?? 0} times, ` +
        `and occurs ${wanted.get(word) ?? 0} times`,
    );
  }
}
