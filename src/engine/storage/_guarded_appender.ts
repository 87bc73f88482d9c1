/**
 * What every appender has in common: one call at a time, the length, and that after a failure nothing
 * reaches the object any more.
 * Owns: order and state of the calls. Does not own: how bytes are written or made durable.
 * @module
 */
import { type Outcome, TidemarkError } from "../errors.ts";
import type { Appender } from "./backend.ts";

/** How bytes reach one object. */
export interface AppendTarget {
  /** Writes all of `bytes` at `position`; calls `checkWanted`, which may throw, before it goes on after a part. */
  write(bytes: Uint8Array, position: number, checkWanted: () => void): Promise<void>;
  /** Makes what was written before durable, though perhaps not the object's name. @default nothing is done */
  syncData?(): Promise<void>;
  /** Makes everything written durable, and the object's name with it. */
  sync(): Promise<void>;
  /** Lets the object go. */
  close(): Promise<void>;
  /** Lets the object go when the call `running` has settled; nobody waits for that, and it reports for itself. */
  closeAfter(running: Promise<unknown>): void;
}

/** An {@link Appender} over an {@link AppendTarget}. */
export class GuardedAppender implements Appender {
  readonly key: string;
  readonly #target: AppendTarget;
  #length = 0;
  #failure: TidemarkError | undefined;
  #running: Promise<void> | undefined;
  /** A sync beside which other calls go on. */
  #early: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(key: string, target: AppendTarget) {
    this.key = key;
    this.#target = target;
  }

  get length(): number {
    return this.#length;
  }

  async write(bytes: Uint8Array): Promise<void> {
    await this.#run("write to", () => {
      return this.#target.write(
        bytes,
        this.#length,
        () => this.#checkOpen("go on with", "unknown"),
      );
    });
    this.#length += bytes.length;
  }

  beginSync(): void {
    if (this.#early !== undefined || this.#failure !== undefined || this.#closing !== undefined) {
      return;
    }
    this.#early = this.#target.syncData?.().catch((error: unknown) => {
      this.#failure ??= this.#failureOf("sync", error);
    }).finally(() => {
      this.#early = undefined;
    });
  }

  syncData(): Promise<void> {
    return this.#sync(() => this.#target.syncData?.() ?? this.#target.sync());
  }

  sync(): Promise<void> {
    return this.#sync(() => this.#target.sync());
  }

  async #sync(call: () => Promise<void>): Promise<void> {
    await this.#run("sync", async () => {
      await this.#early;
      if (this.#failure !== undefined) throw this.#failure;
      await call();
    });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const running = [this.#running, this.#early].filter((call) => call !== undefined);
    if (running.length === 0) return await this.#target.close();
    // A descriptor that is closed under a running call may be another file's by the time it is used. But a disk may
    // hang for ever, and nothing counts any more that the call comes to: whoever closes does not wait for it.
    this.#target.closeAfter(Promise.allSettled(running));
  }

  #run(action: string, call: () => Promise<void>): Promise<void> {
    this.#check(action);
    const running = call().catch((error: unknown) => {
      this.#failure = this.#failureOf(action, error);
      throw this.#failure;
    }).finally(() => {
      this.#running = undefined;
    });
    this.#running = running;
    return running;
  }

  #failureOf(action: string, error: unknown): TidemarkError {
    if (error instanceof TidemarkError) return error;
    return new TidemarkError(
      "internal",
      `Cannot ${action} ${JSON.stringify(this.key)}: an unexpected error`,
      { outcome: "unknown", cause: error },
    );
  }

  #checkOpen(action: string, outcome: Outcome): void {
    if (this.#closing === undefined) return;
    throw new TidemarkError(
      "closed",
      `Cannot ${action} ${JSON.stringify(this.key)}: the appender is closed`,
      { outcome },
    );
  }

  #check(action: string): void {
    const name = JSON.stringify(this.key);
    this.#checkOpen(action, "not-applied");
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
