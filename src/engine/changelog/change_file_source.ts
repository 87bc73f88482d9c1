/**
 * A change file as bytes, read in chunks, so that many small reads cost one, and with the next chunk on its way while
 * this one is worked on.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { ByteSource } from "../format/change_file_reader.ts";
import { MIB } from "../limits.ts";
import type { StorageBackend } from "../storage/backend.ts";

const CHUNK_BYTES = MIB;
/** Chunks that are held at once, the one read ahead included. */
const CHUNKS_MAX = 4;

/** Reads one object of a backend. */
export class ChangeFileSource implements ByteSource {
  readonly key: string;
  readonly size: number;
  readonly #backend: StorageBackend;
  readonly #signal: AbortSignal | undefined;
  /** By number; the one that was asked for last stands last. */
  readonly #chunks = new Map<number, Promise<Uint8Array>>();
  /** Where the last read began, and its last chunk: what goes on from there is read ahead. */
  #lastFrom = Infinity;
  #lastChunk = 0;

  constructor(backend: StorageBackend, key: string, size: number, signal?: AbortSignal) {
    this.#backend = backend;
    this.key = key;
    this.size = size;
    this.#signal = signal;
  }

  async read(from: number, to: number): Promise<Uint8Array> {
    const first = Math.floor(from / CHUNK_BYTES);
    const last = Math.floor(Math.max(from, to - 1) / CHUNK_BYTES);
    const goesOn = from >= this.#lastFrom && first <= this.#lastChunk + 1;
    this.#lastFrom = from;
    this.#lastChunk = last;
    // A long read would push out all that is held.
    if (last - first + 1 >= CHUNKS_MAX) return await this.#get(from, to);
    const chunks: Promise<Uint8Array>[] = [];
    for (let number = first; number <= last; number++) chunks.push(this.#chunk(number));
    if (goesOn && (last + 1) * CHUNK_BYTES < this.size) void this.#chunk(last + 1);
    const start = first * CHUNK_BYTES;
    if (first === last) return (await chunks[0]).subarray(from - start, to - start);
    return join(await Promise.all(chunks), from - start, to - start);
  }

  /** Lets go of what is held in memory. */
  rest(): void {
    this.#chunks.clear();
    this.#lastFrom = Infinity;
  }

  #chunk(number: number): Promise<Uint8Array> {
    let chunk = this.#chunks.get(number);
    if (chunk === undefined) {
      const from = number * CHUNK_BYTES;
      chunk = this.#get(from, Math.min(from + CHUNK_BYTES, this.size));
      // Whoever waits for it hears; what nobody asked for is asked for again.
      chunk.catch(() => this.#chunks.get(number) === chunk && this.#chunks.delete(number));
    }
    this.#chunks.delete(number);
    this.#chunks.set(number, chunk);
    for (const oldest of this.#chunks.keys()) {
      if (this.#chunks.size <= CHUNKS_MAX) break;
      this.#chunks.delete(oldest);
    }
    return chunk;
  }

  #get(from: number, to: number): Promise<Uint8Array> {
    return this.#backend.get(this.key, { from, to, signal: this.#signal });
  }
}

/** Bytes of chunks that follow each other, as far as they are there. */
function join(chunks: readonly Uint8Array[], from: number, to: number): Uint8Array {
  const bytes = new Uint8Array(to - from);
  let start = 0;
  let filled = 0;
  for (const chunk of chunks) {
    const piece = chunk.subarray(Math.max(0, from - start), Math.max(0, to - start));
    bytes.set(piece, filled);
    filled += piece.length;
    // What comes after a gap is not next to it.
    if (chunk.length < CHUNK_BYTES) break;
    start += CHUNK_BYTES;
  }
  return bytes.subarray(0, filled);
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
