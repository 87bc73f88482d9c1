/** A job in a sidecar's store. */
import { isNotTaken, TidemarkClient } from "../client/client.ts";
import { TidemarkError } from "../engine/errors.ts";
import type {
  AppendResult,
  CheckpointMetadata,
  CheckpointOptions,
  EncodedChanges,
  ResumeOptions,
  ResumeResult,
} from "../engine/types.ts";
import type { CliIo } from "../runtime/cli_io.ts";
import type { AppendPlace, OpenFor, RestoreWish, Target, TargetRestore } from "./_target.ts";
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

  checkpoint(options: CheckpointOptions): Promise<CheckpointMetadata> {
    return this.client.checkpoint(this.job, options);
  }

  resume(options: ResumeOptions): Promise<ResumeResult> {
    return this.client.resume(this.job, options);
  }

  restore(writer: string, wish: RestoreWish): Promise<TargetRestore> {
    return this.client.restore(this.job, writer, wish);
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

function isLostAnswer(error: unknown): boolean {
  return error instanceof TidemarkError && error.retryable;
}
