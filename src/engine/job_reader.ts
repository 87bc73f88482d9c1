/**
 * A job opened for reading, beside its owner: takes no lock, publishes nothing, recovers nothing.
 * @module
 */
import { JobChangelogReader } from "./changelog/reader.ts";
import { ChangelogRestore } from "./changelog/restore_stream.ts";
import type { RestoreSource } from "./changelog/restore_plan.ts";
import { scanTail } from "./changelog/tail_scan.ts";
import type { NeededFile, WriterEnd } from "./changelog/tail.ts";
import { findCheckpoint, listCheckpoints, toDetails } from "./checkpoint/checkpoint_list.ts";
import {
  type JobPlace,
  readAdopted,
  readHead,
  readManifest,
  readNewestGeneration,
} from "./checkpoint/catalog_read.ts";
import {
  filesOfManifest,
  joinFiles,
  sourceOfCheckpoint,
  sourceOfTail,
} from "./checkpoint/restore_source.ts";
import { checkThere, isFree } from "./checkpoint/deleted_job.ts";
import { unlessAborted } from "./checkpoint/or_aborted.ts";
import { readStateOf } from "./checkpoint/state_read.ts";
import { findWhole } from "./checkpoint/fallback.ts";
import { measureUsage } from "./checkpoint/usage.ts";
import { verifyJob } from "./checkpoint/verify.ts";
import { Lease, snapshotExpired } from "./checkpoint/lease.ts";
import { hasCode } from "./errors.ts";
import type { Ports } from "./port/ports.ts";
import type { CatalogEntry, GenerationBody } from "./format/generation.ts";
import type {
  At,
  ChangelogReader,
  CheckpointDetails,
  CheckpointMetadata,
  JobReader,
  JobUsage,
  ReadStateOptions,
  RestoreOptions,
  RestoreStream,
  VerifyOptions,
  VerifyReport,
  WaitOptions,
  WriterPosition,
} from "./types.ts";

/** A job as it is, kept until it is released. */
export interface JobSnapshot {
  readonly generation: GenerationBody;
  /** Checkpoints that are wanted. */
  readonly entries: readonly CatalogEntry[];
  /** What was appended after `head`. @default it is not wanted */
  readonly tail?: TailOnDisk;
  /** Throws when what is read may be gone. */
  check(): void;
  /** Gives the error that tells best what an error means. */
  explain(error: unknown): Promise<unknown>;
  /** Called once, when the reading has ended. */
  release(): Promise<void>;
}

/** The tail, as it was found on disk. */
export interface TailOnDisk {
  /** The generation that it goes on from. */
  readonly generation: GenerationBody;
  /** All that it needs, the files of `head` included. */
  readonly files: readonly NeededFile[];
  /** Files that hold what was appended after `head`. */
  readonly own: readonly NeededFile[];
  readonly writers: ReadonlyMap<string, WriterEnd>;
  /** Per writer, the offset below which every change is proven to be on disk, so that every owner keeps it. */
  readonly confirmed: ReadonlyMap<string, number>;
}

/** Reads a job from its store. */
export class StoredJobReader implements JobReader {
  readonly #place: JobPlace;
  readonly #ports: Ports;

  constructor(place: JobPlace, ports: Ports) {
    this.#place = place;
    this.#ports = ports;
  }

  get id(): string {
    return this.#place.keys.job;
  }

