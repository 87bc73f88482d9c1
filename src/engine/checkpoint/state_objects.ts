/**
 * State objects that a run writes, for a checkpoint or ahead of one.
 * Owns: writing them, and which of them wait for a checkpoint. Does not own: when a checkpoint is published, deleting:
 * a collection finds what no checkpoint names.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { ManifestBody, ManifestState } from "../format/manifest.ts";
import { StateEncoder, type StateEncoderOptions } from "../format/state_encoder.ts";
import type { StateHeader } from "../format/state_object.ts";
import { checkName } from "../paths.ts";
import type { Timer } from "../port/clock.ts";
import type { Ports } from "../port/ports.ts";
import type { Appender } from "../storage/backend.ts";
import type { At, StateContent, StateMetadata, StateSource } from "../types.ts";
import { newUuid } from "../uuid.ts";
import { formatHash } from "../format/hash_text.ts";
import { isContent, piecesOf, type StateSources } from "./_state_sources.ts";
import type { JobPlace } from "./catalog_read.ts";
import { orAborted } from "./or_aborted.ts";
import { findState, stateMetadata, stateNotFound, statesOfManifest } from "./state_read.ts";

export { type StateSources, takeStates } from "./_state_sources.ts";

/** How long an object waits for a checkpoint that names it. */
const WAIT_MS_MAX = 3_600_000;
/** How long a source may give nothing once the job is being closed. */
const STALL_MS_MAX = 5_000;
/** Objects that are written ahead of a checkpoint at once: each takes some 16 MiB of memory. */
const WRITES_MAX = 4;

/** What {@link StateObjects} works with. */
export interface StateObjectsOptions {
  readonly place: JobPlace;
  readonly ports: Ports;
  readonly settings: StateEncoderOptions;
  readonly epoch: number;
  readonly run: number;
  /** Set off when the run ends. */
  readonly ended: AbortSignal;
}

/** How the states of a checkpoint are found. */
export interface PrepareOptions {
  /** Reads the manifest of a checkpoint. */
  readonly manifestAt: (at: At) => Promise<ManifestBody>;
  /** Stops it. @default never */
  readonly signal?: AbortSignal;
}

/** An object that is written, and not yet durable. */
interface NewObject {
  readonly state: ManifestState;
  readonly appender: Appender;
}

/** Writes the state objects of one run. */
export class StateObjects {
  readonly #options: StateObjectsOptions;
  /** Keys of what is being written, or is about to be named by a checkpoint. */
  readonly #inWork = new Set<string>();
  /** What no checkpoint names yet, by uuid. */
  readonly #waiting = new Map<
    string,
    { readonly state: ManifestState; readonly sinceMs: number }
  >();
  readonly #closing = new AbortController();
  #writes = 0;

  constructor(options: StateObjectsOptions) {
    this.#options = options;
  }

  /** From now on a source that gives nothing is not waited for any more: the job is being closed. */
  close(): void {
    this.#closing.abort();
  }

  /** An object that waits for a checkpoint. */
  waiting(uuid: string): ManifestState | undefined {
    return this.#waiting.get(uuid)?.state;
  }

