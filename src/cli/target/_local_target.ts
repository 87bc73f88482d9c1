/** A job in a store of this machine. */
import { hasCode } from "../../engine/errors.ts";
import { FORMAT_VERSION } from "../../engine/limits.ts";
import { VERSION } from "../../engine/version.ts";
import type {
  AppendResult,
  EncodedChanges,
  Job,
  JobReader,
  RestoredSlice,
  Store,
} from "../../engine/types.ts";
import { loggerOf } from "../_log.ts";
import { openNamedStore, tellIfNew } from "./store.ts";
import type {
  AppendPlace,
  BenchTarget,
  OpenFor,
  ReadStore,
  ReadTarget,
  StoreTarget,
  Target,
} from "./target.ts";
import type { CommandContext } from "../command.ts";

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
    return targetOf(store, await store.job(job, { create, takeOver, fallback }));
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Opens the store that the options name, for reading. */
export async function openLocalStore(context: CommandContext): Promise<ReadStore> {
  return storeOf(await openNamedStore(context, { mode: "read", create: false }));
}

/** Opens the store that the options name, to work on whole jobs of it, or only to look. */
export async function openLocalStoreTarget(
  context: CommandContext,
  mode: "read" | "own",
  create: boolean,
): Promise<StoreTarget> {
  return storeTargetOf(await openNamedStore(context, { mode, create }));
}

/** The same of a store in a folder that is named apart; made where it is missing. */
export async function openOtherStore(
  { io, openStore, report, settings }: CommandContext,
  folder: string,
): Promise<StoreTarget> {
  const options = { ...settings.ofStore(), logger: loggerOf(report), create: true };
  const store = await openStore(io.absolutePath(folder), options);
  tellIfNew(store, report);
  return storeTargetOf(store);
}

function storeTargetOf(store: Store): StoreTarget {
  return {
    location: store.location,
    salvage: (job, options) => store.salvage(job, options),
    deleteJob: (job, options) => store.deleteJob(job, options),
    exportJob: (job, options) => store.exportJob(job, options),
    importJob: (job, archive, options) => store.importJob(job, archive, options),
    [Symbol.asyncDispose]: () => store.close(),
  };
}

function storeOf(store: Store): ReadStore {
  return {
    location: store.location,
    jobs: () => store.jobs(),
    async summary() {
      const { jobs: _none, ...status } = await store.status();
      const { id, location } = store;
      return { ...status, id, location, version: VERSION, formatVersion: FORMAT_VERSION };
    },
    standing: (job) => store.standing(job),
    reader: async (job) => readerOf(await store.reader(job)),
    [Symbol.asyncDispose]: () => store.close(),
  };
}

function readerOf(reader: JobReader): ReadTarget {
  return {
    restore(writer, wish) {
      const stream = reader.restore({ ...wish, writers: [writer] });
      stream.trailer.catch(() => {
        // The iteration tells of a failed restore; this is the same error again.
      });
      return Promise.resolve({ pieces: bytesOf(stream.slices()), trailer: stream.trailer });
    },
    readState: (name, at) => reader.readState(name, { at }),
    checkpoints: () => reader.checkpoints(),
    writers: () => reader.writers(),
    checkpointDetails: (at) => reader.checkpointDetails(at),
    usage: () => reader.usage(),
    verify: (options) => reader.verify(options),
    [Symbol.asyncDispose]: () => reader.close(),
  };
}

async function* bytesOf(slices: AsyncIterable<RestoredSlice>): AsyncGenerator<Uint8Array> {
  for await (const slice of slices) yield slice.bytes;
}

function targetOf(store: Store, job: Job): Target {
  return {
    append: (writer, changes, place) => appendWithRoom(job, writer, changes, place),
    writers: () => job.writers(),
    run: () => Promise.resolve(job.run),
    checkpoint: (options) => job.checkpoint(options),
    resume: (options) => job.resume(options),
    collect: (options) => job.collect(options),
    explain: (key, options) => job.explain(key, options),
    deleteCheckpoint: (uuid) => job.deleteCheckpoint(uuid),
    retireWriter: (writer) => Promise.resolve(job.retireWriter(writer)),
    async truncateWriter(name) {
      const writer = job.writer(name);
      const { nextOffset } = writer;
      writer.truncate(writer.nextSequenceNumber());
      return await Promise.resolve(nextOffset);
    },
    pin: (uuid, reason) => job.pin(uuid, reason),
    unpin: (uuid) => job.unpin(uuid),
    retention: () => Promise.resolve(job.retention),
    setRetention: (policy) => job.setRetention(policy),
    [Symbol.asyncDispose]: () => store.close(),
  };
}

async function appendWithRoom(
  job: Job,
  writer: string,
  changes: EncodedChanges,
  place: AppendPlace,
): Promise<AppendResult> {
  const { availability } = job;
  while (true) {
    await availability.whenAvailable();
    try {
      return await job.writer(writer).appendAt(place.offset, changes, { run: place.run });
    } catch (error) {
      // An append that is refused although there is room will never fit.
      if (!hasCode(error, "backpressure") || availability.isAvailable()) throw error;
    }
  }
}

/** Makes a store in a new folder below the one of the options, with a job to be measured. */
export async function openLocalBench(context: CommandContext, job: string): Promise<BenchTarget> {
  const { io, openStore, report, settings } = context;
  const place = settings.get("store");
  const folder = await io.temporaryFolder(place, ".tidemark-bench-");
  try {
    const options = { ...settings.ofStore(), logger: loggerOf(report), create: true };
    const store = await openStore(folder.path, options);
    try {
      const target = targetOf(store, await store.job(job));
      const reader = readerOf(await store.reader(job));
      const { bytesFree } = await store.status();
      const close = async (): Promise<void> => {
        await store.close();
        await folder[Symbol.asyncDispose]();
      };
      const found = { place, target, reader, folder: folder.path, bytesFree };
      return { ...found, [Symbol.asyncDispose]: close };
    } catch (error) {
      await store.close();
      throw error;
    }
  } catch (error) {
    await folder[Symbol.asyncDispose]();
    throw error;
  }
}
