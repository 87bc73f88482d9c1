/** A job in a sidecar's store, and that store. */
import { callsTo, isNotTaken } from "../../client/calls_to.ts";
import type { SidecarCalls } from "../../client/sidecar_calls.ts";
import { TidemarkError } from "../../engine/errors.ts";
import type { AppendResult, EncodedChanges } from "../../engine/types.ts";
import type { CliIo } from "../../runtime/cli_io.ts";
import type { CommandContext } from "../command.ts";
import type { Settings } from "../settings/settings.ts";
import { sidecarAt } from "./sidecar.ts";
import type {
  AppendPlace,
  BenchTarget,
  OpenFor,
  ReadStore,
  ReadTarget,
  StoreTarget,
  Target,
} from "./target.ts";
import { UsageError } from "../_usage_error.ts";

const RETRY_DELAY_MS = 1000;
/** A sidecar that restarts is back within this time. */
const LOST_ANSWERS_MAX = 30;

/** Opens the job at a sidecar; makes it where a command may. */
export async function openRemoteTarget(
  { io, settings }: CommandContext,
  url: string,
  job: string,
  openFor: OpenFor,
): Promise<Target> {
  const client = clientOf(io, url, settings);
  if (openFor === "append") await client.createJob(job);
  return targetOf(io, client, job);
}

/** The store of a sidecar. */
export function openRemoteStore({ io, settings }: CommandContext, url: string): ReadStore {
  return storeOf(clientOf(io, url, settings), url);
}

/** A sidecar's store, to work on whole jobs of it. */
export function openRemoteStoreTarget(
  { io, settings }: CommandContext,
  url: string,
): StoreTarget {
  const client = clientOf(io, url, settings);
  return {
    location: placeOf(client, url),
    salvage: (job, { accept, dryRun }) => client.salvage(job, { accept, dryRun }),
    deleteJob: (job, { signal }) => client.deleteJob(job, { signal }),
    exportJob: (job, { at, signal }) => client.exportJob(job, { at, signal }),
    importJob: (job, archive, { signal }) => client.importJob(job, archive, { signal }),
    [Symbol.asyncDispose]: letNothingGo,
  };
}

/** Where a sidecar is, for people: behind a socket its own address says nothing. */
function placeOf(client: SidecarCalls, url: string): string {
  return client.url.startsWith("http://localhost") ? url : client.url;
}

function clientOf(io: CliIo, url: string, settings: Settings): SidecarCalls {
  const { base, fetch, token } = sidecarAt(io, url, settings);
  try {
    return callsTo(base, { fetch, token });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UsageError(
      `Cannot use --url ${url}: wants an address such as http://127.0.0.1:7460, or unix:PATH`,
    );
  }
}

/** Everything is done by the sidecar: there is nothing to let go of. */
const letNothingGo = (): Promise<void> => Promise.resolve();

function targetOf(io: CliIo, client: SidecarCalls, job: string): Target {
  return {
    append: (writer, changes, place) => appendOver(io, client, { job, writer, changes, place }),
    writers: async () => (await client.job(job)).writers,
    run: async () => (await client.job(job)).run,
    checkpoint: (options) => client.checkpoint(job, options),
    resume: (options) => client.resume(job, options),
    collect: (options) => client.collect(job, options),
    explain: (key, options) => client.explain(job, key, options),
    deleteCheckpoint: (uuid) => client.deleteCheckpoint(job, uuid),
    retireWriter: (writer) => client.retireWriter(job, writer),
    truncateWriter: async (writer) => {
      const to = await client.rollWriter(job, writer);
      // What came between the two is kept: it lies in the change set that was begun by the first.
      return (await client.truncateWriter(job, writer, to)).nextOffset;
    },
    pin: (uuid, reason) => client.pin(job, uuid, reason),
    unpin: (uuid) => client.unpin(job, uuid),
    retention: async () => (await client.job(job)).retention,
    setRetention: async (retention) => void await client.createJob(job, { retention }),
    [Symbol.asyncDispose]: letNothingGo,
  };
}

async function appendOver(
  io: CliIo,
  client: SidecarCalls,
  { job, writer, changes, place }: {
    readonly job: string;
    readonly writer: string;
    readonly changes: EncodedChanges;
    readonly place: AppendPlace;
  },
): Promise<AppendResult> {
  let lostAnswers = 0;
  while (true) {
    try {
      return await client.append(job, writer, changes.bytes, place);
    } catch (error) {
      if (!isNotTaken(error)) {
        // With an offset a repeated append is taken once; without one it might be taken twice.
        const mayRepeat = place.offset !== undefined && isLostAnswer(error);
        if (!mayRepeat || ++lostAnswers > LOST_ANSWERS_MAX) throw error;
      }
    }
    await io.sleep(RETRY_DELAY_MS);
  }
}

function storeOf(client: SidecarCalls, url: string): ReadStore {
  return {
    location: placeOf(client, url),
    jobs: () => client.jobs(),
    async summary() {
      const { store: id, jobs: _count, ...facts } = await client.store();
      return { ...facts, id };
    },
    standing: (job) => client.job(job),
    reader: (job) => Promise.resolve(readerOf(client, job)),
    [Symbol.asyncDispose]: letNothingGo,
  };
}

function readerOf(client: SidecarCalls, job: string): ReadTarget {
  return {
    restore: (writer, wish) => client.restore(job, writer, wish),
    readState: (name, at) => client.readState(job, name, at),
    checkpoints: () => client.checkpoints(job),
    writers: async () => (await client.job(job)).writers,
    checkpointDetails: (at) => client.checkpointDetails(job, at),
    usage: () => client.usage(job),
    verify: (options) => client.verify(job, options),
    [Symbol.asyncDispose]: letNothingGo,
  };
}

function isLostAnswer(error: unknown): boolean {
  return error instanceof TidemarkError && error.retryable;
}

/** Makes a job at a sidecar to be measured; it is deleted in the end. */
export async function openRemoteBench(
  context: CommandContext,
  url: string,
  job: string,
): Promise<BenchTarget> {
  const client = clientOf(context.io, url, context.settings);
  const { bytesFree } = await client.store();
  await client.createJob(job);
  return {
    place: placeOf(client, url),
    target: targetOf(context.io, client, job),
    reader: readerOf(client, job),
    bytesFree,
    [Symbol.asyncDispose]: async () => void await client.deleteJob(job),
  };
}
