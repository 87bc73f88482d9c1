/**
 * Removes checkpoints that retention lets go, and the objects that nothing needs any more (DESIGN, *Delete*).
 * Seed: `gc_checkpoint`, `gc_startup`.
 * Owns: what is kept and why, and the order: list, keep, publish, leases, delete.
 * Does not own: the policy, the catalog. Files at or after `tailFrom` are never touched.
 * @module
 */
import { compareFiles } from "../changelog/file_order.ts";
import { TidemarkError } from "../errors.ts";
import type { CatalogEntry, GenerationBody } from "../format/generation.ts";
import { decodeManifest, keysNeededBy } from "../format/manifest.ts";
import type { Ports } from "../port/ports.ts";
import { deleteAll } from "../storage/delete_all.ts";
import { readOptional } from "../storage/derived.ts";
import { UploadMetrics } from "../upload/upload_metrics.ts";
import type { CollectedObject, CollectionOptions, CollectionReport, Problem } from "../types.ts";
import type { JobPlace } from "./catalog_read.ts";
import type { Checkpointer } from "./checkpointer.ts";
import { type HeldByReaders, readLeases } from "./lease.ts";
import { planRetention, type RetentionVerdict } from "./retention.ts";
import { retire, type Retirement } from "./retire.ts";

/** What one collection is asked to do. */
export interface CollectOptions {
  /** Checkpoints that stay in any case. */
  readonly except: ReadonlySet<string>;
  /** How long what goes rests first. */
  readonly quarantineMs: number;
  readonly abandonedAgeMsMax: number;
  /** Whether only to say what would be done. */
  readonly isDryRun: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: CollectionOptions["onProgress"];
  /** Uuids of the checkpoints that this process reads now. */
  readonly readHere: () => Iterable<string>;
  /** Keys of state objects that no checkpoint names yet, and that one may; asked after the listing. @default none */
  readonly beingMade?: () => Iterable<string>;
}

interface ListedObject {
  readonly key: string;
  readonly size: number;
}

/** What a keep set is made from. */
interface StayingObjects {
  readonly checkpoints: readonly CatalogEntry[];
  readonly inUse: Iterable<string>;
  readonly listed: readonly ListedObject[];
}

/** Collects one job, in its owner. */
export class Collector {
  readonly #place: JobPlace;
  readonly #ports: Ports;
  readonly #checkpointer: Checkpointer;
  readonly #metrics: UploadMetrics;
  /** Objects that a checkpoint needs, by its uuid: they never change. */
  readonly #needs = new Map<string, readonly string[]>();

  constructor(place: JobPlace, ports: Ports, checkpointer: Checkpointer) {
    this.#place = place;
    this.#ports = ports;
    this.#checkpointer = checkpointer;
    this.#metrics = new UploadMetrics(ports.metrics, place.keys.job);
  }

