/** A job in a store of this machine. */
import { hasCode, TidemarkError } from "../engine/errors.ts";
import type {
  AppendResult,
  CheckpointMetadata,
  CheckpointOptions,
  EncodedChanges,
  Job,
  JobReader,
  RestoredSlice,
  ResumeOptions,
  ResumeResult,
  Store,
} from "../engine/types.ts";
import { openNamedStore } from "./_store.ts";
import type { AppendPlace, OpenFor, RestoreWish, Target, TargetRestore } from "./_target.ts";
import type { CommandContext } from "./command.ts";

/** Opens the job `job` of the store that the options name. */
export async function openLocalTarget(
  context: CommandContext,
  job: string,
  openFor: OpenFor,
): Promise<Target> {
  const create = openFor === "append";
  const mode = openFor === "read" ? "read" : "own";
  const takeOver = context.options.flag("take-over");
  const store = await openNamedStore(context, { mode, create });
  try {
    return mode === "read"
      ? new LocalReader(store, await store.reader(job))
      : new LocalOwner(store, await store.job(job, { create, takeOver }));
  } catch (error) {
    await store.close();
    throw error;
  }
}

class LocalReader implements Target {
  constructor(readonly store: Store, readonly reader: JobReader) {}

  append(): Promise<AppendResult> {
    return Promise.reject(this.#readOnly("append to"));
  }

  checkpoint(_options: CheckpointOptions): Promise<CheckpointMetadata> {
    return Promise.reject(this.#readOnly("checkpoint"));
  }

  resume(_options: ResumeOptions): Promise<ResumeResult> {
    return Promise.reject(this.#readOnly("resume"));
  }

  restore(writer: string, wish: RestoreWish): Promise<TargetRestore> {
    const stream = this.reader.restore({ ...wish, writers: [writer] });
    stream.trailer.catch(() => {
      // The iteration tells of a failed restore; this is the same error again.
    });
    return Promise.resolve({ pieces: bytesOf(stream.slices()), trailer: stream.trailer });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store.close();
  }

  #readOnly(action: string): TidemarkError {
    return new TidemarkError(
      "read-only",
      `Cannot ${action} job ${this.reader.id}: it is open for reading`,
    );
  }
}

async function* bytesOf(slices: AsyncIterable<RestoredSlice>): AsyncGenerator<Uint8Array> {
  for await (const slice of slices) yield slice.bytes;
}

class LocalOwner implements Target {
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

  checkpoint(options: CheckpointOptions): Promise<CheckpointMetadata> {
    return this.job.checkpoint(options);
  }

  resume(options: ResumeOptions): Promise<ResumeResult> {
    return this.job.resume(options);
  }

  restore(writer: string, wish: RestoreWish): Promise<TargetRestore> {
    return new LocalReader(this.store, this.job).restore(writer, wish);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store.close();
  }
}
