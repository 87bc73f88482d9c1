/**
 * Encodes a change file, batch by batch.
 *
 * Owns: frames, checksums, the chain of indexes, where everything stands in the file.
 * Does not own: writing and syncing, when a file ends, how a large batch is split.
 * @module
 */
import { acquireCodec, releaseCodec } from "../../../wasm/mod.ts";
import { type LentCodec, RUN_BYTES_MAX } from "../port/codec_thread.ts";
import { batchSize, fitsOneBatch } from "./batch_size.ts";
import { BatchWriter, type Fill } from "./_batch_writer.ts";
import { BodyParts } from "./_body_parts.ts";
import { encodeHeader } from "./_header.ts";
import { encodeFileIndex, encodeIndex } from "./_index.ts";
import { IndexPlaces } from "./_index_places.ts";
import { checkBlockSize } from "./_lz4_frame.ts";
import { Malformed } from "./_malformed.ts";
import type { Batch, ChangeFileHeader } from "./change_file.ts";
import { type ChangeSet, type ChangeSetEntry, checkSetFacts, entryOf } from "./change_set.ts";

/** The last piece of a batch: who asks for it may still be writing the one before. */
const NOTHING = new Uint8Array(0);

interface BatchContent {
  readonly sets: readonly ChangeSet[];
  readonly entries: ChangeSetEntry[];
  readonly bodyLength: number;
}

/** Encodes the body's next bytes, as `fill` puts them into memory. */
type Encode<Wait> = (length: number, fill: Fill) => Generator<Uint8Array | Wait>;

/** How to encode. */
export interface ChangeFileEncoderOptions {
  /** `none` stores blocks plainly. */
  readonly compression: "lz4" | "none";
  /** Bytes of a block: 64 KiB, 256 KiB, 1 MiB or 4 MiB. */
  readonly blockBytes: number;
}

/** Makes the bytes of one change file, in order. What it gives out is in the file as far as it is concerned. */
export class ChangeFileEncoder {
  readonly header: ChangeFileHeader;
  readonly #options: ChangeFileEncoderOptions;
  readonly #places = new IndexPlaces();
  #length = 0;
  #lastIndexHash = 0n;
  #state: "new" | "ready" | "in a batch" | "ended" = "new";

  /** @throws {RangeError} The header or an option is out of range. */
  constructor(header: ChangeFileHeader, options: ChangeFileEncoderOptions) {
    checkBlockSize(options.blockBytes);
    try {
      encodeHeader(header);
    } catch (error) {
      throw asRangeError("a change file", error);
    }
    this.header = header;
    this.#options = options;
  }

  /** Bytes produced so far. */
  get length(): number {
    return this.#length;
  }

  /** XXH64 of the last index, or of the header. */
  get lastIndexHash(): bigint {
    return this.#lastIndexHash;
  }

  /** Batches so far. */
  get batchCount(): number {
    return this.#places.count;
  }

  /** Makes the header frame. Once, first. */
  begin(): Uint8Array {
    this.#enter("new", "ready");
    const { bytes, hash } = encodeHeader(this.header);
    this.#length = bytes.length;
    this.#lastIndexHash = hash;
    return bytes;
  }

