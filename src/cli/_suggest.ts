/** Finds what a mistyped word was meant to be. */

/** The nearest of `known`, if it is near enough to be meant. */
export function suggest(word: string, known: readonly string[]): string | undefined {
  const nearest = known
    .map((candidate) => ({ candidate, distance: distanceOf(word, candidate) }))
    .sort((a, b) => a.distance - b.distance)[0];
  const isNear = nearest !== undefined && nearest.distance <= Math.min(2, word.length / 2);
  return isNear ? nearest.candidate : known.find((candidate) => isBegunBy(candidate, word));
}

function isBegunBy(candidate: string, word: string): boolean {
  return word.length >= 2 && candidate.startsWith(word);
}

/** Edits from `a` to `b`: insert, delete, replace, or swap two neighbours. */
function distanceOf(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let i = 1; i <= a.length; i++) {
    rows.push([i]);
    for (let j = 1; j <= b.length; j++) {
      const replace = rows[i - 1][j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = isSwap ? rows[i - 2][j - 2] + 1 : Infinity;
      rows[i].push(Math.min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, replace, swap));
    }
  }
  return rows[a.length][b.length];
}
