/**
 * Collection in an owned job: when, and what the job itself is using.
 * Owns: the interval, which files restores read now. Does not own: what is kept and why (`Collector`).
 * @module
 */
import type { RestoreSource } from "./changelog/restore_plan.ts";
import { Collector } from "./checkpoint/collector.ts";
import type { Checkpointer } from "./checkpoint/checkpointer.ts";
import type { JobPlace } from "./checkpoint/catalog_read.ts";
import type { GenerationBody } from "./format/generation.ts";
import { explainKey } from "./checkpoint/explain.ts";
import { readLeases } from "./checkpoint/lease.ts";
import { hasCode } from "./errors.ts";
import type { Ports } from "./port/ports.ts";
import type { CollectionOptions, CollectionReport, ObjectExplanation } from "./types.ts";

/** How long a checkpoint rests that retention lets go. */
const QUARANTINE_MS = 600_000;
/** What is not an ancestor of `head` goes after so long. */
const ABANDONED_AGE_MS_MAX = 7 * 86_400_000;
/** How often a job collects in passing. */
const INTERVAL_MS = 10_000;

/** What a run is using. */
export interface KeysInUse {
  keysInUse(): Iterable<string>;
  readonly states: { keysInUse(): Iterable<string> };
}

/** Collects one job. */
export class JobCollection {
  readonly #place: JobPlace;
  readonly #ports: Ports;
  readonly #checkpointer: Checkpointer;
  readonly #collector: Collector;
  /** Objects that are read now, with by how many. */
  readonly #read = new Map<string, number>();
  /** Checkpoints that are read now, with by how many. */
  readonly #checkpoints = new Map<string, number>();
  #collectedMs = -Infinity;

  constructor(place: JobPlace, ports: Ports, checkpointer: Checkpointer) {
    this.#place = place;
    this.#ports = ports;
    this.#checkpointer = checkpointer;
    this.#collector = new Collector(place, ports, checkpointer);
  }

  /** Whether something restores or verifies the job now. */
  get isRead(): boolean {
    return this.#read.size > 0;
  }

  /** Whether it is time to collect in passing. */
  get isDue(): boolean {
    return this.#ports.clock.monotonicMs() - this.#collectedMs >= INTERVAL_MS;
  }

  /**
   * Collects.
   *
   * @param run Keys of the files that the tail needs, and of the state objects that wait for a checkpoint; asked after
   * the listing.
   */
  collect(
    options: CollectionOptions,
    run: KeysInUse,
  ): Promise<CollectionReport> {
    const { except = [], dryRun = false, signal, onProgress } = options;
    signal?.throwIfAborted();
    const quarantineMs = options.quarantineMs ?? (this.#isShort() ? 0 : QUARANTINE_MS);
    this.#collectedMs = this.#ports.clock.monotonicMs();
    return this.#collector.collect({
      except: new Set(except),
      isDryRun: dryRun,
      signal,
      onProgress,
      readHere: () => this.#checkpoints.keys(),
      beingMade: () => run.states.keysInUse(),
      quarantineMs,
      abandonedAgeMsMax: ABANDONED_AGE_MS_MAX,
    }, () => [...run.keysInUse(), ...this.#read.keys()]);
  }

  /** Removes one checkpoint, then collects: what it alone needed goes. */
  async deleteCheckpoint(
    uuid: string,
    run: KeysInUse,
  ): Promise<CollectionReport> {
    const held = await readLeases(this.#place, this.#ports.clock.nowMs());
    const isRead = held.checkpoints.has(uuid) || this.#checkpoints.has(uuid);
    await this.#checkpointer.publishRemoval(uuid, isRead);
    const report = await this.collect({}, run);
    return { ...report, removed: [uuid, ...report.removed] };
  }

  /** Says why an object stays or goes. */
  async explain(
    key: string,
    options: CollectionOptions,
    run: KeysInUse,
  ): Promise<ObjectExplanation> {
    const plan = await this.collect({ ...options, dryRun: true }, run);
    return await explainKey(this.#place, this.#checkpointer.newest, plan, key);
  }

  /** Whether room is short, so that nothing may rest. */
  #isShort(): boolean {
    const { keys, reserve, room } = this.#place;
    return (reserve?.isGivenUp ?? false) || (room?.isShort(keys.job) ?? false);
  }

  /**
   * Keeps the objects that a restore reads until it has ended.
   *
   * @param alsoLetGo Called with it: what else is kept for the restore. @default nothing is
   */
  hold(source: RestoreSource, alsoLetGo?: () => void): RestoreSource {
    const objects = [...source.files, ...source.states ?? []];
    const letGo = objects.map(({ key }) => count(this.#read, key));
    const release = (): void => {
      for (const one of letGo) one();
      alsoLetGo?.();
    };
    const explain = (error: unknown) => Promise.resolve(this.#explain(error));
    return { ...source, release, explain };
  }

  /** Keeps a checkpoint listed while what restores it is found, and until that has ended. */
  async holdCheckpoint(uuid: string, find: () => Promise<RestoreSource>): Promise<RestoreSource> {
    const letGo = count(this.#checkpoints, uuid);
    try {
      return this.hold(await find(), letGo);
    } catch (error) {
      letGo();
      throw this.#explain(error);
    }
  }

  /** Keeps checkpoints, those of a generation for example, listed while an action looks at them. */
  async holding<Result>(
    { checkpoints }: Pick<GenerationBody, "checkpoints">,
    action: () => Promise<Result>,
  ): Promise<Result> {
    const letGo = checkpoints.map(({ uuid }) => count(this.#checkpoints, uuid));
    try {
      return await action();
    } catch (error) {
      throw this.#explain(error);
    } finally {
      for (const one of letGo) one();
    }
  }

  /** What is missing may be another owner's doing: that says more. */
  #explain(error: unknown): unknown {
    if (!hasCode(error, "changes-lost") && !hasCode(error, "object-not-found")) return error;
    try {
      this.#checkpointer.checkOwner();
    } catch (reason) {
      return reason;
    }
    return error;
  }
}

/** Counts one more user; the answer takes it back. */
function count(users: Map<string, number>, key: string): () => void {
  users.set(key, (users.get(key) ?? 0) + 1);
  return () => {
    const left = users.get(key)! - 1;
    if (left === 0) users.delete(key);
    else users.set(key, left);
  };
}
