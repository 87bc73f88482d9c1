/**
 * What is read of a job in its owner: restores, states, usage, verification.
 * Owns: where they read, and that it stays until they have ended. Does not own: how they read.
 * @module
 */
import { JobChangelogReader } from "./changelog/reader.ts";
import type { RestoreSource } from "./changelog/restore_plan.ts";
import { ChangelogRestore } from "./changelog/restore_stream.ts";
import type { JobPlace } from "./checkpoint/catalog_read.ts";
import { findCheckpoint } from "./checkpoint/checkpoint_list.ts";
import type { Checkpointer } from "./checkpoint/checkpointer.ts";
import { findWhole } from "./checkpoint/fallback.ts";
import { unlessAborted } from "./checkpoint/or_aborted.ts";
import { sourceOfCheckpoint, sourceOfTail } from "./checkpoint/restore_source.ts";
import { readStateOf } from "./checkpoint/state_read.ts";
import { measureUsage } from "./checkpoint/usage.ts";
import { verifyJob } from "./checkpoint/verify.ts";
import type { JobCollection } from "./job_collection.ts";
import type { JobRun } from "./job_run.ts";
import type { Logger } from "./port/logger.ts";
import type {
  At,
  ChangelogReader,
  JobUsage,
  ReadStateOptions,
  RestoreOptions,
  RestoreStream,
  VerifyOptions,
  VerifyReport,
  WaitOptions,
} from "./types.ts";

/** What is read from. */
export interface JobReadsOptions {
  readonly place: JobPlace;
  readonly logger: Logger;
  readonly checkpointer: Checkpointer;
  readonly collection: JobCollection;
  /** The run as it is now. */
  readonly run: () => JobRun;
}

/** Reads a job that this process owns. */
export class JobReads {
  readonly #options: JobReadsOptions;

  constructor(options: JobReadsOptions) {
    this.#options = options;
  }

  /** With `fallback`, the newest checkpoint of the line that is whole. */
  async chooseWhole(at: At, fallback = false): Promise<At> {
    const { place, logger, checkpointer: { newest }, collection } = this.#options;
    if (!fallback || at === "tail" || (at === "latest" && newest.head === null)) return at;
    const find = () => findWhole(place, newest, at, logger);
    return (await collection.holding(newest, find)).uuid;
  }

  restore(options: RestoreOptions = {}): RestoreStream {
    const { at: wanted = "latest", fallback, ...filter } = options;
    const open = async () => await this.#openSource(await this.chooseWhole(wanted, fallback));
    return new ChangelogRestore(this.#options.place, open, filter);
  }

  readState(name: string, options: ReadStateOptions = {}): AsyncIterable<Uint8Array> {
    const { at = "latest", fallback, signal } = options;
    const open = async () => await this.#openSource(await this.chooseWhole(at, fallback));
    return readStateOf(this.#options.place.backend, name, open, signal);
  }

  changelogReader(): ChangelogReader {
    return new JobChangelogReader(this.#options.place, (at) => this.#openSource(at));
  }

  usage({ signal }: WaitOptions = {}): Promise<JobUsage> {
    const { place, checkpointer: { newest }, collection, run } = this.#options;
    const measure = () => measureUsage(place, newest, { inUse: run().keysInUse() });
    return unlessAborted(() => collection.holding(newest, measure), signal);
  }

  verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    const { place, checkpointer, collection } = this.#options;
    const { newest } = checkpointer;
    const tail = collection.hold(this.#tailSource());
    const verify = async () => {
      const report = await verifyJob(place, newest, () => tail, options);
      // What is missing may have been let go by another owner.
      if (!report.ok) checkpointer.checkOwner();
      return report;
    };
    return collection.holding(newest, verify).finally(tail.release);
  }

  /** Reads changes of a writer that are durable. */
  async *readStored(writer: string, from: number, to: number): AsyncGenerator<Uint8Array> {
    const filter = { writers: [writer], from, to };
    const open = () => this.#openSource("tail");
    const restore = new ChangelogRestore(this.#options.place, open, filter);
    for await (const { bytes } of restore.slices()) yield bytes;
  }

  /** Finds what is to be read, and keeps it until it is released. */
  async #openSource(at: At): Promise<RestoreSource> {
    const { place, checkpointer, collection } = this.#options;
    if (at === "tail") return collection.hold(this.#tailSource());
    const entry = findCheckpoint(checkpointer.newest, at);
    return await collection.holdCheckpoint(entry.uuid, async () => {
      const manifest = await checkpointer.readManifest(entry);
      return sourceOfCheckpoint(place, manifest);
    });
  }

  #tailSource(): RestoreSource {
    const { place, run } = this.#options;
    const tail = { files: run().durableFiles(), writers: run().durableEnds() };
    return sourceOfTail(place, tail);
  }
}