  /**
   * Collects.
   *
   * @param inUse Keys of the files that the tail needs, asked after the listing.
   */
  async collect(options: CollectOptions, inUse: () => Iterable<string>): Promise<CollectionReport> {
    this.#checkpointer.checkOwner();
    const listed = await this.#list();
    const held = await readLeases(this.#place, this.#ports.clock.nowMs());
    const generation = this.#checkpointer.newest;
    const { verdicts, retirement } = this.#plan(generation, {
      ...options,
      except: new Set([...options.except, ...held.checkpoints, ...options.readHere()]),
    });
    const unread: Problem[] = [];
    const staying = { checkpoints: retirement.checkpoints, inUse: inUse(), listed };
    const kept = await this.#keepSet(generation, staying, unread);
    for (const key of await this.#heldKeys(held)) kept.set(key, "a reader holds it");
    for (const key of options.beingMade?.() ?? []) {
      kept.set(key, "a checkpoint may come to need it");
    }
    const objects = listed.map((object) => this.#decide(object, kept, generation));
    const going = objects.filter(({ action }) => action === "delete");
    const report = {
      isDryRun: options.isDryRun,
      removed: retirement.removed,
      quarantined: retirement.quarantined,
      verdicts: verdicts.map(({ entry, stays, reason }) => ({ uuid: entry.uuid, stays, reason })),
      objects,
    };
    if (options.isDryRun) return { ...report, deletedBytes: 0, problems: unread };
    // Deletes come after a generation that names nothing of what goes.
    if (retirement.isChange || going.length > 0) {
      await this.#checkpointer.publishCheckpoints(retirement.checkpoints);
    }
    const deletable = await this.#withoutHeld(going, options.readHere);
    // Also of a deletion that was stopped half-way: a uuid is free again once its manifest is gone.
    const deleted = await this.#delete(deletable, options).finally(() => this.#forgetNeeds());
    if (deleted.deletedBytes > 0) await this.#place.reserve?.ensure();
    await this.#place.room?.recount();
    return { ...report, ...deleted, problems: [...unread, ...deleted.problems] };
  }

  /** What retention makes of a catalog, now. */
  #plan(
    generation: GenerationBody,
    { except, quarantineMs, abandonedAgeMsMax }: CollectOptions,
  ): { verdicts: RetentionVerdict[]; retirement: Retirement } {
    const nowMs = this.#ports.clock.nowMs();
    const policy = generation.retention;
    const verdicts = planRetention(generation, { policy, nowMs, except, abandonedAgeMsMax });
    return { verdicts, retirement: retire(generation, verdicts, { nowMs, quarantineMs }) };
  }

