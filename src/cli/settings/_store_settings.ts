/** Settings of the engine that a sidecar and local commands take. */
import { MIB } from "../../engine/limits.ts";
import { DEFAULT_SETTINGS, type StoreSettings } from "../../engine/settings.ts";
import { path, storeReader } from "./readers.ts";
import { optionalSetting, type Setting, setting } from "./setting.ts";

/** Settings that commands choose themselves, or the runtime. */
type Chosen = "mode" | "create" | "fileSystem" | "localRecoveryPath";

type StoreRows = {
  readonly [Name in Exclude<keyof StoreSettings, Chosen>]: Setting<StoreSettings[Name]>;
};

/** Rows of the table. */
export const STORE_SETTINGS: StoreRows & {
  readonly localRecoveryPath: Setting<string | undefined>;
} = {
  storeBytesMax: row("storeBytesMax", "bytes that the store may take; 0: any"),
  jobBytesMax: row("jobBytesMax", "bytes that each job may take; 0: any"),
  reserveBytes: row("reserveBytes", "room that is given up when the disk is full; 0: none"),
  inFlightBytesMax: row("inFlightBytesMax", "bytes of a job that may wait in memory"),
  changeBytesMax: row("changeBytesMax", "largest change that is taken"),
  // Whoever appends over HTTP waits for the answer: what comes during a sync shares the next one anyway.
  persistDelayMs: setting(
    storeReader("persistDelayMs"),
    "0",
    "milliseconds that appends wait to share an upload",
  ),
  persistGatherMs: setting(
    storeReader("persistGatherMs"),
    "3",
    "milliseconds at most that appends wait for each other",
  ),
  // A large append is answered when the upload that it shares with others ends: the library's 10 MiB take 25 ms.
  persistSizeThresholdBytes: setting(
    storeReader("persistSizeThresholdBytes"),
    String(3 * MIB),
    "waiting bytes that are uploaded at once",
  ),
  preemptivePersistBytes: row(
    "preemptivePersistBytes",
    "bytes of a writer at which it persists by itself",
  ),
  uploadConcurrencyMax: row("uploadConcurrencyMax", "attempts to upload at once"),
  uploadRetryPolicy: row(
    "uploadRetryPolicy",
    "retries of an upload: none, fixed, exponential",
  ),
  uploadTimeoutMs: row("uploadTimeoutMs", "milliseconds that an attempt may take; 0: any"),
  uploadAttemptsMax: row("uploadAttemptsMax", "attempts of an upload, the first included"),
  uploadRetryDelayMs: row("uploadRetryDelayMs", "milliseconds before the next attempt"),
  uploadDeadlineMs: row("uploadDeadlineMs", "milliseconds after which no attempt begins"),
  discardConcurrencyMax: row("discardConcurrencyMax", "files that are deleted at once"),
  compression: row("compression", "how blocks of change files are stored: lz4, none"),
  // Requests are answered meanwhile.
  codecThreads: setting(
    storeReader("codecThreads"),
    "2",
    "threads that large batches are encoded on: 0, 1 or 2",
  ),
  blockBytes: row("blockBytes", "size of a block before compression"),
  changeFileBytesMax: row("changeFileBytesMax", "size at which a change file ends"),
  changeFileAgeMsMax: row("changeFileAgeMsMax", "milliseconds after which a change file ends"),
  localRecoveryPath: optionalSetting(
    path("DIR", "a folder"),
    "folder near by for copies, from which restores read first",
  ),
};

function row<Name extends keyof StoreRows>(name: Name, about: string): StoreRows[Name] {
  return setting(storeReader(name), String(DEFAULT_SETTINGS[name]), about) as StoreRows[Name];
}
