/** A thread that encodes when a test says so. @module */
import type { CodecThread, LentCodec } from "../../src/engine/port/codec_thread.ts";
import { RUN_BYTES_MAX } from "../../src/engine/port/codec_thread.ts";
import { type BlocksCall, Codec } from "../../wasm/mod.ts";

/** A {@link CodecThread} without a thread. */
export class HeldCodecThread implements CodecThread {
  /** Whether it encodes only when told; else at once. */
  isHeld: boolean;
  /** Whether it lends no more. */
  isGone = false;
  /** Codecs that were lent, and those of them that were given back. */
  lent = 0;
  released = 0;
  isClosed = false;
  readonly #waiting: { encode(): void; fail(error: Error): void }[] = [];

  constructor({ isHeld = false } = {}) {
    this.isHeld = isHeld;
  }

  /** Calls that wait. */
  get waitingCount(): number {
    return this.#waiting.length;
  }

  get canLend(): boolean {
    return !this.isGone;
  }

  lend(): LentCodec | undefined {
    if (this.isGone) return undefined;
    this.lent += 1;
    const codec = Codec.create();
    const content = new Uint8Array(RUN_BYTES_MAX);
    let isReleased = false;
    return {
      codec,
      contentAt: () => ({ memory: content, at: 0 }),
      encodeBlocks: (call) => this.#encode(codec, content, call),
      release: () => {
        if (isReleased) throw new Error("A codec was given back twice");
        isReleased = true;
        this.released += 1;
      },
    };
  }

  /** Encodes all that waits. */
  run(): void {
    for (const { encode } of this.#waiting.splice(0)) encode();
  }

  /** Fails all that waits. */
  fail(error: Error): void {
    for (const { fail } of this.#waiting.splice(0)) fail(error);
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }

  #encode(codec: Codec, content: Uint8Array, call: BlocksCall): Promise<number> {
    return new Promise((resolve, reject) => {
      const encode = (): void => {
        codec.bytes.set(content.subarray(0, call.length), call.source);
        resolve(codec.encodeBlocks(call));
      };
      this.#waiting.push({ encode, fail: reject });
      if (!this.isHeld) this.run();
    });
  }
}
