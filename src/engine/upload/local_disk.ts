/**
 * The place of local copies, which is left alone for good once a call to it hangs.
 * Owns: how long a call may take, how many run at once. Does not own: what is stored there, which call fails over.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { Clock, Timer } from "../port/clock.ts";
import type {
  Appender,
  GetOptions,
  LockOptions,
  ObjectInfo,
  OwnerLock,
  PinnedKey,
  PutOptions,
  StorageBackend,
  TemporaryInfo,
} from "../storage/backend.ts";
import { Slots } from "./_slots.ts";

/** Looks at a call before it counts as hung: a process that stood still itself has only taken one. */
const LOOKS = 5;
/** Calls that run at once, hung ones included: each may hold a thread that the store's own disk needs, too. */
const CALLS_MAX = 2;

/** Options of a {@link LocalDisk}. */
export interface LocalDiskOptions {
  /** Milliseconds that one call may take. @default 5000 */
  readonly callMsMax?: number;
  /** Told once: a call hangs, and the place is left alone. @default nobody */
  readonly onHang?: (error: TidemarkError) => void;
}

type Refuse = (error: TidemarkError) => void;

/**
 * A backend of which no call takes longer than it may. The first that does fails, with all that wait, and so does
 * every later one, at once: whoever reads a copy goes on in the main file.
 */
export class LocalDisk implements StorageBackend {
  readonly name: string;
  readonly location: string;
  readonly #inner: StorageBackend;
  readonly #clock: Clock;
  readonly #options: Required<LocalDiskOptions>;
  readonly #slots = new Slots(CALLS_MAX);
  /** Callers that have no answer yet. */
  readonly #pending = new Set<Refuse>();
  #hung: TidemarkError | undefined;

  constructor(inner: StorageBackend, clock: Clock, options: LocalDiskOptions = {}) {
    this.name = inner.name;
    this.location = inner.location;
    this.#inner = inner;
    this.#clock = clock;
    const { callMsMax = 5000, onHang = () => {} } = options;
    this.#options = { callMsMax, onHang };
  }

  /** Whether a call has hung. */
  get isLeft(): boolean {
    return this.#hung !== undefined;
  }

  prepare(options: { create: boolean }): Promise<void> {
    return this.#call("prepare", () => this.#inner.prepare(options));
  }

  put(key: string, bytes: Uint8Array, options?: PutOptions): Promise<void> {
    return this.#call("put", () => this.#inner.put(key, bytes, options));
  }

  putIfAbsent(key: string, bytes: Uint8Array, options?: PutOptions): Promise<"created" | "exists"> {
    return this.#call("putIfAbsent", () => this.#inner.putIfAbsent(key, bytes, options));
  }

  get(key: string, options?: GetOptions): Promise<Uint8Array> {
    return this.#call("get", () => this.#inner.get(key, options));
  }

  head(key: string): Promise<ObjectInfo | undefined> {
    return this.#call("head", () => this.#inner.head(key));
  }

  list(prefix: string): AsyncIterable<ObjectInfo> {
    return this.#each("list", this.#inner.list(prefix));
  }

  delete(key: string): Promise<boolean> {
    return this.#call("delete", () => this.#inner.delete(key));
  }

  async createAppender(key: string): Promise<Appender> {
    const inner = await this.#call("createAppender", () => this.#inner.createAppender(key));
    return {
      key,
      get length() {
        return inner.length;
      },
      write: (bytes) => this.#call("write", () => inner.write(bytes)),
      beginSync: () => inner.beginSync?.(),
      sync: () => this.#call("sync", () => inner.sync()),
      close: () => this.#call("close", () => inner.close()),
    };
  }

  existsSync(key: string): boolean {
    if (this.#hung !== undefined) throw this.#hung;
    return this.#inner.existsSync(key);
  }

  pin(key: string): Promise<PinnedKey> {
    return this.#call("pin", () => this.#inner.pin(key));
  }

  lock(key: string, options?: LockOptions): Promise<OwnerLock | undefined> {
    return this.#call("lock", () => this.#inner.lock(key, options));
  }

  listTemporary(
    prefix: string,
    options?: { isShallow?: boolean },
  ): AsyncIterable<TemporaryInfo> {
    return this.#each("listTemporary", this.#inner.listTemporary(prefix, options));
  }

  deleteTemporary(key: string): Promise<void> {
    return this.#call("deleteTemporary", () => this.#inner.deleteTemporary(key));
  }

  /** Lets go of what is held, without waiting for a place that is left alone. */
  async close(): Promise<void> {
    const closing = this.#inner.close();
    if (this.#hung === undefined) return await this.#call("close", () => closing);
    closing.catch(ignore);
  }

  async *#each<Item>(call: string, items: AsyncIterable<Item>): AsyncGenerator<Item> {
    const iterator = items[Symbol.asyncIterator]();
    try {
      for (;;) {
        const step = await this.#call(call, () => iterator.next());
        if (step.done) return;
        yield step.value;
      }
    } finally {
      // Nobody waits for it: it may hang as well.
      iterator.return?.().catch(ignore);
    }
  }

  #call<Result>(what: string, call: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#hung !== undefined) throw this.#hung;
      this.#pending.add(reject);
      this.#slots.request(() => {
        if (!this.#pending.has(reject)) return;
        const watch = this.#watch(what, 1);
        const settle = (): void => {
          watch.cancel();
          this.#pending.delete(reject);
          this.#slots.release();
        };
        call().finally(settle).then(resolve, reject);
      });
    });
  }

  /** Looks at a call again and again until it has taken too long. */
  #watch(what: string, look: number): Timer {
    const { callMsMax } = this.#options;
    let next: Timer | undefined;
    const timer = this.#clock.schedule(callMsMax / LOOKS, () => {
      if (look < LOOKS) next = this.#watch(what, look + 1);
      else this.#leave(what);
    }, { keepsAlive: true });
    return { cancel: () => (timer.cancel(), next?.cancel()) };
  }

  #leave(what: string): void {
    if (this.#hung !== undefined) return;
    const { callMsMax, onHang } = this.#options;
    this.#hung = new TidemarkError(
      "closed",
      `Local copies in ${this.location} are left alone: a call (${what}) took longer than ${callMsMax} ms; look at the disk, then open the store again`,
      { outcome: "unknown", details: { location: this.location, call: what, callMsMax } },
    );
    for (const refuse of this.#pending) refuse(this.#hung);
    this.#pending.clear();
    onHang(this.#hung);
  }
}

/** Whoever was told of the hang expects nothing of the place any more. */
function ignore(): void {}
