/**
 * Restores a writer from an offset on, or from where it begins, since what is before was truncated.
 * @module
 */
import { hasCode } from "../../engine/errors.ts";
import type { ReadTarget, RestoreWish, TargetRestore } from "./target.ts";

/** A restore that says where it begins. */
export interface PlacedRestore extends TargetRestore {
  /** Offset of the first change that comes. */
  readonly from: number;
}

/** Begins a restore; where the writer begins later than wanted, there. */
export async function restoreWhatIsThere(
  reader: ReadTarget,
  writer: string,
  wish: RestoreWish & { readonly from: number },
): Promise<PlacedRestore> {
  try {
    return await begin(reader, writer, wish);
  } catch (error) {
    const base = hasCode(error, "truncated") ? Number(error.details.base) : NaN;
    if (!(base > wish.from)) throw error;
    return await begin(reader, writer, { ...wish, from: base });
  }
}

/** Only the first piece tells whether it can begin. */
async function begin(
  reader: ReadTarget,
  writer: string,
  wish: RestoreWish & { readonly from: number },
): Promise<PlacedRestore> {
  const restore = await reader.restore(writer, wish);
  const pieces = restore.pieces[Symbol.asyncIterator]();
  const first = await pieces.next();
  return { ...restore, from: wish.from, pieces: afterFirst(first, pieces) };
}

async function* afterFirst<Piece>(
  first: IteratorResult<Piece>,
  rest: AsyncIterator<Piece>,
): AsyncGenerator<Piece> {
  try {
    for (let next = first; next.done !== true; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}
