/**
 * Checkpoints of a job. Seed: `Checkpointer`.
 * Owns: the catalog's content, manifests, what a checkpoint needs.
 * Does not own: change file contents, writers, who owns the job.
 * @module
 */
import { endToManifest } from "../changelog/writer_end.ts";
import type { NeededFile, Tail, WriterEnd } from "../changelog/tail.ts";
import { hasCode, TidemarkError } from "../errors.ts";
import { encodeAdopted } from "../format/adopted.ts";
import type { CheckpointFacts } from "../format/checkpoint_facts.ts";
import {
  type CatalogEntry,
  checkEntrySize,
  type GenerationBody,
  type ObjectReference,
  type TailFrom,
} from "../format/generation.ts";
import { encodeManifest, type ManifestBody, type ManifestState } from "../format/manifest.ts";
import { formatHash } from "../format/hash_text.ts";
import { CHECKPOINTS_MAX } from "../limits.ts";
import { formatCount } from "../paths.ts";
import type { Ports } from "../port/ports.ts";
import type { CheckpointOptions, RetentionPolicy } from "../types.ts";
import { newUuid } from "../uuid.ts";
import { VERSION } from "../version.ts";
import { type CheckpointNotes, checkU64, takeCheckpointOptions } from "./_checkpoint_options.ts";
import type { Catalog, GenerationContent } from "./catalog.ts";
import { entryOf, entryOfManifest, referenceTo } from "./catalog_entry.ts";
import { findCheckpoint } from "./checkpoint_list.ts";
import { checkImported, isDeleted, jobNotFound } from "./deleted_job.ts";
import { emptyGeneration } from "./empty_generation.ts";
import { fenced } from "./owner_key.ts";
import { withReserve } from "./reserve.ts";
import { checkRetention } from "./retention.ts";
import { withoutGoing } from "./retire.ts";
import { CheckpointMetrics } from "./checkpoint_metrics.ts";
import { type JobPlace, readAdopted, readHead, readManifest } from "./catalog_read.ts";

/** How many names of an object in a row may be left behind, since it is not known whether they are on disk. */
const NAMES_MAX = 3;

export type { CheckpointNotes } from "./_checkpoint_options.ts";

/** What a checkpoint is made of, taken in one synchronous step. */
export interface CheckpointPosition {
  /** The file that was open, or the next one. */
  readonly tailFrom: TailFrom;
  readonly writers: readonly WriterEnd[];
}

/** What a checkpoint needs besides its manifest; all of it is durable. */
export interface CheckpointNeeds {
  readonly files: readonly NeededFile[];
  /** In order of name. @default none */
  readonly states?: readonly ManifestState[];
}

/** The catalog of an owned job, in terms of checkpoints. */
export class Checkpointer {
  readonly metrics: CheckpointMetrics;
  readonly #place: JobPlace;
  readonly #ports: Ports;
  readonly #catalog: Catalog;

  constructor(place: JobPlace, ports: Ports, catalog: Catalog) {
    this.#place = place;
    this.#ports = ports;
    this.#catalog = catalog;
    this.metrics = new CheckpointMetrics(ports.metrics, place.keys.job, ports.clock);
  }

  /** Publishes as this owner from now on. */
  publishAs(owner: { check(): void }): void {
    this.#catalog.publishAs(owner);
  }

  /** @throws {TidemarkError} `fenced` when the job has another owner. */
  checkOwner(): void {
    this.#catalog.checkOwner();
  }

  /** The newest generation; there is one as soon as the job is fenced. */
  get newest(): GenerationBody {
    const { newest } = this.#catalog;
    if (newest === undefined) throw new TidemarkError("internal", "The job has no generation yet");
    return newest;
  }

  /** Reads the manifest of `head`. */
  readHead(): Promise<ManifestBody | undefined> {
    return readHead(this.#place, this.newest);
  }

  /** Reads what was adopted. */
  readAdopted(): ReturnType<typeof readAdopted> {
    return readAdopted(this.#place, this.newest.adopted);
  }

  /** Reads the manifest of a published checkpoint. */
  readManifest(entry: CatalogEntry): Promise<ManifestBody> {
    return readManifest(this.#place, entry.manifest);
  }

  /**
   * Publishes that an epoch has begun: the same content, under a new owner. Of a job that was deleted a new one begins,
   * which counts on.
   *
   * @throws {TidemarkError} `job-not-found`: it was deleted meanwhile, so that what is left of it is not removed yet.
   */
  async fence(epoch: number, fingerprint: bigint | undefined): Promise<GenerationBody> {
    checkFingerprint(fingerprint);
    const found = this.#catalog.newest;
    return await this.#catalog.publish((newest) => {
      const begin = (run: number): GenerationContent =>
        emptyGeneration("fence", { run, fingerprint: fingerprint ?? 0n }, epoch);
      if (newest === undefined) return begin(1);
      checkImported(this.#place, newest);
      if (isDeleted(newest)) {
        if (newest === found) return begin(newest.run + 1);
        throw jobNotFound(this.#place, "it was deleted meanwhile; open it again to make a new one");
      }
      return { ...newest, reason: "fence", epoch, fingerprint: fingerprint ?? newest.fingerprint };
    });
  }

  /** Publishes what the epoch took over from older ones. */
  async publishRecovered(tail: Tail, files: readonly NeededFile[]): Promise<GenerationBody> {
    const { epoch } = this.newest;
    const adopted = await this.#writeAdopted(epoch, tail.sets === 0 ? [] : files, tail.writers);
    return await this.#publishAdopted((newest) => ({
      ...newest!,
      reason: "recovered",
      tailFrom: { epoch, number: 0 },
      adopted,
    }));
  }

