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

/** A part of the object that is held, or on its way. */
interface Chunk {
  /** What is there of it. */
  readonly bytes: Promise<Uint8Array>;
  /** Memory that was offered for it. */
  readonly memory: Uint8Array;
  /** Whether it was read: its memory is nobody else's. */
  isRead: boolean;
  isHeld: boolean;
  /** Reads that wait for it, or copy it. */
  users: number;
}

/** Reads one object of a backend. */
export class ChangeFileSource implements ByteSource {
  readonly key: string;
  readonly size: number;
  readonly #backend: StorageBackend;
  readonly #signal: AbortSignal | undefined;
  /** By number; the one that was asked for last stands last. */
  readonly #chunks = new Map<number, Chunk>();
  /** Memory of chunks that are held no more: what new memory costs the collector of garbage is more than a read. */
  readonly #spare: Uint8Array[] = [];
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
    const bytes = new Uint8Array(to - from);
    return bytes.subarray(0, await this.readInto(bytes, from));
  }

  async readInto(target: Uint8Array, from: number): Promise<number> {
    const first = Math.floor(from / CHUNK_BYTES);
    const last = Math.floor(Math.max(from, from + target.length - 1) / CHUNK_BYTES);
    const goesOn = from >= this.#lastFrom && first <= this.#lastChunk + 1;
    this.#lastFrom = from;
    this.#lastChunk = last;
    // A long read would push out all that is held.
    if (last - first + 1 >= CHUNKS_MAX) return await this.#readLong(target, from);
    const chunks: Chunk[] = [];
    for (let number = first; number <= last; number++) chunks.push(this.#chunk(number));
    for (const chunk of chunks) chunk.users += 1;
    if (goesOn && (last + 1) * CHUNK_BYTES < this.size) this.#chunk(last + 1);
    try {
      const parts = await Promise.all(chunks.map(({ bytes }) => bytes));
      return join(parts, target, from - first * CHUNK_BYTES);
    } finally {
      for (const chunk of chunks) {
        chunk.users -= 1;
        this.#letGo(chunk);
      }
    }
  }

  /** Lets go of what is held in memory. */
  rest(): void {
    this.#chunks.clear();
    this.#spare.length = 0;
    this.#lastFrom = Infinity;
  }

  #chunk(number: number): Chunk {
    const chunk = this.#chunks.get(number) ?? this.#begin(number);
    this.#chunks.delete(number);
    this.#chunks.set(number, chunk);
    for (const [oldest, held] of this.#chunks) {
      if (this.#chunks.size <= CHUNKS_MAX) break;
      this.#chunks.delete(oldest);
      held.isHeld = false;
      this.#letGo(held);
    }
    return chunk;
  }

  #begin(number: number): Chunk {
    const from = number * CHUNK_BYTES;
    const to = Math.min(from + CHUNK_BYTES, this.size);
    const memory = this.#spare.pop() ?? new Uint8Array(Math.min(CHUNK_BYTES, this.size));
    const bytes = this.#get(from, to, memory);
    const chunk: Chunk = { bytes, memory, isRead: false, isHeld: true, users: 0 };
    bytes.then(() => {
      chunk.isRead = true;
      this.#letGo(chunk);
    }, () => {
      // Whoever waits for it hears; what nobody asked for is asked for again.
      if (this.#chunks.get(number) === chunk) this.#chunks.delete(number);
    });
    return chunk;
  }

  /** Takes a chunk's memory back once nobody needs it. That of a read that failed may still be written to. */
  #letGo({ isHeld, isRead, users, memory }: Chunk): void {
    if (!isHeld && isRead && users === 0) this.#spare.push(memory);
  }

  async #readLong(target: Uint8Array, from: number): Promise<number> {
    const bytes = await this.#get(from, from + target.length);
    target.set(bytes);
    return bytes.length;
  }

  #get(from: number, to: number, into?: Uint8Array): Promise<Uint8Array> {
    return this.#backend.get(this.key, { from, to, into, signal: this.#signal });
  }
}

/** Copies bytes of chunks that follow each other, as far as they are there; answers how many. */
function join(chunks: readonly Uint8Array[], target: Uint8Array, from: number): number {
  const to = from + target.length;
  let start = 0;
  let filled = 0;
  for (const chunk of chunks) {
    const piece = chunk.subarray(Math.max(0, from - start), Math.max(0, to - start));
    target.set(piece, filled);
    filled += piece.length;
    // What comes after a gap is not next to it.
    if (chunk.length < CHUNK_BYTES) break;
    start += CHUNK_BYTES;
  }
  return filled;
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
