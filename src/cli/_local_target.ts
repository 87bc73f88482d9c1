/** A job in a store of this machine. */
import { hasCode } from "../engine/errors.ts";
import type {
  AppendResult,
  At,
  CheckpointDetails,
  CheckpointMetadata,
  CheckpointOptions,
  CollectionOptions,
  CollectionReport,
  EncodedChanges,
  Job,
  JobReader,
  JobUsage,
  RestoredSlice,
  ResumeOptions,
  ResumeResult,
  RetentionPolicy,
  SalvageOptions,
  SalvageReport,
  Store,
  VerifyOptions,
  VerifyReport,
  WriterPosition,
} from "../engine/types.ts";
import { openNamedStore } from "./_store.ts";
import type {
  AppendPlace,
  OpenFor,
  ReadStore,
  ReadTarget,
  RestoreWish,
  SalvageTarget,
  Target,
  TargetRestore,
} from "./_target.ts";
import type { CommandContext } from "./command.ts";

/** Opens the job `job` of the store that the options name, as its owner. */
export async function openLocalTarget(
  context: CommandContext,
  job: string,
  openFor: OpenFor,
): Promise<Target> {
  const create = openFor === "append";
  const takeOver = context.options.flag("take-over");
  const fallback = context.options.flag("fallback");
  const store = await openNamedStore(context, { mode: "own", create });
  try {
    return new LocalTarget(store, await store.job(job, { create, takeOver, fallback }));
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Opens the store that the options name, for reading. */
export async function openLocalStore(context: CommandContext): Promise<ReadStore> {
  return new LocalStore(await openNamedStore(context, { mode: "read", create: false }));
}

/** Opens the store that the options name, to salvage a job of it, or only to look. */
export async function openLocalSalvage(
  context: CommandContext,
  mode: "read" | "own",
): Promise<SalvageTarget> {
  return new LocalSalvage(await openNamedStore(context, { mode, create: false }));
}

class LocalSalvage implements SalvageTarget {
  constructor(readonly store: Store) {}

  salvage(job: string, options: SalvageOptions): Promise<SalvageReport> {
    return this.store.salvage(job, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store.close();
  }
}

class LocalStore implements ReadStore {
  constructor(readonly store: Store) {}

  get location(): string {
    return this.store.location;
  }

  jobs(): Promise<string[]> {
    return this.store.jobs();
  }

  async reader(job: string): Promise<ReadTarget> {
    return new LocalReader(await this.store.reader(job));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store.close();
  }
}

class LocalReader implements ReadTarget {
  constructor(readonly reader: JobReader) {}

  restore(writer: string, wish: RestoreWish): Promise<TargetRestore> {
    const stream = this.reader.restore({ ...wish, writers: [writer] });
    stream.trailer.catch(() => {
      // The iteration tells of a failed restore; this is the same error again.
    });
    return Promise.resolve({ pieces: bytesOf(stream.slices()), trailer: stream.trailer });
  }

  checkpoints(): Promise<CheckpointMetadata[]> {
    return this.reader.checkpoints();
  }

  writers(): Promise<WriterPosition[]> {
    return this.reader.writers();
  }

  checkpointDetails(at: At): Promise<CheckpointDetails> {
    return this.reader.checkpointDetails(at);
  }

  usage(): Promise<JobUsage> {
    return this.reader.usage();
  }

  verify(options: VerifyOptions): Promise<VerifyReport> {
    return this.reader.verify(options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.reader.close();
  }
}

async function* bytesOf(slices: AsyncIterable<RestoredSlice>): AsyncGenerator<Uint8Array> {
  for await (const slice of slices) yield slice.bytes;
}

class LocalTarget implements Target {
  constructor(readonly store: Store, readonly job: Job) {}

  async append(
    writer: string,
    changes: EncodedChanges,
    place: AppendPlace,
  ): Promise<AppendResult> {
    const { availability } = this.job;
    while (true) {
      await availability.whenAvailable();
      try {
        return await this.job.writer(writer).appendAt(place.offset, changes, { run: place.run });
      } catch (error) {
        // An append that is refused although there is room will never fit.
        if (!hasCode(error, "backpressure") || availability.isAvailable()) throw error;
      }
    }
  }

  writers(): Promise<WriterPosition[]> {
    return this.job.writers();
  }

  checkpoint(options: CheckpointOptions): Promise<CheckpointMetadata> {
    return this.job.checkpoint(options);
  }

  resume(options: ResumeOptions): Promise<ResumeResult> {
    return this.job.resume(options);
  }

  collect(options: CollectionOptions): Promise<CollectionReport> {
    return this.job.collect(options);
  }

  pin(uuid: string, reason: string | undefined): Promise<void> {
    return this.job.pin(uuid, reason);
  }

  unpin(uuid: string): Promise<void> {
    return this.job.unpin(uuid);
  }

  retention(): Promise<RetentionPolicy> {
    return Promise.resolve(this.job.retention);
  }

  setRetention(policy: RetentionPolicy): Promise<void> {
    return this.job.setRetention(policy);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store.close();
  }
}