  /**
   * Publishes what a salvage makes of the catalog. What was adopted before stays where it is.
   *
   * @throws {TidemarkError} `plan-changed`: another generation was published meanwhile.
   */
  async publishSalvaged(
    content: Omit<GenerationContent, "reason" | "tailFrom" | "adopted" | "doomed">,
    tail: Tail,
    files: readonly NeededFile[],
  ): Promise<GenerationBody> {
    const { epoch } = content;
    const base = this.#catalog.newest;
    const adopted = await this.#writeAdopted(epoch, tail.sets === 0 ? [] : files, tail.writers);
    const tailFrom = { epoch, number: 0 };
    return await this.#catalog.publish((newest) => {
      if (newest === base) return { ...content, reason: "salvage", tailFrom, adopted, doomed: [] };
      throw new TidemarkError(
        "plan-changed",
        `Cannot salvage job ${this.#place.keys.job}: generation ${newest?.number} was published meanwhile; look at the plan again`,
        { details: { job: this.#place.keys.job, generation: newest?.number } },
      );
    });
  }

  /**
   * Publishes what was imported.
   *
   * @throws {TidemarkError} `fenced`: something else was published meanwhile.
   */
  async publishImported(
    content: Omit<GenerationContent, "reason" | "tailFrom" | "adopted" | "doomed">,
    writers: ReadonlyMap<string, WriterEnd>,
    files: readonly NeededFile[],
  ): Promise<GenerationBody> {
    const { epoch } = content;
    const base = this.#catalog.newest;
    const adopted = await this.#writeAdopted(epoch, files, writers);
    const tailFrom = { epoch, number: 0 };
    return await this.#catalog.publish((newest) => {
      if (newest === base) return { ...content, reason: "import", tailFrom, adopted, doomed: [] };
      throw fenced(this.#place.keys.job, epoch);
    });
  }

  /** Publishes what names another `adopted`, or none; the one before is needed by nobody then. */
  async #publishAdopted(
    makeContent: (newest: GenerationBody | undefined) => GenerationContent,
  ): Promise<GenerationBody> {
    const before = this.newest.adopted;
    const published = await this.#catalog.publish(makeContent);
    if (before === null || before.key === published.adopted?.key) return published;
    try {
      await this.#place.backend.delete(before.key);
    } catch (error) {
      // A collection finds it again.
      this.#ports.logger.log("warning", "Cannot delete what was adopted before", {
        key: before.key,
        error,
      });
    }
    return published;
  }

  /** Whether nothing decided yet if a publish took effect: `newest` may not be the newest then. */
  get isUndecided(): boolean {
    return this.#catalog.isUndecided;
  }

  /** Brings a publish to an end of which nothing decided yet whether it took effect. */
  settle(): Promise<void> {
    return this.#catalog.settle();
  }

  /** Publishes which checkpoints are listed from now on. */
  publishCheckpoints(checkpoints: readonly CatalogEntry[]): Promise<GenerationBody> {
    return this.#catalog.publish((newest) => (
      { ...newest!, reason: "retention", checkpoints: [...checkpoints] }
    ));
  }

  /**
   * Publishes a catalog without one checkpoint.
   *
   * @param isRead Whether somebody reads it.
   * @throws {TidemarkError} `checkpoint-not-found`; `checkpoint-in-use`: it is `head`, pinned, or being read.
   */
  async publishRemoval(uuid: string, isRead: boolean): Promise<void> {
    const { newest } = this;
    const entry = findCheckpoint(newest, uuid);
    const reason = entry.uuid === newest.head
      ? "the job goes on from it; make a newer one, or resume elsewhere, first"
      : entry.pin !== null
      ? `it is pinned (${entry.pin}); unpin it first`
      : isRead
      ? "somebody reads it; try again when that has ended"
      : undefined;
    if (reason !== undefined) {
      throw new TidemarkError(
        "checkpoint-in-use",
        `Cannot delete checkpoint ${uuid} of job ${this.#place.keys.job}: ${reason}`,
        { details: { uuid } },
      );
    }
    await this.publishCheckpoints(withoutGoing(newest.checkpoints, new Set([uuid])));
  }

  /** Publishes another retention policy, unless it is the one that holds. */
  async publishRetention(policy: RetentionPolicy): Promise<void> {
    const { minCount, maxCount, maxAgeMs } = checkRetention(policy);
    const { retention } = this.newest;
    const isSame = retention.minCount === minCount && retention.maxCount === maxCount &&
      retention.maxAgeMs === maxAgeMs;
    if (isSame) return;
    await this.#catalog.publish((newest) => (
      { ...newest!, reason: "retention", retention: { minCount, maxCount, maxAgeMs } }
    ));
  }

  /** Publishes that a checkpoint stays in any case, or no more. */
  async publishPin(uuid: string, pin: string | null): Promise<void> {
    if (pin !== null && typeof pin !== "string") {
      throw new TypeError(`Cannot use ${String(pin)} as the reason of a pin: wants a string`);
    }
    const entry = findCheckpoint(this.newest, uuid);
    if (entry.pin === pin) return;
    const pinned = { ...entry, pin, quarantinedAtMs: null };
    checkEntrySize(pinned);
    await this.#catalog.publish((newest) => ({
      ...newest!,
      reason: "pin",
      checkpoints: newest!.checkpoints.map((other) => other.uuid === entry.uuid ? pinned : other),
    }));
  }

  /** Publishes that a new run begins at a checkpoint, at nothing, or at the tail. */
  async publishResume(
    epoch: number,
    at: { readonly head: string | null } | {
      readonly tail: Pick<Tail, "writers"> & { readonly files: readonly NeededFile[] };
    },
  ): Promise<GenerationBody> {
    const adopted = "tail" in at
      ? await this.#writeAdopted(epoch, at.tail.files, at.tail.writers)
      : null;
    return await this.#publishAdopted((newest) => ({
      ...newest!,
      reason: "resume",
      epoch,
      run: newest!.run + 1,
      head: "tail" in at ? newest!.head : at.head,
      tailFrom: { epoch, number: 0 },
      adopted,
    }));
  }

  /**
   * Refuses what can't become a checkpoint, before anything is done for it.
   *
   * @returns What is said of the checkpoint, as it is now.
   */
  checkOptions(given: CheckpointOptions): CheckpointNotes {
    const options = takeCheckpointOptions(given);
    const facts = this.#facts(options, newUuid(this.#ports));
    const size = Number.MAX_SAFE_INTEGER;
    const key = this.#place.keys.manifest(facts.uuid);
    checkEntrySize(entryOf(facts, size, { key, size, xxh64: formatHash(0n) }));
    return options;
  }

  /** Whether the catalog lists as many checkpoints as it may. */
  get isFull(): boolean {
    return this.newest.checkpoints.length >= CHECKPOINTS_MAX;
  }

  /** @throws {TidemarkError} `too-many-checkpoints` when the catalog has no room for another. */
  checkRoom(): void {
    if (!this.isFull) return;
    throw new TidemarkError(
      "too-many-checkpoints",
      `Cannot make a checkpoint: retention and pins keep ${CHECKPOINTS_MAX} of job ${this.#place.keys.job}; let some of them go`,
      { details: { checkpoints: this.newest.checkpoints.length } },
    );
  }

  /** Writes the manifest, then publishes the checkpoint as `head`. Everything that it needs is durable by then. */
  async commit(
    options: CheckpointNotes,
    position: CheckpointPosition,
    needs: CheckpointNeeds,
    firstUuid: string = newUuid(this.#ports),
  ): Promise<{ entry: CatalogEntry; manifest: ManifestBody }> {
    this.checkNew(firstUuid);
    const { manifest, bytes } = await this.#writeManifest(options, position, needs, firstUuid);
    const entry = entryOfManifest(manifest, bytes);
    await this.#publishAdopted((newest) => ({
      ...newest!,
      reason: "checkpoint",
      head: manifest.uuid,
      tailFrom: position.tailFrom,
      adopted: null,
      checkpoints: [...newest!.checkpoints, entry],
    }));
    this.metrics.published(manifest);
    return { entry, manifest };
  }

  /** A uuid that the caller gave is the only name; else another one is taken where it need not be on disk. */
  async #writeManifest(
    options: CheckpointNotes,
    position: CheckpointPosition,
    needs: CheckpointNeeds,
    firstUuid: string,
  ): Promise<{ manifest: ManifestBody; bytes: Uint8Array }> {
    let uuid = firstUuid;
    const make = () => {
      const manifest = this.#manifest(this.#facts(options, uuid), options, position, needs);
      uuid = newUuid(this.#ports);
      return { key: manifest.key, bytes: encodeManifest(manifest), manifest };
    };
    const isGiven = options.uuid !== undefined;
    try {
      return await this.#putNew(this.newest.epoch, make, isGiven ? 1 : NAMES_MAX);
    } catch (error) {
      throw isGiven && hasCode(error, "object-exists") ? checkpointExists(firstUuid, error) : error;
    }
  }

  /** @throws {TidemarkError} `checkpoint-exists`: the catalog lists a checkpoint of this uuid. */
  checkNew(uuid: string): void {
    const isListed = this.newest.checkpoints.some((entry) => entry.uuid === uuid);
    if (isListed) throw checkpointExists(uuid);
  }

  #facts(options: CheckpointNotes, uuid: string): CheckpointFacts {
    const { epoch, run, fingerprint, head } = this.newest;
    return {
      uuid,
      parent: head,
      fingerprint,
      identifier: options.identifier ?? null,
      steps: options.steps ?? null,
      processedRecords: options.processedRecords ?? null,
      createdAtMs: this.#ports.clock.nowMs(),
      epoch,
      run,
      ...(options.idempotency === undefined ? {} : { idempotency: options.idempotency }),
    };
  }

  #manifest(
    facts: CheckpointFacts,
    { metadata = null }: CheckpointNotes,
    position: CheckpointPosition,
    { files, states = [] }: CheckpointNeeds,
  ): ManifestBody {
    const { keys, store } = this.#place;
    return {
      key: keys.manifest(facts.uuid),
      store,
      job: keys.job,
      ...facts,
      tailFrom: position.tailFrom,
      engineVersion: VERSION,
      files: files.map(({ key, name, length, indexHash, origin = { store, job: keys.job } }) => (
        { key, ...origin, ...name, length, indexHash: formatHash(indexHash) }
      )),
      writers: position.writers.map(endToManifest),
      states: [...states],
      metadata,
    };
  }

  async #writeAdopted(
    epoch: number,
    files: readonly NeededFile[],
    writers: ReadonlyMap<string, WriterEnd>,
  ): Promise<ObjectReference | null> {
    if (files.length === 0) return null;
    const { keys, store } = this.#place;
    const { key, bytes } = await this.#putNew(epoch, () => {
      const key = keys.adopted(epoch, newUuid(this.#ports));
      const body = {
        key,
        store,
        job: keys.job,
        number: epoch,
        files: files.map(({ key, length, indexHash, origin }) => (
          { key, length, indexHash: formatHash(indexHash), ...origin }
        )),
        writers: [...writers.values()].map(toStored),
      };
      return { key, bytes: encodeAdopted(body) };
    });
    return referenceTo(key, bytes);
  }

  /** Writes an object that nothing names yet; a name that need not be on disk is left behind for another one. */
  async #putNew<Made extends { readonly key: string; readonly bytes: Uint8Array }>(
    epoch: number,
    make: () => Made,
    namesMax: number = NAMES_MAX,
  ): Promise<Made> {
    const { backend, reserve } = this.#place;
    const tag = formatCount(epoch);
    for (let attempt = 1;; attempt++) {
      const made = make();
      const { key, bytes } = made;
      try {
        const result = await withReserve(reserve, () => backend.putIfAbsent(key, bytes, { tag }));
        if (result === "created") return made;
        throw new TidemarkError("object-exists", `Cannot write ${key}: it is there already`, {
          details: { key },
        });
      } catch (error) {
        const isUnknown = error instanceof TidemarkError && error.outcome === "unknown";
        if (!isUnknown) throw error;
        if (attempt === namesMax) throw notRelied(key, error);
      }
    }
  }
}

/** The error of a checkpoint whose uuid was used before. */
export function checkpointExists(uuid: string, cause?: unknown): TidemarkError {
  return new TidemarkError(
    "checkpoint-exists",
    `Cannot make checkpoint ${uuid}: one of this uuid was begun or made before; list them, or use another uuid`,
    { details: { uuid }, cause },
  );
}

/** Nothing names the object, so that whoever wanted it for something has that not done. */
function notRelied(key: string, cause: TidemarkError): TidemarkError {
  return new TidemarkError(
    cause.code,
    `Cannot tell whether ${key} is on disk, nor others before it: ${cause.message}; try again`,
    { details: { key }, cause },
  );
}

/** Checks a fingerprint that comes from outside. @throws {TypeError} | {RangeError} */
export function checkFingerprint(fingerprint: bigint | undefined): void {
  if (fingerprint !== undefined) checkU64("fingerprint", fingerprint);
}

function toStored({ writer, keyGroups, sequenceNumber, nextOffset }: WriterEnd): WriterEnd {
  return { writer, keyGroups, sequenceNumber, nextOffset };
}
