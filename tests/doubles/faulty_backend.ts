/**
 * A backend whose calls fail, lose their answer, are cut short or wait, as a test plans it.
 *
 * ```ts
 * const backend = new FaultyBackend(new MemoryBackend({ clock }));
 * backend.fail({ kind: "sync" });                                  // before it takes effect
 * backend.fail({ kind: "putIfAbsent", key: /catalog/, when: "after" }); // applied, the answer is lost
 * const held = backend.hold({ kind: "sync" });                     // await held.reached; …; held.release();
 * ```
 * @module
 */
import { TidemarkError } from "../../src/engine/errors.ts";
import type {
  Appender,
  DeleteOptions,
  GetOptions,
  LockOptions,
  ObjectInfo,
  OwnerLock,
  PinnedKey,
  PutOptions,
  StorageBackend,
  TemporaryInfo,
} from "../../src/engine/storage/backend.ts";

/** A call that can go wrong. `write`, `sync` and `closeAppender` are those of an appender. */
export type BackendCallKind =
  | "prepare"
  | "put"
  | "putIfAbsent"
  | "get"
  | "head"
  | "list"
  | "delete"
  | "createAppender"
  | "write"
  | "sync"
  | "closeAppender"
  | "pin"
  | "closePin"
  | "lock"
  | "listTemporary"
  | "deleteTemporary"
  | "close";

/** One call, as logged. */
export interface BackendCall {
  /** Counts all calls, from 1. */
  readonly number: number;
  readonly kind: BackendCallKind;
  /** Key or prefix; empty where there is none. */
  readonly key: string;
}

/** Which calls are meant. */
export interface CallPattern {
  /** @default any */
  kind?: BackendCallKind;
  /** @default any */
  key?: RegExp;
  /** How many matching calls pass before. @default 0 */
  skip?: number;
  /** How many calls. @default 1 */
  times?: number;
}

/** What is to go wrong. */
export interface BackendFault extends CallPattern {
  /**
   * `before`: nothing happened. `after`: it took effect, and the answer is lost. `cut`: of a write, only the first
   * half is there. @default "before"
   */
  when?: "before" | "after" | "cut";
  /** @default `storage-unavailable`, outcome `not-applied` before and `unknown` after */
  error?: Error;
}

/** A call that waits. */
export interface HeldCall {
  /** Settles when the call has come. */
  readonly reached: Promise<void>;
  /** Lets it go on. */
  release(): void;
}

interface Plan {
  readonly pattern: CallPattern;
  skip: number;
  left: number;
}

/** A decorator of another backend. It does not close what it decorates: what is stored outlives it. */
export class FaultyBackend implements StorageBackend {
  readonly name: string;
  readonly location: string;
  /** Every call so far. */
  readonly log: BackendCall[] = [];
  /** Decides about each call that no planned fault is about. @default all succeed */
  decide: (call: BackendCall) => Pick<BackendFault, "when" | "error"> | undefined = () => undefined;
  readonly #inner: StorageBackend;
  #faults: (Plan & { readonly fault: BackendFault })[] = [];
  #holds: (Plan & { readonly gate: Promise<void>; readonly onReached: () => void })[] = [];

  constructor(inner: StorageBackend) {
    this.#inner = inner;
    this.name = inner.name;
    this.location = inner.location;
  }

  /** Plans a fault. */
  fail(fault: BackendFault): void {
    const { skip = 0, times = 1 } = fault;
    this.#faults.push({ pattern: fault, fault, skip, left: times });
  }

  /** Makes calls wait, before they take effect. */
  hold(pattern: CallPattern): HeldCall {
    let release!: () => void;
    let onReached!: () => void;
    const gate = new Promise<void>((resolve) => release = resolve);
    const reached = new Promise<void>((resolve) => onReached = resolve);
    const { skip = 0, times = 1 } = pattern;
    this.#holds.push({ pattern, skip, left: times, gate, onReached });
    return { reached, release };
  }

  /** Takes back all faults. */
  mend(): void {
    this.#faults = [];
  }

  /** Keys of the calls of one kind, in order. */
  keysOf(kind: BackendCallKind): string[] {
    return this.log.filter((call) => call.kind === kind).map(({ key }) => key);
  }

  prepare(options: { create: boolean }): Promise<void> {
    return this.#call("prepare", "", () => this.#inner.prepare(options));
  }

  put(key: string, bytes: Uint8Array, options?: PutOptions): Promise<void> {
    return this.#call("put", key, () => this.#inner.put(key, bytes, options));
  }

  putIfAbsent(
    key: string,
    bytes: Uint8Array,
    options?: PutOptions,
  ): Promise<"created" | "exists"> {
    return this.#call("putIfAbsent", key, () => this.#inner.putIfAbsent(key, bytes, options));
  }

