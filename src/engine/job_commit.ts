/**
 * Makes the checkpoints of an owned job.
 * Owns: the order of persist, states, manifest and publish, and what is held while a publish is undecided. Does not
 * own: whose turn it is, who owns the job.
 * @module
 */
import { readFileSets } from "./changelog/file_sets.ts";
import type { NeededFile } from "./changelog/tail.ts";
import type { JobPlace } from "./checkpoint/catalog_read.ts";
import { findCheckpoint } from "./checkpoint/checkpoint_list.ts";
import { type Attempt, CheckpointAttempts } from "./checkpoint/checkpoint_attempts.ts";
import {
  type Checkpointer,
  checkpointExists,
  type CheckpointNeeds,
  type CheckpointNotes,
} from "./checkpoint/checkpointer.ts";
import {
  areComparable,
  checkSame,
  checkSameStates,
  findByKey,
  type Idempotency,
} from "./checkpoint/idempotency.ts";
import { orAborted } from "./checkpoint/or_aborted.ts";
import type { StateSources } from "./checkpoint/state_objects.ts";
import { TidemarkError } from "./errors.ts";
import type { CatalogEntry } from "./format/generation.ts";
import type { ManifestBody } from "./format/manifest.ts";
import type { JobRun, RunPosition } from "./job_run.ts";
import type { Ports } from "./port/ports.ts";
import type { At, Progress } from "./types.ts";
import { newUuid } from "./uuid.ts";

/** What a checkpoint is made of. */
export interface CommitOptions extends CheckpointNotes {
  readonly position: RunPosition;
  readonly states: StateSources;
  /** Its uuid, unless nothing can tell whether that is on disk. */
  readonly attemptUuid: string;
  /** Told how far it is. @default nobody */
  readonly onProgress?: (progress: Progress) => void;
  /** Makes room in a catalog that is full, as far as retention lets it. */
  readonly makeRoom: () => Promise<unknown>;
}

/** What is asked for under a key. */
export interface OnceOptions {
  readonly idempotency: Idempotency;
  readonly states: StateSources;
  readonly run: JobRun;
  /** Ends the wait for another one. @default never */
  readonly signal?: AbortSignal;
}

/** Makes checkpoints, one at a time. */
export class JobCommit {
  readonly #place: JobPlace;
  readonly #ports: Ports;
  readonly #checkpointer: Checkpointer;
  /** Holds on the files of checkpoints of which nothing decided yet whether they were published. */
  #undecidedHolds: (() => void)[] = [];
  /** Checkpoints that are being made under a key, by that; `ended` never fails. */
  readonly #making = new Map<
    string,
    { readonly idempotency: Idempotency; readonly ended: Promise<void> }
  >();

  /** What is not published. */
  readonly attempts: CheckpointAttempts;

  constructor(place: JobPlace, ports: Ports, checkpointer: Checkpointer) {
    this.#place = place;
    this.#ports = ports;
    this.#checkpointer = checkpointer;
    this.attempts = new CheckpointAttempts(ports.clock, place.keys.job);
  }

