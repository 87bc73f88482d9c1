/** What tests of state objects share. @module */
import type { StorageBackend } from "../../src/engine/storage/backend.ts";
import type { JobReader, ReadStateOptions } from "../../src/engine/types.ts";
import { JOB, keysBelow, textOf } from "./_engine.ts";

/** What keys of state objects look like. */
export const STATE = /\/states\//;

/** Reads a state, as text. */
export async function stateOf(
  job: JobReader,
  name: string,
  options: ReadStateOptions = {},
): Promise<string> {
  let text = "";
  for await (const piece of job.readState(name, options)) text += textOf(piece);
  return text;
}

/** Keys of the state objects. */
export async function stateKeys(backend: StorageBackend): Promise<string[]> {
  return await keysBelow(backend, `jobs/${JOB}/states/`);
}

/** Gives bytes piece by piece, and says whether it was ended before. */
export class PieceSource implements AsyncIterable<Uint8Array> {
  isEnded = false;
  readonly #pieces: readonly Uint8Array[];
  readonly #last: () => Promise<unknown>;

  /** @param last Called after the last piece. @default it ends there */
  constructor(pieces: readonly Uint8Array[], last: () => Promise<unknown> = async () => {}) {
    this.#pieces = pieces;
    this.#last = last;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      yield* this.#pieces;
      await this.#last();
    } finally {
      this.isEnded = true;
    }
  }
}
