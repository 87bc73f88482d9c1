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

/** Makes checkpoints, one at a time. */
export class JobCommit {
  readonly #place: JobPlace;
  readonly #ports: Ports;
  readonly #checkpointer: Checkpointer;
  /** Holds on the files of checkpoints of which nothing decided yet whether they were published. */
  #undecidedHolds: (() => void)[] = [];

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
    const onWriter = (done: number, total: number): void =>
      options.onProgress?.({ phase: "persist", done, total });
    await orAborted(run.persistAll(onWriter), signal);
    run.checkUsable();
    if (this.#checkpointer.isFull) await options.makeRoom();
    this.#checkpointer.checkRoom();
    await run.learnCarried(options.position, (file) => this.#setsOf(file));
    run.checkUsable();
    return await run.states.prepare(
      options.states,
      { signal, manifestAt: (at) => this.manifestAt(at) },
      (states) => this.#publish(run, options, { states, attempt }),
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
