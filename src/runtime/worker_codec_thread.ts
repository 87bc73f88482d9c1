/**
 * The threads that encode: one worker, or two that share what is more than one block.
 * Owns: the workers, the codecs that they work in, what happens when they are gone. Does not own: what is encoded.
 * @module
 */
import process from "node:process";
import type { Worker } from "node:worker_threads";
import { type BlocksCall, Codec, HASH_STATE_BYTES } from "../../wasm/mod.ts";
import { TidemarkError } from "../engine/errors.ts";
import { type CodecThread, type LentCodec, RUN_BYTES_MAX } from "../engine/port/codec_thread.ts";
import type { Logger } from "../engine/port/logger.ts";
import { beginCodecWorker, CodecWorker } from "./_codec_worker.ts";

/**
 * Codecs at most, of 20 MiB each: two jobs have one for the batch on its way, and one for the next. They are kept, as
 * no collector of garbage counts shared memory.
 */
const CODECS_MAX = 4;

/** V8 copies small or odd parts into shared memory byte by byte; what is at hand as a whole, and aligned, it does not. */
const IS_SHARED_MEMORY_SLOW: boolean = process.versions.bun === undefined;

/** How to make a {@link WorkerCodecThread}. */
export interface WorkerCodecThreadOptions {
  /** Told when a thread can't be begun, or ends by itself. */
  readonly logger: Logger;
  /** Workers: 1 or 2. */
  readonly threads: number;
  /** Begins one that knows the protocol. @default beginCodecWorker */
  readonly beginWorker?: () => Worker;
}

/** A {@link CodecThread} that begins with the first codec that it lends, and does not keep the process alive. */
export class WorkerCodecThread implements CodecThread {
  readonly #options: WorkerCodecThreadOptions;
  #workers: readonly CodecWorker[] = [];
  /** Why there are no workers any more. */
  #ended: unknown;
  readonly #idle: SharedCodec[] = [];
  #codecCount = 0;
  #isClosed = false;

  constructor(options: WorkerCodecThreadOptions) {
    this.#options = options;
  }

  get canLend(): boolean {
    if (this.#ended !== undefined) return false;
    return this.#idle.length > 0 || this.#codecCount < CODECS_MAX;
  }

  lend(): LentCodec | undefined {
    if (this.#ended !== undefined) return undefined;
    try {
      if (this.#workers.length === 0) this.#begin();
    } catch (error) {
      this.#giveUp(error);
      return undefined;
    }
    const shared = this.#idle.pop() ?? this.#makeCodec();
    return shared && this.#lentOf(shared);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#ended ??= new TidemarkError("closed", "The thread that encodes is closed");
    this.#idle.length = 0;
    await Promise.all(this.#workers.map((worker) => worker.close(this.#ended)));
  }

  /** @throws What the first one can't begin with; where others can't, it goes on alone. */
  #begin(): void {
    const { logger, threads, beginWorker = beginCodecWorker } = this.#options;
    const onEnd = (reason: unknown): void => this.#giveUp(reason);
    this.#workers = [new CodecWorker(beginWorker, onEnd)];
    try {
      while (this.#workers.length < threads) {
        this.#workers = [...this.#workers, new CodecWorker(beginWorker, onEnd)];
      }
    } catch (error) {
      logger.log("warning", "Cannot have another thread that encodes", { error });
    }
  }

  /** Undefined when there are enough of them, or there is no memory for another one. */
  #makeCodec(): SharedCodec | undefined {
    if (this.#codecCount === CODECS_MAX) return undefined;
    const id = ++this.#codecCount;
    try {
      const codec = Codec.create({ isShared: true });
      const content = IS_SHARED_MEMORY_SLOW ? new Uint8Array(RUN_BYTES_MAX) : undefined;
      for (const worker of this.#workers) worker.share(id, codec.shared!);
      return { id, codec, content };
    } catch (error) {
      const { logger } = this.#options;
      logger.log("warning", "Cannot have another codec on the thread", { error });
      return undefined;
    }
  }

  #lentOf(shared: SharedCodec): LentCodec {
    const { codec, content } = shared;
    let running: Promise<unknown> = Promise.resolve();
    return {
      codec,
      contentAt: (source) => (
        content === undefined ? { memory: codec.bytes, at: source } : { memory: content, at: 0 }
      ),
      encodeBlocks: (call) => {
        const encoding = this.#encode(shared, call);
        running = encoding;
        return encoding;
      },
      release: () => {
        const takeBack = (): void => this.#takeBack(shared);
        running.then(takeBack, takeBack);
      },
    };
  }

  /** Encodes on the workers; here when one has ended by itself before it was done. */
  async #encode(shared: SharedCodec, call: BlocksCall): Promise<number> {
    const { codec, content } = shared;
    if (content !== undefined) codec.bytes.set(content.subarray(0, call.length), call.source);
    const states = [call.contentState, call.frameState].map((at) => (
      { at, bytes: codec.bytes.slice(at, at + HASH_STATE_BYTES) }
    ));
    try {
      return await this.#encodeThere(shared, call);
    } catch (error) {
      // Deno says that a worker has ended which was told to while that still works in the codec.
      if (this.#ended === undefined || this.#isClosed) throw error;
      for (const { at, bytes } of states) codec.bytes.set(bytes, at);
      return codec.encodeBlocks(call);
    }
  }

  /** Rejects once no worker works in the codec any more. */
  async #encodeThere({ id, codec }: SharedCodec, call: BlocksCall): Promise<number> {
    const [first, second] = this.#workers;
    const divided = second === undefined ? undefined : codec.divideBlocks(call);
    if (divided === undefined) return await first.call(id, [codec.blocksCall(call)]);
    const [firstCalls, secondCalls] = divided.parts;
    const parts = [first.call(id, firstCalls), second.call(id, secondCalls)] as const;
    await Promise.allSettled(parts);
    return codec.joinBlocks(call, divided, await Promise.all(parts));
  }

  #takeBack(shared: SharedCodec): void {
    if (this.#ended === undefined) this.#idle.push(shared);
  }

  #giveUp(reason: unknown): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    this.#idle.length = 0;
    for (const worker of this.#workers) worker.retire(reason);
    const message = "The thread that encodes is gone: large batches hold up requests now";
    this.#options.logger.log("warning", message, { error: reason });
  }
}

/** A codec whose memory the workers have, too. */
interface SharedCodec {
  readonly id: number;
  readonly codec: Codec;
  /** Where content is gathered before it goes to the codec's memory; undefined where it goes there at once. */
  readonly content: Uint8Array | undefined;
}
