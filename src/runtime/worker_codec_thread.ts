/**
 * The thread that encodes, as a worker of `node:worker_threads`, which Node, Deno and Bun all have.
 * Owns: the worker, the codecs that it works in, which calls wait for it. Does not own: what is encoded.
 * @module
 */
import { Worker } from "node:worker_threads";
import { type BlocksCall, Codec, HASH_STATE_BYTES } from "../../wasm/mod.ts";
import { TidemarkError } from "../engine/errors.ts";
import { type CodecThread, type LentCodec, RUN_BYTES_MAX } from "../engine/port/codec_thread.ts";
import type { Logger } from "../engine/port/logger.ts";

/**
 * Codecs at most, of 20 MiB each: two jobs have one for the batch on its way, and one for the next. They are kept, as
 * no collector of garbage counts shared memory.
 */
const CODECS_MAX = 4;

/**
 * What the worker runs: text, so that it is there in a binary, from a registry and under every loader. All work is done
 * by the module that it is sent, in the memory that it is sent.
 */
const PROGRAM = `
const { parentPort } = require("node:worker_threads");
const codecs = new Map();
parentPort.on("message", ({ codec, shared, call }) => {
  if (shared !== undefined) {
    const { module, memory } = shared;
    codecs.set(codec, new WebAssembly.Instance(module, { env: { memory } }).exports);
  } else {
    parentPort.postMessage(codecs.get(codec).encodeBlocks(...call));
  }
});`;

interface Waiting {
  resolve(end: number): void;
  reject(reason: unknown): void;
}

/** A {@link CodecThread} that begins with the first codec that it lends, and does not keep the process alive. */
export class WorkerCodecThread implements CodecThread {
  readonly #logger: Logger;
  readonly #beginWorker: () => Worker;
  #worker: Worker | undefined;
  /** Why there is no worker any more. */
  #ended: unknown;
  readonly #idle: SharedCodec[] = [];
  /** The calls that it has not answered, in order. */
  readonly #waiting: Waiting[] = [];
  #codecCount = 0;
  #isClosed = false;

  /**
   * @param logger Told when the thread can't be begun, or ends by itself.
   * @param beginWorker Begins one that knows the protocol. @default beginCodecWorker
   */
  constructor(logger: Logger, beginWorker: () => Worker = beginCodecWorker) {
    this.#logger = logger;
    this.#beginWorker = beginWorker;
  }

  lend(): LentCodec | undefined {
    if (this.#ended !== undefined) return undefined;
    try {
      this.#worker ??= this.#begin();
    } catch (error) {
      this.#giveUp(error);
      return undefined;
    }
    const shared = this.#idle.pop() ?? this.#makeCodec(this.#worker);
    return shared && this.#lentOf(shared);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#ended ??= new TidemarkError("closed", "The thread that encodes is closed");
    this.#idle.length = 0;
    await this.#worker?.terminate();
  }

  #begin(): Worker {
    const worker = this.#beginWorker();
    worker.on("message", (end: number) => {
      this.#waiting.shift()?.resolve(end);
      // What ends it keeps the process alive until it has.
      if (this.#waiting.length === 0 && !this.#isClosed) worker.unref();
    });
    worker.on("error", (error) => this.#giveUp(error));
    worker.on("exit", (code) => {
      this.#giveUp(new Error(`it ended with ${code}`));
      // Not before: it works in no codec any more.
      for (const { reject } of this.#waiting.splice(0)) reject(this.#ended);
    });
    worker.unref();
    return worker;
  }

  /** Undefined when there are enough of them, or there is no memory for another one. */
  #makeCodec(worker: Worker): SharedCodec | undefined {
    if (this.#codecCount === CODECS_MAX) return undefined;
    const id = ++this.#codecCount;
    try {
      const codec = Codec.create({ isShared: true });
      const content = new Uint8Array(RUN_BYTES_MAX);
      worker.postMessage({ codec: id, shared: codec.shared });
      return { id, codec, content };
    } catch (error) {
      this.#logger.log("warning", "Cannot have another codec on the thread", { error });
      return undefined;
    }
  }

  #lentOf(shared: SharedCodec): LentCodec {
    const { codec, content } = shared;
    let running: Promise<unknown> = Promise.resolve();
    return {
      codec,
      content,
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

  /** Encodes on the worker; here when that has ended by itself before it was done. */
  async #encode({ id, codec, content }: SharedCodec, call: BlocksCall): Promise<number> {
    // At once, and aligned: V8 copies small or odd parts into shared memory byte by byte.
    codec.bytes.set(content.subarray(0, call.length), call.source);
    const states = [call.contentState, call.frameState].map((at) => (
      { at, bytes: codec.bytes.slice(at, at + HASH_STATE_BYTES) }
    ));
    try {
      return await this.#ask({ codec: id, call: codec.blocksArguments(call) });
    } catch (error) {
      // Deno says that a worker has ended which was told to while that still works in the codec.
      if (this.#ended === undefined || this.#isClosed) throw error;
      for (const { at, bytes } of states) codec.bytes.set(bytes, at);
      return codec.encodeBlocks(call);
    }
  }

  #ask(message: unknown): Promise<number> {
    const worker = this.#worker;
    return new Promise((resolve, reject) => {
      if (worker === undefined || this.#ended !== undefined) throw this.#ended;
      // Whoever waits for the answer must live to see it.
      worker.ref();
      worker.postMessage(message);
      this.#waiting.push({ resolve, reject });
    });
  }

  #takeBack(shared: SharedCodec): void {
    if (this.#ended === undefined) this.#idle.push(shared);
  }

  #giveUp(reason: unknown): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    const message = "The thread that encodes is gone: large batches hold up requests now";
    this.#logger.log("warning", message, { error: reason });
  }
}

/** It needs nothing of this process: no loader, no environment, which Deno would ask a permission for. */
export function beginCodecWorker(): Worker {
  return new Worker(PROGRAM, { eval: true, execArgv: [], env: {} });
}

/** A codec whose memory the worker has, too. */
interface SharedCodec {
  readonly id: number;
  readonly codec: Codec;
  readonly content: Uint8Array;
}
