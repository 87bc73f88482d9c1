/** XXH64 of ordinary byte arrays, through one small instance that all share. @module */
import { Codec } from "./codec.ts";
import { HASH_STATE_BYTES } from "./limits.ts";

/** Bytes that are copied into the instance at a time. */
const PIECE_BYTES = 65536;

let shared: Codec | undefined;

/** The shared instance: its arena begins with a state, a piece of the input follows. */
function sharedCodec(): { codec: Codec; state: number; piece: number } {
  shared ??= Codec.create({ arenaBytes: PIECE_BYTES + 2 * HASH_STATE_BYTES });
  const state = shared.arenaStart;
  return { codec: shared, state, piece: state + HASH_STATE_BYTES };
}

function updateInPieces(bytes: Uint8Array): void {
  const { codec, state, piece } = sharedCodec();
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    const part = bytes.subarray(at, at + PIECE_BYTES);
    codec.bytes.set(part, piece);
    codec.xxh64Update(state, piece, part.length);
  }
}

/**
 * XXH64 with seed 0 of the parts, one after the other. Source: xxHash fast digest algorithm.
 *
 * @returns A whole number from 0 to 2^64 - 1.
 */
export function xxh64(...parts: Uint8Array[]): bigint {
  const { codec, state } = sharedCodec();
  codec.xxh64Begin(state);
  for (const part of parts) updateInPieces(part);
  return codec.xxh64Digest(state);
}

/**
 * A streaming XXH64 with seed 0 over ordinary byte arrays; any number may be under way at once.
 * Source: xxHash fast digest algorithm.
 *
 * @example
 * ```ts
 * import { Xxh64, xxh64 } from "./mod.ts";
 *
 * const bytes = new TextEncoder().encode("tidemark");
 * const hash = new Xxh64().update(bytes.subarray(0, 4)).update(bytes.subarray(4)).digest();
 * console.assert(hash === xxh64(bytes));
 * ```
 */
export class Xxh64 {
  readonly #state = new Uint8Array(HASH_STATE_BYTES);

  constructor() {
    const { codec, state } = sharedCodec();
    codec.xxh64Begin(state);
    this.#save();
  }

  /** Takes the next bytes in. */
  update(bytes: Uint8Array): this {
    this.#restore();
    updateInPieces(bytes);
    this.#save();
    return this;
  }

  /** The hash of all bytes so far, from 0 to 2^64 - 1; more may follow. */
  digest(): bigint {
    const { codec, state } = sharedCodec();
    this.#restore();
    return codec.xxh64Digest(state);
  }

  #save(): void {
    const { codec, state } = sharedCodec();
    this.#state.set(codec.bytes.subarray(state, state + HASH_STATE_BYTES));
  }

  #restore(): void {
    const { codec, state } = sharedCodec();
    codec.bytes.set(this.#state, state);
  }
}