  /** Keys of objects that no checkpoint names yet, and that one may. */
  keysInUse(): string[] {
    const now = this.#options.ports.clock.monotonicMs();
    for (const [uuid, { sinceMs }] of this.#waiting) {
      if (now - sinceMs > WAIT_MS_MAX) this.#waiting.delete(uuid);
    }
    return [...this.#inWork, ...[...this.#waiting.values()].map(({ state }) => state.key)];
  }

  /**
   * Writes an object ahead of a checkpoint. It is kept for an hour, or until the run ends.
   *
   * @throws {TidemarkError} `invalid-name`, `invalid-request`; `backpressure`: too many are being written; what the
   * storage answered. What the content throws, and the signal's reason.
   */
  async write(name: string, content: StateContent, signal?: AbortSignal): Promise<StateMetadata> {
    checkName("state", name);
    if (!isContent(content)) {
      throw new TypeError(`Cannot store state ${name}: wants a Uint8Array, or an AsyncIterable`);
    }
    if (this.#writes >= WRITES_MAX) throw tooManyWrites(name);
    this.#writes += 1;
    const keys: string[] = [];
    try {
      const made = await this.#create(name, content, { keys, signal });
      try {
        await this.#storage(made.state, made.appender.sync(), signal);
      } finally {
        await this.#close(made.appender);
      }
      const sinceMs = this.#options.ports.clock.monotonicMs();
      this.#waiting.set(made.state.uuid, { state: made.state, sinceMs });
      return stateMetadata(made.state);
    } finally {
      this.#writes -= 1;
      for (const key of keys) this.#inWork.delete(key);
    }
  }

  /**
   * Makes every state of a checkpoint durable, then has the checkpoint made: until that has settled, a collection
   * leaves them alone.
   *
   * @throws {TidemarkError} `state-not-found`, `checkpoint-not-found`; and as {@link StateObjects.write}.
   */
  async prepare<Result>(
    sources: StateSources,
    options: PrepareOptions,
    use: (states: readonly ManifestState[]) => Promise<Result>,
  ): Promise<Result> {
    const keys: string[] = [];
    try {
      const states = await this.#makeAll(sources, options, keys);
      const result = await use(states);
      for (const { uuid } of states) this.#waiting.delete(uuid);
      return result;
    } finally {
      for (const key of keys) this.#inWork.delete(key);
    }
  }

  /** One sync per object, and one for the folder: that of the first object, which comes last. */
  async #makeAll(
    sources: StateSources,
    { manifestAt, signal }: PrepareOptions,
    keys: string[],
  ): Promise<ManifestState[]> {
    const states: ManifestState[] = [];
    let first: NewObject | undefined;
    try {
      for (const [name, source] of sources) {
        if (!isContent(source)) {
          states.push(await this.#find(name, source, manifestAt));
          continue;
        }
        const made = await this.#create(name, source, { keys, signal });
        states.push(made.state);
        if (first === undefined) first = made;
        else await this.#syncData(made, signal);
      }
      if (first !== undefined) await this.#storage(first.state, first.appender.sync(), signal);
      return states;
    } finally {
      if (first !== undefined) await this.#close(first.appender);
    }
  }

  async #syncData({ state, appender }: NewObject, signal?: AbortSignal): Promise<void> {
    try {
      await this.#storage(state, appender.syncData?.() ?? appender.sync(), signal);
    } finally {
      await this.#close(appender);
    }
  }

  async #find(
    name: string,
    source: Exclude<StateSource, StateContent>,
    manifestAt: PrepareOptions["manifestAt"],
  ): Promise<ManifestState> {
    if ("from" in source) return findState(statesOfManifest(await manifestAt(source.from)), name);
    const waiting = this.#waiting.get(source.written);
    if (waiting?.state.name === name) return waiting.state;
    throw stateNotFound(
      `No state object ${source.written} of name ${name} waits for a checkpoint: it is in one by now, or was written by another run or too long ago; write it again`,
      { name, written: source.written },
    );
  }

