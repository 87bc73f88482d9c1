/**
 * A change file as bytes, read in windows, so that many small reads cost one.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { ByteSource } from "../format/change_file_reader.ts";
import { MIB } from "../limits.ts";
import type { StorageBackend } from "../storage/backend.ts";

const WINDOW_BYTES = MIB;

/** Reads one object of a backend. */
export class ChangeFileSource implements ByteSource {
  readonly key: string;
  readonly size: number;
  readonly #backend: StorageBackend;
  readonly #signal: AbortSignal | undefined;
  #window: Uint8Array = new Uint8Array(0);
  #windowStart = 0;

  constructor(backend: StorageBackend, key: string, size: number, signal?: AbortSignal) {
    this.#backend = backend;
    this.key = key;
    this.size = size;
    this.#signal = signal;
  }

  async read(from: number, to: number): Promise<Uint8Array> {
    const start = from - (from % WINDOW_BYTES);
    if (to > start + WINDOW_BYTES) {
      return await this.#backend.get(this.key, { from, to, signal: this.#signal });
    }
    const isHeld = this.#windowStart === start && this.#windowStart + this.#window.length >= to;
    if (!isHeld) {
      this.#window = await this.#backend.get(this.key, {
        from: start,
        to: Math.min(start + WINDOW_BYTES, this.size),
        signal: this.#signal,
      });
      this.#windowStart = start;
    }
    return this.#window.subarray(from - start, to - start);
  }
}

/** Opens a change file that must be there. @throws {TidemarkError} `changes-lost` when it is not. */
export async function openChangeFile(
  backend: StorageBackend,
  key: string,
  options: { readonly length: number; readonly neededBy: string; readonly signal?: AbortSignal },
): Promise<ChangeFileSource> {
  const { length, neededBy, signal } = options;
  const info = await backend.head(key);
  if (info !== undefined && info.size >= length) {
    return new ChangeFileSource(backend, key, length, signal);
  }
  const found = info === undefined ? "it is missing" : `it has only ${info.size} bytes`;
  throw new TidemarkError(
    "changes-lost",
    `Cannot read ${key}, of which ${neededBy} needs ${length} bytes: ${found}; restore it from a backup, or resume at a checkpoint that does not need it`,
    { details: { key, length, size: info?.size, neededBy } },
  );
}