  /** Objects that the engine made and may delete; nothing else is even looked at. */
  async #list(): Promise<ListedObject[]> {
    const { backend, keys } = this.#place;
    const listed: ListedObject[] = [];
    const prefixes = [
      keys.changelogPrefix,
      keys.statesPrefix,
      keys.checkpointsPrefix,
      keys.adoptedPrefix,
    ];
    for (const prefix of prefixes) {
      for await (const { key, size } of backend.list(prefix)) {
        if (keys.isOwn(key)) listed.push({ key, size });
      }
    }
    return listed;
  }

  /** Every object that is needed, with what needs it. */
  async #keepSet(
    generation: GenerationBody,
    { checkpoints, inUse, listed }: StayingObjects,
    unread: Problem[],
  ): Promise<Map<string, string>> {
    const kept = new Map<string, string>();
    for (const key of inUse) kept.set(key, "the tail needs it");
    if (generation.adopted !== null) kept.set(generation.adopted.key, "the catalog names it");
    for (const entry of checkpoints) {
      for (const key of await this.#needsOfStaying(entry, listed, unread)) {
        if (!kept.has(key)) kept.set(key, `checkpoint ${entry.uuid} needs it`);
      }
    }
    return kept;
  }

  /**
   * What a checkpoint needs that stays. One that can't be read and only rests may need any file, and keeps nothing else
   * from going: else its own quarantine would never end.
   */
  async #needsOfStaying(
    entry: CatalogEntry,
    listed: readonly ListedObject[],
    unread: Problem[],
  ): Promise<readonly string[]> {
    try {
      return await this.#needsOf(entry);
    } catch (error) {
      const isOfData = error instanceof TidemarkError && error.kind === "corrupt";
      if (entry.quarantinedAtMs === null || !isOfData) throw error;
      const { key } = entry.manifest;
      unread.push({ key, reason: error.message });
      const { checkpointsPrefix } = this.#place.keys;
      const others = listed.filter((object) => !object.key.startsWith(checkpointsPrefix));
      return [key, ...others.map((object) => object.key)];
    }
  }

  /** Keys that the checkpoints need which readers hold, whether the catalog still lists them or not. */
  async #heldKeys({ checkpoints }: HeldByReaders): Promise<Set<string>> {
    const held = new Set<string>();
    for (const uuid of checkpoints) {
      const entry = this.#checkpointer.newest.checkpoints.find((one) => one.uuid === uuid);
      const needs = entry === undefined
        ? this.#needs.get(uuid) ?? await this.#needsOfRemoved(uuid)
        : await this.#needsOf(entry);
      for (const key of needs) held.add(key);
    }
    return held;
  }

  /** What a checkpoint needs that the catalog does not list any more: its manifest stays while it is held. */
  async #needsOfRemoved(uuid: string): Promise<readonly string[]> {
    const key = this.#place.keys.manifest(uuid);
    const bytes = await readOptional(this.#place.backend, key);
    if (bytes === undefined) return [];
    const { store, keys: { job } } = this.#place;
    return keysNeededBy(decodeManifest(key, bytes, { store, job }));
  }

  /** @throws {TidemarkError} A manifest that can't be read: nothing is deleted while one that stays is so. */
  async #needsOf(entry: CatalogEntry): Promise<readonly string[]> {
    let needs = this.#needs.get(entry.uuid);
    if (needs === undefined) {
      needs = keysNeededBy(await this.#checkpointer.readManifest(entry));
      this.#needs.set(entry.uuid, needs);
    }
    return needs;
  }

  #decide(
    { key, size }: ListedObject,
    kept: ReadonlyMap<string, string>,
    { tailFrom, epoch, head, checkpoints }: GenerationBody,
  ): CollectedObject {
    const needed = kept.get(key);
    if (needed !== undefined) return { key, size, action: "keep", reason: needed };
    const file = this.#place.keys.parseChangeFile(key);
    if (file !== undefined) {
      if (compareFiles(file, tailFrom) >= 0) {
        return { key, size, action: "keep", reason: "it lies at or after the begin of the tail" };
      }
      const isOwnLine = checkpoints.findLast(({ uuid }) => uuid === head)?.epoch === epoch;
      if (!isOwnLine) {
        return { key, size, action: "keep", reason: "this owner has published no checkpoint yet" };
      }
    }
    return { key, size, action: "delete", reason: "nothing needs it" };
  }

  /** Readers are looked at after the publish, so that one sees the new catalog or is seen here. */
  async #withoutHeld(
    going: readonly CollectedObject[],
    readHere: () => Iterable<string>,
  ): Promise<CollectedObject[]> {
    if (going.length === 0) return [];
    const held = await readLeases(this.#place, this.#ports.clock.nowMs());
    const checkpoints = new Set([...held.checkpoints, ...readHere()]);
    const keys = await this.#heldKeys({ ...held, checkpoints });
    return going.filter(({ key }) => !held.holdsTail && !keys.has(key));
  }

  /** Forgets what checkpoints need that are listed no more. */
  #forgetNeeds(): void {
    const listed = new Set(this.#checkpointer.newest.checkpoints.map(({ uuid }) => uuid));
    for (const uuid of this.#needs.keys()) if (!listed.has(uuid)) this.#needs.delete(uuid);
  }

  async #delete(
    going: readonly CollectedObject[],
    { signal, onProgress }: Pick<CollectOptions, "signal" | "onProgress">,
  ): Promise<Pick<CollectionReport, "deletedBytes" | "problems">> {
    let waiting = going.length;
    const hideGauge = this.#metrics.observe({ discardQueueFiles: () => waiting });
    const check = (): void => {
      signal?.throwIfAborted();
      this.#checkpointer.checkOwner();
      onProgress?.({ phase: "delete", done: going.length - waiting, total: going.length });
      waiting -= 1;
    };
    try {
      const failed = await deleteAll(this.#place.backend, going.map(({ key }) => key), check);
      const left = new Set(failed.map(({ key }) => key));
      const deleted = going.filter(({ key }) => !left.has(key));
      this.#metrics.discards.add(deleted.length);
      this.#metrics.discardFailures.add(failed.length);
      const deletedBytes = deleted.reduce((sum, { size }) => sum + size, 0);
      const problems = failed.map(({ key, error }): Problem => ({ key, reason: error.message }));
      return { deletedBytes, problems };
    } finally {
      hideGauge();
    }
  }
}
