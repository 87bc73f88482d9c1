/**
 * One worker of `node:worker_threads`, which Node, Deno and Bun all have, that makes calls of the codec's module.
 * Owns: its beginning and end, the calls that it has not answered. Does not own: what is called, memory.
 * @module
 */
import { Worker } from "node:worker_threads";
import type { ModuleCall, SharedInstance } from "../../wasm/mod.ts";

/**
 * What the worker runs: text, so that it is there in a binary, from a registry and under every loader. All work is done
 * by the module that it is sent, in the memory that it is sent.
 */
const PROGRAM = `
const { parentPort } = require("node:worker_threads");
const codecs = new Map();
parentPort.on("message", ({ codec, shared, calls }) => {
  if (shared !== undefined) {
    const { module, memory } = shared;
    codecs.set(codec, new WebAssembly.Instance(module, { env: { memory } }).exports);
  } else {
    const exports = codecs.get(codec);
    parentPort.postMessage(calls.map(([name, ...values]) => exports[name](...values))[0]);
  }
});`;

/** It needs nothing of this process: no loader, no environment, which Deno would ask a permission for. */
export function beginCodecWorker(): Worker {
  return new Worker(PROGRAM, { eval: true, execArgv: [], env: {} });
}

interface Waiting {
  resolve(end: number): void;
  reject(reason: unknown): void;
}

/** A worker that does not keep the process alive unless it is waited for. */
export class CodecWorker {
  readonly #worker: Worker;
  readonly #onEnd: (reason: unknown) => void;
  /** The calls that it has not answered, in order. */
  readonly #waiting: Waiting[] = [];
  /** Why there is no worker any more. */
  #ended: unknown;
  #isClosed = false;
  #isRetired = false;

  /**
   * @param beginWorker Begins one that knows the protocol.
   * @param onEnd Called when it ends by itself.
   */
  constructor(beginWorker: () => Worker, onEnd: (reason: unknown) => void) {
    this.#onEnd = onEnd;
    this.#worker = beginWorker();
    this.#worker.on("message", (end: number) => {
      this.#waiting.shift()?.resolve(end);
      if (this.#waiting.length > 0) return;
      if (this.#isRetired) void this.#worker.terminate();
      // What ends it keeps the process alive until it has.
      else if (!this.#isClosed) this.#worker.unref();
    });
    this.#worker.on("error", (error) => this.#end(error));
    this.#worker.on("exit", (code) => {
      this.#end(new Error(`it ended with ${code}`));
      // Not before: it works in no codec any more.
      for (const { reject } of this.#waiting.splice(0)) reject(this.#ended);
    });
    this.#worker.unref();
  }

  /** Has it work in the memory of a codec, too. */
  share(codec: number, shared: SharedInstance): void {
    this.#worker.postMessage({ codec, shared });
  }

  /** Makes calls in a codec's memory, in order; answers what the first gave, once all are made. */
  call(codec: number, calls: readonly ModuleCall[]): Promise<number> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) throw this.#ended;
      this.#worker.postMessage({ codec, calls });
      this.#waiting.push({ resolve, reject });
      // Whoever waits for the answer must live to see it.
      this.#worker.ref();
    });
  }

  /** Ends it once the calls that run are done; `reason` is why there are no others. */
  retire(reason: unknown): void {
    this.#isRetired = true;
    this.#ended ??= reason;
    if (this.#waiting.length === 0) void this.#worker.terminate();
  }

  /** Ends it; calls that run may fail with `reason`. */
  async close(reason: unknown): Promise<void> {
    this.#isClosed = true;
    this.#ended ??= reason;
    await this.#worker.terminate();
  }

  #end(reason: unknown): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    this.#onEnd(reason);
  }
}
