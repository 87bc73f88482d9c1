/** Encoded changes, cut into pieces of bounded size. @module */
import { scanChangePrefix } from "../engine/format/change_scan.ts";

/**
 * Cuts a CBOR sequence of changes between changes. A change larger than a piece is a piece of its
 * own.
 *
 * @param pieceBytesMax Size in bytes that a piece has at most, unless one change is larger.
 */
export function* cutChanges(bytes: Uint8Array, pieceBytesMax: number): Generator<Uint8Array> {
  let from = 0;
  while (from < bytes.length) {
    let window = pieceBytesMax;
    let end = from;
    while (end === from) {
      const to = Math.min(from + window, bytes.length);
      end = to === bytes.length ? to : scanChangePrefix(bytes, { from, to }).end;
      window *= 2;
    }
    yield bytes.subarray(from, end);
    from = end;
  }
}