  async checkpoints(): Promise<CheckpointMetadata[]> {
    return listCheckpoints(await this.#newest());
  }

  async checkpointDetails(at: At): Promise<CheckpointDetails> {
    const generation = await this.#newest();
    const { manifest } = findCheckpoint(generation, at);
    return toDetails(generation, await readManifest(this.#place, manifest));
  }

  async writers(): Promise<WriterPosition[]> {
    const { writers } = await this.#readTail();
    return [...writers.values()].map((
      { writer, keyGroups, sequenceNumber, nextOffset, isClosed },
    ) => ({
      writer,
      keyGroups,
      sequenceNumber,
      nextOffset,
      durableOffset: nextOffset,
      ...(isClosed === true ? { isClosed } : {}),
    })).sort((a, b) => a.writer < b.writer ? -1 : 1);
  }

  restore(options: RestoreOptions = {}): RestoreStream {
    const { at: wanted = "latest", fallback = false, ...filter } = options;
    const open = async () => {
      const at = fallback ? await this.#chooseWhole(wanted) : wanted;
      return await this.#openSource(at, filter.signal);
    };
    return new ChangelogRestore(this.#place, open, filter);
  }

  readState(name: string, options: ReadStateOptions = {}): AsyncIterable<Uint8Array> {
    const { at = "latest", fallback = false, signal } = options;
    const open = async () => {
      const whole = fallback ? await this.#chooseWhole(at) : at;
      return await this.#openSource(whole, signal);
    };
    return readStateOf(this.#place.backend, name, open, signal);
  }

  changelogReader(): ChangelogReader {
    const open = (at: At, signal: AbortSignal) => this.#openSource(at, signal);
    return new JobChangelogReader(this.#place, open);
  }

  usage({ signal }: WaitOptions = {}): Promise<JobUsage> {
    return unlessAborted(() => this.#usage(), signal);
  }

  async #usage(): Promise<JobUsage> {
    const { lease } = await this.#lease("tail");
    try {
      const { files } = await this.#readTail();
      const inUse = files.map(({ key }) => key);
      return await measureUsage(this.#place, await this.#newest(), { inUse, lease: lease?.key });
    } finally {
      await lease?.close();
    }
  }

  /** Keeps a checkpoint, or all of the job (`tail`), until it was read. */
  async snapshot(at: At, signal: AbortSignal | undefined): Promise<JobSnapshot> {
    const { lease, generation } = await this.#lease(at);
    const held = {
      check: () => lease?.check(),
      release: async () => await lease?.close(),
    };
    const explain = (error: unknown): Promise<unknown> => this.#explain(error, generation);
    try {
      if (at !== "tail") {
        return { ...held, explain, generation, entries: [findCheckpoint(generation, at)] };
      }
      const tail = await this.#readTail(signal);
      const { checkpoints: entries } = tail.generation;
      return { ...held, explain, generation: tail.generation, entries, tail };
    } catch (error) {
      await lease?.close();
      throw await explain(error);
    }
  }

  async verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    const { lease, generation } = await this.#lease("tail");
    try {
      const findTail = () => this.#readTail(options.signal);
      return await verifyJob(this.#place, generation, findTail, options);
    } finally {
      await lease?.close();
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #newest(): Promise<GenerationBody> {
    return checkThere(this.#place, await readNewestGeneration(this.#place));
  }

  /** The newest checkpoint of the line that is whole. */
  async #chooseWhole(at: At): Promise<At> {
    if (at === "tail") return at;
    const { lease, generation } = await this.#lease("tail");
    try {
      return (await findWhole(this.#place, generation, at, this.#ports.logger)).uuid;
    } finally {
      await lease?.close();
    }
  }

  /** What a restore reads, held by a lease until it has ended. */
  async #openSource(at: At, signal: AbortSignal | undefined): Promise<RestoreSource> {
    const { lease, generation } = await this.#lease(at);
    const explain = (error: unknown): Promise<unknown> => this.#explain(error, generation);
    try {
      const source = at === "tail"
        ? sourceOfTail(this.#place, await this.#readTail(signal))
        : await this.#checkpointSource(generation, at);
      return { ...source, check: () => lease?.check(), release: () => lease?.close(), explain };
    } catch (error) {
      await lease?.close();
      throw await explain(error);
    }
  }

  async #checkpointSource(generation: GenerationBody, at: At): Promise<RestoreSource> {
    const { manifest } = findCheckpoint(generation, at);
    return sourceOfCheckpoint(this.#place, await readManifest(this.#place, manifest));
  }

  /** Takes a lease, then reads the newest generation again: what is wanted must still be there. */
  async #lease(at: At): Promise<{ lease: Lease | undefined; generation: GenerationBody }> {
    for (;;) {
      const before = await this.#newest();
      const isTail = at === "tail";
      const checkpoint = isTail ? before.head : findCheckpoint(before, at).uuid;
      const lease = await Lease.take(this.#place, this.#ports, { checkpoint, isTail });
      const generation = await this.#newest();
      const isThere = isTail
        ? generation.head === checkpoint
        : generation.checkpoints.some(({ uuid }) => uuid === checkpoint);
      if (isThere) return { lease, generation };
      await lease?.close();
    }
  }

  /** What vanished because the owner let it go is no loss. */
  async #explain(error: unknown, { checkpoints }: GenerationBody): Promise<unknown> {
    if (!hasCode(error, "changes-lost") && !hasCode(error, "object-not-found")) return error;
    const now = await readNewestGeneration(this.#place);
    const isGone = now === undefined || isFree(now) ||
      checkpoints.some((old) => !now.checkpoints.some(({ uuid }) => uuid === old.uuid));
    return isGone ? snapshotExpired(this.id, error) : error;
  }

  /** Scans the tail; starts over when `head` or `tailFrom` changed meanwhile. */
  async #readTail(signal?: AbortSignal): Promise<TailOnDisk> {
    let generation = await this.#newest();
    for (;;) {
      signal?.throwIfAborted();
      const before = generation;
      let failure: unknown;
      const tail = await this.#scan(before, signal).catch((error) => void (failure = error));
      generation = await this.#newest();
      if (!isSameTail(before, generation)) continue;
      if (tail === undefined) throw failure;
      return tail;
    }
  }

  async #scan(generation: GenerationBody, signal?: AbortSignal): Promise<TailOnDisk> {
    const { backend, keys, store } = this.#place;
    const { tailFrom, doomed } = generation;
    const head = await readHead(this.#place, generation);
    const adopted = await readAdopted(this.#place, generation.adopted);
    const options = { backend, keys, store, tailFrom, doomed, head, adopted, signal };
    const { files, writers, unproven, proven: confirmed } = await scanTail(options);
    const last = unproven.map(({ file, end, indexHash }) => ({ ...file, length: end, indexHash }));
    return {
      generation,
      files: joinFiles(head === undefined ? [] : filesOfManifest(head), files, last),
      own: joinFiles(files, last),
      writers,
      confirmed,
    };
  }
}

function isSameTail(a: GenerationBody, b: GenerationBody): boolean {
  return a.head === b.head && a.tailFrom.epoch === b.tailFrom.epoch &&
    a.tailFrom.number === b.tailFrom.number;
}