  /**
   * Makes one batch. A generator that is left before its end leaves the file unfinished, for good, unless
   * the batch is taken back by {@link withdraw}.
   *
   * @param sets At least one; together within the caps of a batch, see {@link fitsOneBatch}.
   * @returns Pieces of about 1 MiB at most, the last of them empty. Each is a view of memory that is used anew when the
   * one after the next is asked for: while one is being written, the next can be made.
   * @throws {RangeError} A change set is out of range, or the batch is above a cap. Nothing was made then.
   */
  *batch(sets: readonly ChangeSet[]): Generator<Uint8Array, Batch> {
    const content = this.#begin(sets);
    const codec = acquireCodec();
    try {
      const writer = new BatchWriter(codec, this.#options);
      const encode: Encode<never> = (length, fill) => writer.encode(length, fill);
      const batch = yield* this.#encode(content, writer, this.#options.blockBytes, encode);
      yield NOTHING;
      return this.#took(batch);
    } finally {
      releaseCodec(codec);
    }
  }

  /**
   * The same with a codec that works on another thread: a promise stands where it has to be waited for before the next
   * is asked for. The codec can be given back when the last piece is written.
   */
  *batchOnThread(
    sets: readonly ChangeSet[],
    lent: LentCodec,
  ): Generator<Uint8Array | Promise<void>, Batch> {
    const content = this.#begin(sets);
    const writer = new BatchWriter(lent.codec, { ...this.#options, runBytes: RUN_BYTES_MAX });
    const encode: Encode<Promise<void>> = (length, fill) =>
      writer.encodeOnThread(length, fill, lent);
    return this.#took(yield* this.#encode(content, writer, RUN_BYTES_MAX, encode));
  }

  /** @throws {RangeError} see {@link batch} */
  #begin(sets: readonly ChangeSet[]): BatchContent {
    const content = this.#enterSets(sets);
    this.#enter("ready", "in a batch");
    return content;
  }

  #took(batch: Batch): Batch {
    this.#places.add(batch);
    this.#length = batch.end;
    this.#lastIndexHash = batch.indexHash;
    this.#state = "ready";
    return batch;
  }

  /** Takes back a batch that was left before its end, and of which nothing was written. */
  withdraw(): void {
    if (this.#state === "in a batch") this.#state = "ready";
  }

  /** Makes the frame that ends the file. Once, last. */
  end(): Uint8Array {
    this.#enter("ready", "ended");
    const { uuid, epoch } = this.header;
    const { bytes } = encodeFileIndex({
      uuid,
      epoch,
      lastHash: this.#lastIndexHash,
      places: this.#places.bytes,
    });
    this.#length += bytes.length;
    return bytes;
  }

  *#encode<Wait>(
    { sets, entries, bodyLength }: BatchContent,
    writer: BatchWriter,
    runBytes: number,
    encode: Encode<Wait>,
  ): Generator<Uint8Array | Wait, Batch> {
    const { blockBytes } = this.#options;
    const body = new BodyParts(sets, (index) => entries[index].headerLength);
    writer.begin(bodyLength);
    for (let at = 0; at < bodyLength; at += runBytes) {
      const length = Math.min(runBytes, bodyLength - at);
      yield* encode(length, (memory, to) => body.copy(memory, to, length));
    }
    writer.end();
    const unfinished = {
      uuid: this.header.uuid,
      epoch: this.header.epoch,
      number: this.#places.count,
      position: this.#length,
      frameLength: writer.frameLength,
      frameHash: writer.frameHash,
      indexPosition: this.#length + writer.frameLength,
      previousHash: this.#lastIndexHash,
      bodyLength,
      blockBytes,
      blocks: writer.blocks,
      sets: entries,
    };
    const index = encodeIndex(unfinished);
    yield* writer.append(index.bytes);
    yield* writer.flush();
    const end = unfinished.indexPosition + index.bytes.length;
    return { ...unfinished, end, indexHash: index.hash };
  }

  #enterSets(sets: readonly ChangeSet[]): BatchContent {
    const size = batchSize(sets, this.#options);
    if (sets.length === 0 || !fitsOneBatch(size)) {
      throw new RangeError(
        `Cannot make a batch of ${sets.length} change sets with ${size.bodyBytes} bytes: ` +
          "wants at least one, and no more than the caps of a batch allow; split it",
      );
    }
    let bodyOffset = 0;
    const entries = sets.map((set) => {
      this.#checkSet(set);
      const entry = entryOf(set, bodyOffset);
      bodyOffset += entry.headerLength + entry.byteLength;
      return entry;
    });
    return { sets, entries, bodyLength: size.bodyBytes };
  }

  #checkSet(set: ChangeSet): void {
    try {
      checkSetFacts(set);
    } catch (error) {
      throw asRangeError(nameOf(set), error);
    }
    let byteLength = 0;
    for (const chunk of set.chunks) byteLength += chunk.length;
    if (byteLength !== set.byteLength || set.epoch > this.header.epoch) {
      throw new RangeError(
        `Cannot encode ${nameOf(set)}: it has ${byteLength} bytes and epoch ${set.epoch}, ` +
          `wants ${set.byteLength} bytes and at most epoch ${this.header.epoch}`,
      );
    }
  }

  #enter(from: string, to: "ready" | "in a batch" | "ended"): void {
    if (this.#state !== from) {
      throw new TypeError(`Cannot go on with a change file that is ${this.#state}: wants ${from}`);
    }
    this.#state = to;
  }
}

function nameOf(set: ChangeSet): string {
  return `change set ${set.sequenceNumber} of writer "${set.writer}"`;
}

/** What to throw for something that is out of range; any other error as it is. */
function asRangeError(what: string, error: unknown): unknown {
  if (!(error instanceof Malformed)) return error;
  return new RangeError(`Cannot encode ${what}: ${error.message}`, { cause: error });
}