  /** @param work `keys` is told what must not be collected. */
  async #create(
    name: string,
    content: StateContent,
    work: { readonly keys: string[]; readonly signal?: AbortSignal },
  ): Promise<NewObject> {
    const { ended, epoch, run, place: { backend, keys, store }, ports } = this.#options;
    ended.throwIfAborted();
    work.signal?.throwIfAborted();
    const uuid = newUuid(ports);
    const header = {
      store,
      job: keys.job,
      name,
      epoch,
      run,
      uuid,
      createdAtMs: ports.clock.nowMs(),
    };
    const key = keys.state(epoch, uuid);
    this.#inWork.add(key);
    work.keys.push(key);
    const creating = backend.createAppender(key);
    let appender: Appender | undefined;
    try {
      appender = await this.#storage({ name, key }, creating, work.signal);
      return { appender, state: await this.#fill(appender, header, content, work.signal) };
    } catch (error) {
      // One that is created when nobody waits any more.
      if (appender === undefined) void creating.then((late) => this.#close(late), () => undefined);
      else await this.#close(appender);
      throw error;
    }
  }

  async #fill(
    appender: Appender,
    header: StateHeader,
    content: StateContent,
    signal: AbortSignal | undefined,
  ): Promise<ManifestState> {
    const { store, job, name, epoch, uuid } = header;
    const { key } = appender;
    const encoder = new StateEncoder(header, this.#options.settings);
    const write = async <Answer>(steps: Generator<Uint8Array, Answer>): Promise<Answer> => {
      for (let step = steps.next();; step = steps.next()) {
        if (step.done) return step.value;
        await this.#storage({ name, key }, appender.write(step.value), signal);
      }
    };
    try {
      await write(encoder.begin());
      for await (const piece of this.#pieces(name, content, signal)) {
        await write(encoder.add(piece));
      }
      const { length, size, contentHash } = await write(encoder.end());
      return { name, key, store, job, epoch, uuid, length, size, xxh64: formatHash(contentHash) };
    } finally {
      encoder.close();
    }
  }

  /** Its pieces, as long as they are wanted: a source that hangs holds nobody up. */
  async *#pieces(
    name: string,
    content: StateContent,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Uint8Array> {
    const iterable = content instanceof Uint8Array ? piecesOf(content) : content;
    const iterator = iterable[Symbol.asyncIterator]();
    let isDone = false;
    try {
      for (;;) {
        const next = await this.#nextOf(name, iterator, signal);
        isDone = next.done === true;
        if (next.done) return;
        if (!(next.value instanceof Uint8Array)) {
          throw new TypeError(`Cannot store state ${name}: one of its pieces is no Uint8Array`);
        }
        yield next.value;
      }
    } finally {
      if (!isDone) void this.#leave(iterator);
    }
  }

  async #nextOf(
    name: string,
    iterator: AsyncIterator<Uint8Array>,
    signal: AbortSignal | undefined,
  ): Promise<IteratorResult<Uint8Array>> {
    const closing = this.#closing.signal;
    let timer: Timer | undefined;
    let begin = (): void => {};
    const stalled = new Promise<never>((_resolve, reject) => {
      const stop = (): void => reject(this.#stalled(name));
      begin = () => {
        timer = this.#options.ports.clock.schedule(STALL_MS_MAX, stop, { keepsAlive: true });
      };
    });
    if (closing.aborted) begin();
    else closing.addEventListener("abort", begin, { once: true });
    try {
      return await this.#wanted(Promise.race([iterator.next(), stalled]), signal);
    } finally {
      closing.removeEventListener("abort", begin);
      timer?.cancel();
    }
  }

  #stalled(name: string): TidemarkError {
    const { job } = this.#options.place.keys;
    return new TidemarkError(
      "closed",
      `Cannot store state ${name}: job ${job} is being closed, and the content gave nothing for ${STALL_MS_MAX} ms`,
      { details: { job, name } },
    );
  }

  async #leave(iterator: AsyncIterator<Uint8Array>): Promise<void> {
    try {
      await iterator.return?.();
    } catch (error) {
      this.#log("Cannot end what a state was read from", error);
    }
  }

  /** Waits for the storage; what fails there leaves an object that no checkpoint names. */
  #storage<Result>(
    { name, key }: Pick<ManifestState, "name" | "key">,
    call: Promise<Result>,
    signal: AbortSignal | undefined,
  ): Promise<Result> {
    const told = call.catch((cause) => {
      if (!(cause instanceof TidemarkError)) throw cause;
      throw new TidemarkError(
        cause.code,
        `Cannot store state ${name}: ${cause.message}; no checkpoint names it`,
        { details: { ...cause.details, name, key }, cause },
      );
    });
    return this.#wanted(told, signal);
  }

  /** Waits as long as the run goes on and the signal is not set off. */
  #wanted<Result>(promise: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
    return orAborted(orAborted(promise, this.#options.ended), signal);
  }

  async #close(appender: Appender): Promise<void> {
    try {
      await appender.close();
    } catch (error) {
      this.#log("Cannot close a state object", error);
    }
  }

  #log(message: string, error: unknown): void {
    const { place, ports } = this.#options;
    ports.logger.log("warning", message, { job: place.keys.job, error });
  }
}

function tooManyWrites(name: string): TidemarkError {
  return new TidemarkError(
    "backpressure",
    `Cannot store state ${name} now: ${WRITES_MAX} others are being written; try again when one is done`,
    { details: { name, writesMax: WRITES_MAX } },
  );
}