  /** The uuid of a checkpoint to be made. @throws {TidemarkError} `checkpoint-exists` */
  uuidOf({ uuid }: CheckpointNotes): string {
    if (uuid === undefined) return newUuid(this.#ports);
    this.#checkpointer.checkNew(uuid);
    if (this.attempts.has(uuid)) throw checkpointExists(uuid);
    return uuid;
  }

  /**
   * Makes a checkpoint under a key, unless one has it: then that is answered, and waited for while it is being made.
   *
   * @param make Makes it, from what was appended until now; what it answers goes on whatever ends the wait for it.
   * @throws {TidemarkError} `idempotency-conflict`
   * @throws The signal's reason.
   */
  async once<Made>(
    { idempotency, states, run, signal }: OnceOptions,
    { find, make }: {
      readonly find: (entry: CatalogEntry) => Made;
      readonly make: () => Promise<Made>;
    },
  ): Promise<Made> {
    const { key } = idempotency;
    for (;;) {
      const other = this.#making.get(key);
      if (other !== undefined) {
        checkSame(this.#place.keys.job, idempotency, other.idempotency);
        await orAborted(other.ended, signal);
        continue;
      }
      const entry = findByKey(this.#checkpointer.newest, idempotency);
      if (entry === undefined) break;
      const checking = this.#checkStates(run, entry, idempotency, states);
      if (await this.#unlessGone(entry, checking)) return find(entry);
    }
    const made = make();
    const ended = made.then(() => {}, () => {}).then(() => void this.#making.delete(key));
    this.#making.set(key, { idempotency, ended });
    return await made;
  }

  /** Whether a checkpoint is still listed once it was read: what reading one failed with that is not tells nothing. */
  async #unlessGone({ uuid }: CatalogEntry, reading: Promise<void>): Promise<boolean> {
    const isListed = () => this.#checkpointer.newest.checkpoints.some((one) => one.uuid === uuid);
    try {
      await reading;
    } catch (error) {
      if (isListed()) throw error;
    }
    return isListed();
  }

  async #checkStates(
    run: JobRun,
    entry: CatalogEntry,
    idempotency: Idempotency,
    sources: StateSources,
  ): Promise<void> {
    const given = { sources, written: (uuid: string) => run.states.waiting(uuid) };
    if (!areComparable(given)) return;
    const { states } = await this.#checkpointer.readManifest(entry);
    checkSameStates(this.#place.keys.job, idempotency, entry, given, states);
  }

  /** Reads the manifest of a checkpoint. */
  manifestAt(at: At): Promise<ManifestBody> {
    return this.#checkpointer.readManifest(findCheckpoint(this.#checkpointer.newest, at));
  }

  /** Learns whether a publish whose answer was lost took effect; from then on the catalog names what it needs. */
  async settle(): Promise<void> {
    await this.#checkpointer.settle();
    for (const letGo of this.#undecidedHolds.splice(0)) letGo();
  }

  /** Makes everything up to the position durable, and the states; then publishes. */
  async commit(run: JobRun, options: CommitOptions, attempt: Attempt): Promise<CatalogEntry> {
    const { signal } = attempt;
    signal.throwIfAborted();
    const { idempotency, states } = options;
    if (idempotency !== undefined) {
      // One whose answer was lost may have turned out to be published.
      const entry = findByKey(this.#checkpointer.newest, idempotency);
      if (entry !== undefined) {
        await this.#checkStates(run, entry, idempotency, states);
        return entry;
      }
    }
    const onWriter = (done: number, total: number): void =>
      options.onProgress?.({ phase: "persist", done, total });
    await orAborted(run.persistAll(onWriter), signal);
    run.checkUsable();
    if (this.#checkpointer.isFull) await options.makeRoom();
    this.#checkpointer.checkRoom();
    await run.learnCarried(options.position, (file) => this.#setsOf(file));
    run.checkUsable();
    return await run.states.prepare(
      states,
      { signal, manifestAt: (at) => this.manifestAt(at) },
      (made) => this.#publish(run, options, { states: made, attempt }),
    );
  }

  /** Everything that the checkpoint needs is durable by now. */
  async #publish(
    run: JobRun,
    { position, onProgress, attemptUuid, ...facts }: CommitOptions,
    { states, attempt }: Pick<CheckpointNeeds, "states"> & { readonly attempt: Attempt },
  ): Promise<CatalogEntry> {
    run.checkOwner();
    attempt.publishing();
    onProgress?.({ phase: "publish", done: 0, total: 1 });
    const { files, letGo } = run.filesOf(position);
    const { entry } = await this.#checkpointer.commit(
      facts,
      position,
      { files, states },
      attemptUuid,
    )
      .catch((error) => {
        // What may have been published after all keeps its files.
        if (!isUndecided(error)) letGo();
        else {
          this.#undecidedHolds.push(() => {
            for (const { key } of files) run.registry.stopTracking(key);
            letGo();
          });
        }
        throw error;
      });
    run.checkOwner();
    run.confirm(position, files);
    letGo();
    await run.endFileOfEnded();
    return entry;
  }

  async #setsOf(file: NeededFile): Promise<NeededFile["sets"]> {
    const { backend, keys: { job } } = this.#place;
    try {
      return await readFileSets(backend, file, `job ${job}`);
    } catch (error) {
      if (!(error instanceof TidemarkError)) throw error;
      this.#ports.logger.log("warning", "Cannot tell what a change file holds: it is kept", {
        job,
        key: file.key,
        error,
      });
      return undefined;
    }
  }
}

function isUndecided(error: unknown): boolean {
  return error instanceof TidemarkError && error.outcome === "unknown";
}
