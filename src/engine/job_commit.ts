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
import type { Checkpointer, CheckpointNeeds, CheckpointNotes } from "./checkpoint/checkpointer.ts";
import type { StateSources } from "./checkpoint/state_objects.ts";
import { TidemarkError } from "./errors.ts";
import type { CatalogEntry } from "./format/generation.ts";
import type { ManifestBody } from "./format/manifest.ts";
import type { JobRun, RunPosition } from "./job_run.ts";
import type { Ports } from "./port/ports.ts";
import type { At } from "./types.ts";

/** What a checkpoint is made of. */
export interface CommitOptions extends CheckpointNotes {
  readonly position: RunPosition;
  readonly states: StateSources;
  /** Stops the reading of states. @default never */
  readonly signal?: AbortSignal;
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

  constructor(place: JobPlace, ports: Ports, checkpointer: Checkpointer) {
    this.#place = place;
    this.#ports = ports;
    this.#checkpointer = checkpointer;
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
  async commit(run: JobRun, options: CommitOptions): Promise<CatalogEntry> {
    await run.persistAll();
    run.checkUsable();
    if (this.#checkpointer.isFull) await options.makeRoom();
    this.#checkpointer.checkRoom();
    await run.learnCarried(options.position, (file) => this.#setsOf(file));
    run.checkUsable();
    return await run.states.prepare(
      options.states,
      { signal: options.signal, manifestAt: (at) => this.manifestAt(at) },
      (states) => this.#publish(run, options, states),
    );
  }

  /** Everything that the checkpoint needs is durable by now. */
  async #publish(
    run: JobRun,
    { position, ...facts }: CommitOptions,
    states: CheckpointNeeds["states"],
  ): Promise<CatalogEntry> {
    run.checkOwner();
    const { files, letGo } = run.filesOf(position);
    const { entry } = await this.#checkpointer.commit(facts, position, { files, states })
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