  get(key: string, options?: GetOptions): Promise<Uint8Array> {
    return this.#call("get", key, () => this.#inner.get(key, options));
  }

  head(key: string): Promise<ObjectInfo | undefined> {
    return this.#call("head", key, () => this.#inner.head(key));
  }

  async *list(prefix: string): AsyncGenerator<ObjectInfo> {
    await this.#call("list", prefix, () => Promise.resolve());
    yield* this.#inner.list(prefix);
  }

  delete(key: string, options?: DeleteOptions): Promise<boolean> {
    return this.#call("delete", key, () => this.#inner.delete(key, options));
  }

  async createAppender(key: string): Promise<Appender> {
    const inner = await this.#call("createAppender", key, () => this.#inner.createAppender(key));
    return new FaultyAppender(inner, (kind, effect, cut) => this.#call(kind, key, effect, cut));
  }

  existsSync(key: string): boolean {
    return this.#inner.existsSync(key);
  }

  async pin(key: string): Promise<PinnedKey> {
    const pinned = await this.#call("pin", key, () => this.#inner.pin(key));
    return {
      key,
      isCurrent: () => pinned.isCurrent(),
      close: () => this.#call("closePin", key, () => pinned.close()),
    };
  }

  lock(key: string, options?: LockOptions): Promise<OwnerLock | undefined> {
    return this.#call("lock", key, () => this.#inner.lock(key, options));
  }

  async *listTemporary(
    prefix: string,
    options?: { isShallow?: boolean },
  ): AsyncGenerator<TemporaryInfo> {
    await this.#call("listTemporary", prefix, () => Promise.resolve());
    yield* this.#inner.listTemporary(prefix, options);
  }

  deleteTemporary(key: string): Promise<void> {
    return this.#call("deleteTemporary", key, () => this.#inner.deleteTemporary(key));
  }

  close(): Promise<void> {
    return this.#call("close", "", () => Promise.resolve());
  }

  async #call<Result>(
    kind: BackendCallKind,
    key: string,
    effect: () => Promise<Result>,
    cut?: () => Promise<unknown>,
  ): Promise<Result> {
    const call = { number: this.log.length + 1, kind, key };
    this.log.push(call);
    const held = take(this.#holds, call);
    if (held !== undefined) {
      held.onReached();
      await held.gate;
    }
    const fault = take(this.#faults, call)?.fault ?? this.decide(call);
    if (fault === undefined) return await effect();
    const { when = "before" } = fault;
    if (when === "after") await effect();
    if (when === "cut") await cut?.();
    throw fault.error ?? new TidemarkError(
      "storage-unavailable",
      `Cannot ${kind} ${key}: made by a test`,
      { outcome: when === "before" ? "not-applied" : "unknown", details: { key } },
    );
  }
}

/** The first plan that this call fulfils. */
function take<Kind extends Plan>(plans: readonly Kind[], call: BackendCall): Kind | undefined {
  for (const plan of plans) {
    const { kind, key } = plan.pattern;
    if (plan.left === 0 || (kind !== undefined && kind !== call.kind)) continue;
    if (key !== undefined && !key.test(call.key)) continue;
    if (plan.skip-- > 0) continue;
    plan.left--;
    return plan;
  }
  return undefined;
}

type AppenderCall = (
  kind: "write" | "sync" | "closeAppender",
  effect: () => Promise<void>,
  cut?: () => Promise<void>,
) => Promise<void>;

/** Like any appender, it takes no call after one that failed. */
class FaultyAppender implements Appender {
  readonly key: string;
  readonly #inner: Appender;
  readonly #call: AppenderCall;
  #hasFailed = false;

  constructor(inner: Appender, call: AppenderCall) {
    this.key = inner.key;
    this.#inner = inner;
    this.#call = call;
  }

  get length(): number {
    return this.#inner.length;
  }

  write(bytes: Uint8Array): Promise<void> {
    const half = bytes.subarray(0, Math.floor(bytes.length / 2));
    return this.#guard(() =>
      this.#call("write", () => this.#inner.write(bytes), () => this.#inner.write(half))
    );
  }

  syncData(): Promise<void> {
    const { syncData = this.#inner.sync } = this.#inner;
    return this.#guard(() => this.#call("sync", () => syncData.call(this.#inner)));
  }

  sync(): Promise<void> {
    return this.#guard(() => this.#call("sync", () => this.#inner.sync()));
  }

  close(): Promise<void> {
    return this.#call("closeAppender", () => this.#inner.close());
  }

  async #guard(call: () => Promise<void>): Promise<void> {
    if (this.#hasFailed) throw new TypeError(`${this.key} is used after a call of it failed`);
    try {
      await call();
    } catch (error) {
      this.#hasFailed = true;
      throw error;
    }
  }
}
