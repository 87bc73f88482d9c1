/** Codecs of the default size for the whole process: lent, given back, a few kept. @module */
import { Codec } from "./codec.ts";

const IDLE_MAX = 2;
const idle: Codec[] = [];
const lent = new WeakSet<Codec>();

/** Takes a codec of the default size out of the pool; give it back by {@link releaseCodec}. */
export function acquireCodec(): Codec {
  const codec = idle.pop() ?? Codec.create();
  lent.add(codec);
  return codec;
}

/**
 * Gives a codec back. Its bytes may be overwritten from now on, so no view of it may be in use.
 *
 * @throws {TypeError} When the pool has not lent it, or it was given back before.
 */
export function releaseCodec(codec: Codec): void {
  if (!lent.delete(codec)) {
    throw new TypeError(
      "Cannot release a codec: it is not lent by the pool, or already given back",
    );
  }
  if (idle.length < IDLE_MAX) idle.push(codec);
}
