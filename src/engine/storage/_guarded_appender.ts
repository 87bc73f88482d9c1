/**
 * What every appender has in common: one call at a time, the length, and that after a failure nothing
 * reaches the object any more.
 * Owns: order and state of the calls. Does not own: how bytes are written or made durable.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { Appender } from "./backend.ts";

/** How bytes reach one object. */
export interface AppendTarget {
  /** Writes all of `bytes` at `position`. */
  write(bytes: Uint8Array, position: number): Promise<void>;
  /** Makes everything written durable, and the object's name with it. */
  sync(): Promise<void>;
  /** Lets the object go. */
  close(): Promise<void>;
}

/** An {@link Appender} over an {@link AppendTarget}. */
export class GuardedAppender implements Appender {
  readonly key: string;
  readonly #target: AppendTarget;
  #length = 0;
  #failure: TidemarkError | undefined;
  #running: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(key: string, target: AppendTarget) {
    this.key = key;
    this.#target = target;
  }

  get length(): number {
    return this.#length;
  }

  async write(bytes: Uint8Array): Promise<void> {
    await this.#run("write to", () => this.#target.write(bytes, this.#length));
    this.#length += bytes.length;
  }

  async sync(): Promise<void> {
    await this.#run("sync", () => this.#target.sync());
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    // A descriptor that is closed under a running call may be another file's by the time it is used.
    await this.#running?.catch(() => {});
    await this.#target.close();
  }

  #run(action: string, call: () => Promise<void>): Promise<void> {
    this.#check(action);
    const running = call().catch((error: unknown) => {
      this.#failure = error instanceof TidemarkError ? error : new TidemarkError(
        "internal",
        `Cannot ${action} ${JSON.stringify(this.key)}: an unexpected error`,
        { outcome: "unknown", cause: error },
      );
      throw this.#failure;
    }).finally(() => {
      this.#running = undefined;
    });
    this.#running = running;
    return running;
  }

  #check(action: string): void {
    const name = JSON.stringify(this.key);
    if (this.#closing !== undefined) {
      throw new TidemarkError("closed", `Cannot ${action} ${name}: the appender is closed`);
    }
    if (this.#failure !== undefined) {
      throw new TidemarkError(
        this.#failure.code,
        `Cannot ${action} ${name}: an earlier write or sync of it failed, and what it holds beyond ` +
          `the last sync is unknown; go on in a new object`,
        { details: { ...this.#failure.details, key: this.key }, cause: this.#failure },
      );
    }
    if (this.#running !== undefined) {
      throw new TypeError(`Cannot ${action} ${name}: another call of the appender is running`);
    }
  }
}
