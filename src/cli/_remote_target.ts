/** A job in a sidecar's store, and that store. */
import { isNotTaken, TidemarkClient } from "../client/client.ts";
import { TidemarkError } from "../engine/errors.ts";
import type {
  AppendResult,
  At,
  CheckpointDetails,
  CheckpointMetadata,
  CheckpointOptions,
  CollectionOptions,
  CollectionReport,
  EncodedChanges,
  JobUsage,
  ResumeOptions,
  ResumeResult,
  RetentionPolicy,
  SalvageOptions,
  SalvageReport,
  VerifyOptions,
  VerifyReport,
  WriterPosition,
} from "../engine/types.ts";
import type { CliIo } from "../runtime/cli_io.ts";
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
import { UsageError } from "./_usage_error.ts";

const RETRY_DELAY_MS = 1000;
/** A sidecar that restarts is back within this time. */
const LOST_ANSWERS_MAX = 30;

/** Opens the job at a sidecar; makes it where a command may. */
export async function openRemoteTarget(
  io: CliIo,
  url: string,
  job: string,
  openFor: OpenFor,
): Promise<Target> {
  const client = clientOf(io, url);
  if (openFor === "append") await client.createJob(job);
  return new RemoteTarget(io, client, job);
}

/** The store of a sidecar. */
export function openRemoteStore(io: CliIo, url: string): ReadStore {
  return new RemoteStore(clientOf(io, url));
}

/** Salvages at a sidecar. */
export function openRemoteSalvage(io: CliIo, url: string): SalvageTarget {
  return new RemoteSalvage(clientOf(io, url));
}

class RemoteSalvage implements SalvageTarget {
  constructor(readonly client: TidemarkClient) {}

  salvage(job: string, { accept, dryRun }: SalvageOptions): Promise<SalvageReport> {
    return this.client.salvage(job, { accept, dryRun });
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

function clientOf(io: CliIo, url: string): TidemarkClient {
  try {
    return new TidemarkClient(url, { fetch: io.fetch });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UsageError(`Cannot use --url ${url}: wants an address such as http://127.0.0.1:7460`);
  }
}

class RemoteTarget implements Target {
  constructor(readonly io: CliIo, readonly client: TidemarkClient, readonly job: string) {}

  async append(
    writer: string,
    changes: EncodedChanges,
    place: AppendPlace,
  ): Promise<AppendResult> {
    let lostAnswers = 0;
    while (true) {
      try {
        return await this.client.append(this.job, writer, changes.bytes, place);
      } catch (error) {
        if (!isNotTaken(error)) {
          // With an offset a repeated append is taken once; without one it might be taken twice.
          const mayRepeat = place.offset !== undefined && isLostAnswer(error);
          if (!mayRepeat || ++lostAnswers > LOST_ANSWERS_MAX) throw error;
        }
      }
      await this.io.sleep(RETRY_DELAY_MS);
    }
  }

  async writers(): Promise<readonly WriterPosition[]> {
    return (await this.client.job(this.job)).writers;
  }

  checkpoint(options: CheckpointOptions): Promise<CheckpointMetadata> {
    return this.client.checkpoint(this.job, options);
  }

  resume(options: ResumeOptions): Promise<ResumeResult> {
    return this.client.resume(this.job, options);
  }

  collect(options: CollectionOptions): Promise<CollectionReport> {
    return this.client.collect(this.job, options);
  }

  pin(uuid: string, reason: string | undefined): Promise<unknown> {
    return this.client.pin(this.job, uuid, reason);
  }

  unpin(uuid: string): Promise<unknown> {
    return this.client.unpin(this.job, uuid);
  }

  async retention(): Promise<RetentionPolicy> {
    return (await this.client.job(this.job)).retention;
  }

  async setRetention(retention: RetentionPolicy): Promise<void> {
    await this.client.createJob(this.job, { retention });
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

class RemoteStore implements ReadStore {
  constructor(readonly client: TidemarkClient) {}

  get location(): string {
    return this.client.url;
  }

  jobs(): Promise<string[]> {
    return this.client.jobs();
  }

  reader(job: string): Promise<ReadTarget> {
    return Promise.resolve(new RemoteReader(this.client, job));
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

class RemoteReader implements ReadTarget {
  constructor(readonly client: TidemarkClient, readonly job: string) {}

  restore(writer: string, wish: RestoreWish): Promise<TargetRestore> {
    return this.client.restore(this.job, writer, wish);
  }

  checkpoints(): Promise<CheckpointMetadata[]> {
    return this.client.checkpoints(this.job);
  }

  async writers(): Promise<readonly WriterPosition[]> {
    return (await this.client.job(this.job)).writers;
  }

  checkpointDetails(at: At): Promise<CheckpointDetails> {
    return this.client.checkpointDetails(this.job, at);
  }

  usage(): Promise<JobUsage> {
    return this.client.usage(this.job);
  }

  verify(options: VerifyOptions): Promise<VerifyReport> {
    return this.client.verify(this.job, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

function isLostAnswer(error: unknown): boolean {
  return error instanceof TidemarkError && error.retryable;
}
