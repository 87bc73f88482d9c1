/**
 * Walks a change file from its beginning, checking every stored byte.
 *
 * Owns: where the last good byte is, and what is wrong behind it.
 * Does not own: whether that is a torn end or corruption, which other files' headers decide.
 * @module
 */
import { acquireCodec, type Codec, releaseCodec } from "../../../wasm/mod.ts";
import { readUint32 } from "./_bytes.ts";
import { Chain } from "./_chain.ts";
import {
  END_FRAME,
  FRAME_HEAD_BYTES,
  type FrameKind,
  frameLengthFromHead,
  HEADER_FRAME,
  INDEX_FRAME,
} from "./_frame.ts";
import { decodeHeader } from "./_header.ts";
import { decodeFileIndex, decodeIndex } from "./_index.ts";
import { Malformed, NewerFormat, unsupported } from "./_malformed.ts";
import { SourceWindow } from "./_source_window.ts";
import { checkStoredFrame, readStoredFrame, STORED_FRAME_ARENA_BYTES } from "./_stored_frame.ts";
import type { ByteSource } from "./byte_source.ts";
import type { Batch, ChangeFileHeader, HeaderFrame } from "./change_file.ts";

/** Where a scan ended, and why. */
export interface ScanEnd {
  /**
   * `end-frame`: the file is sealed. `length`: just where the scan was to end.
   * `torn`: what comes there is not whole and good.
   */
  readonly kind: "end-frame" | "length" | "torn";
  /** Last good byte + 1. */
  readonly at: number;
  /** What is wrong behind it, with its byte range; for `torn`. */
  readonly reason?: string;
}

/** One walk through a change file. */
export class ChangeFileScan {
  readonly #source: ByteSource;
  readonly #to: number;
  #file: HeaderFrame | undefined;
  #end: ScanEnd | undefined;
  /** What is read next, and where it begins. */
  #next = { what: "file header", at: 0 };

  /** @param options.to Where to end, exactly. @default {the source's size} */
  constructor(source: ByteSource, options: { to?: number } = {}) {
    this.#source = source;
    this.#to = options.to ?? source.size;
  }

  /** The header, after the first step; undefined when it is not whole and good. */
  get header(): ChangeFileHeader | undefined {
    return this.#file?.header;
  }

  /**
   * Where the walk ended.
   *
   * @throws {TypeError} It has not yet.
   */
  get end(): ScanEnd {
    if (this.#end !== undefined) return this.#end;
    throw new TypeError("Cannot tell where a scan ends before all its batches were asked for");
  }

  /**
   * Walks through the batches up to the first thing that is not whole and good; nothing is decompressed. Once.
   * Reads pieces of about 1 MiB, one after the other.
   *
   * @throws {TidemarkError} `unsupported-format` when the file is of a newer format; what the source throws.
   */
  async *batches(): AsyncGenerator<Batch, void> {
    const codec = acquireCodec();
    try {
      const memory = { codec, start: codec.arenaStart + STORED_FRAME_ARENA_BYTES };
      const to = Math.min(this.#to, this.#source.size);
      const window = new SourceWindow(this.#source, { from: 0, to }, memory);
      this.#file = decodeHeader(await takeFrame(window, HEADER_FRAME));
      const chain = new Chain(this.#file);
      for (;;) {
        const batch = await this.#step(codec, window, chain);
        if (batch === undefined) return;
        yield batch;
      }
    } catch (error) {
      if (error instanceof NewerFormat) throw unsupported(this.#source.key, error);
      if (!(error instanceof Malformed)) throw error;
      this.#tear(error);
    } finally {
      releaseCodec(codec);
    }
  }

  async #step(codec: Codec, window: SourceWindow, chain: Chain): Promise<Batch | undefined> {
    this.#next = { what: `batch ${chain.count}`, at: window.position };
    if (window.position === this.#to) {
      this.#end = { kind: "length", at: window.position };
      return undefined;
    }
    if (await begins(window, END_FRAME)) {
      this.#next.what = "file index";
      chain.finish(decodeFileIndex(await takeFrame(window, END_FRAME)));
      this.#next = { what: "rest after the file index", at: window.position };
      if (window.left > 0) throw new Malformed("nothing may come after the file index");
      this.#end = { kind: "end-frame", at: window.position };
      return undefined;
    }
    const frame = await readStoredFrame(codec, window, { decompress: false });
    const indexPosition = window.position;
    const batch = decodeIndex(await takeFrame(window, INDEX_FRAME), indexPosition);
    checkStoredFrame(frame, batch);
    chain.follow(batch);
    return batch;
  }

  #tear(error: Malformed): void {
    const { what, at } = this.#next;
    const reason =
      `the ${what} at bytes ${at} to ${this.#to} is not whole and good: ${error.message}`;
    this.#end = { kind: "torn", at, reason };
  }
}

async function begins(window: SourceWindow, kind: FrameKind): Promise<boolean> {
  return window.left >= 4 && readUint32(await window.peek(4), 0) === kind.magic;
}

async function takeFrame(window: SourceWindow, kind: FrameKind): Promise<Uint8Array> {
  return await window.take(frameLengthFromHead(kind, await window.peek(FRAME_HEAD_BYTES)));
}
