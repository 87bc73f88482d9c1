/** Which media type a client gets: RFC 9110, section 12.5.1. */

interface Range {
  readonly type: string;
  /** 0 to 1; 0 refuses. */
  readonly quality: number;
}

/**
 * The media type of `available` that `accept` prefers: by quality, then by how closely it was named, then by its
 * place in the header. Without a header the first.
 *
 * @returns undefined when it takes none of them
 */
export function chooseMediaType(
  accept: string | null,
  available: readonly string[],
): string | undefined {
  if (accept === null || accept === "*/*" || accept === "") return available[0];
  const ranges = accept.split(",").map(readRange);
  let best: { type: string; rank: readonly number[] } | undefined;
  for (const type of available) {
    const rank = rankOf(type, ranges);
    if (rank !== undefined && (best === undefined || isAbove(rank, best.rank))) {
      best = { type, rank };
    }
  }
  return best?.type;
}

/** The media type of a header, without parameters, in lower case. */
export function mediaTypeOf(header: string | null): string {
  return (header ?? "").split(";", 1)[0].trim().toLowerCase();
}

function readRange(text: string): Range {
  const quality = /;\s*q=([^;]*)/i.exec(text)?.[1].trim();
  return { type: mediaTypeOf(text), quality: quality === undefined ? 1 : Number(quality) };
}

/** What stands for a type is the range that names it most closely; undefined where none does, or refuses it. */
function rankOf(type: string, ranges: readonly Range[]): readonly number[] | undefined {
  const group = `${type.split("/", 1)[0]}/*`;
  for (const [index, name] of [type, group, "*/*"].entries()) {
    const place = ranges.findIndex((range) => range.type === name);
    if (place < 0) continue;
    const { quality } = ranges[place];
    return quality > 0 && quality <= 1 ? [quality, -index, -place] : undefined;
  }
  return undefined;
}

function isAbove(rank: readonly number[], other: readonly number[]): boolean {
  const at = rank.findIndex((value, index) => value !== other[index]);
  return at >= 0 && rank[at] > other[at];
}
