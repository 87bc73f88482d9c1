/**
 * What the doctor finds of a store's folder and its disk. It writes nothing but small files of temporary
 * names, which it removes, and which an owner would sweep.
 * @module
 */
import { hasCode } from "../../engine/errors.ts";
import { MIB } from "../../engine/limits.ts";
import type { StorageBackend } from "../../engine/storage/backend.ts";
import { isTemporaryName } from "../../engine/storage/disk_probe.ts";
import {
  NETWORK_TYPES,
  OTHER_TYPES,
  TESTED_TYPES,
  TRANSIENT_TYPES,
} from "../../engine/storage/file_system_types.ts";
import { type FolderLook, lookAtFolder, tryDisk } from "../../runtime/folder_look.ts";
import { openBackend } from "../../runtime/open_backend.ts";
import { formatBytes, formatCount } from "../_format.ts";
import type { CommandContext } from "../command.ts";
import { type Check, check, fault, faultOf, ok, warning } from "./check.ts";
import { checkJobs } from "./_job_checks.ts";

const SYNC_MS_SLOW = 50;
const CLOCK_MS_MAX = 1000;
/** 2024-01-01: no release is older. */
const CLOCK_MS_MIN = 1_704_067_200_000;
/** A share of the disk below which it is about to be full. */
const FREE_SHARE_MIN = 0.05;
const LEFTOVER_AGE_MS = 3_600_000;

/** The folder, the disk below it, and the store in it. */
export async function checkStore(context: CommandContext): Promise<Check[]> {
  const path = context.settings.get("store");
  let look: FolderLook;
  try {
    look = await lookAtFolder(path);
  } catch (error) {
    return [faultOf("folder", error)];
  }
  const store = await checkMarker(context, path, look);
  const isUsable = look.isThere && store.every(({ result }) => result !== "fault");
  return [
    checkFolder(path, look),
    ...store,
    checkFileSystem(look),
    checkFreeSpace(context, look),
    ...isUsable ? await checkDisk(path) : [],
    ...isUsable && look.names.includes("TIDEMARK") ? await checkContent(context, path, look) : [],
  ];
}

function checkFolder(path: string, { isThere, isOpen }: FolderLook): Check {
  if (!isThere) return ok("folder", `${path} is not there yet`);
  if (!isOpen) return ok("folder", path);
  return warning(
    "folder",
    `everyone may write in ${path}`,
    `Take the right away: chmod o-w ${path}`,
  );
}

/** The store's marker, read as a reader does. */
async function checkMarker(
  context: CommandContext,
  path: string,
  look: FolderLook,
): Promise<readonly Check[]> {
  const name = "store";
  try {
    await using store = await context.openStore(path, { mode: "read", create: false });
    return [ok(name, `${store.id}, of a format that this release knows`)];
  } catch (error) {
    if (!hasCode(error, "store-not-found") || context.settings.get("existing")) {
      return [faultOf(name, error)];
    }
    const others = look.names.filter((each) => !isTemporaryName(each));
    if (others.length === 0) return [ok(name, "none yet; serve and append make it")];
    const next = "Name a folder that holds a store, or a new or empty one";
    return [
      fault(name, `none, and ${formatCount(others.length, "other name")} in the folder`, next),
    ];
  }
}

function checkFileSystem({ fileSystem }: FolderLook): Check {
  const name = "file-system";
  const type = fileSystem.type >>> 0;
  const tested = TESTED_TYPES.get(type);
  if (tested !== undefined) return ok(name, tested);
  const network = NETWORK_TYPES.get(type);
  if (network !== undefined) {
    return fault(name, `${network}: of another machine`, "Put the store on a disk of this machine");
  }
  const transient = TRANSIENT_TYPES.get(type);
  if (transient !== undefined) return warning(name, transient, "Put the store on a disk");
  const found = `${
    OTHER_TYPES.get(type) ?? `0x${type.toString(16)}`
  }, which the tests do not run on`;
  return warning(name, found, "docs/PLATFORMS.md says what is known; ext4 and XFS are supported");
}

function checkFreeSpace({ settings }: CommandContext, { fileSystem }: FolderLook): Check {
  const { freeBytes, totalBytes } = fileSystem;
  const found = `${formatBytes(freeBytes)} of ${formatBytes(totalBytes)}`;
  const next = "Make room: let checkpoints go (retention, gc --now), or give the disk more";
  const wanted = settings.get("reserveBytes") + MIB;
  if (freeBytes < wanted) return fault("free-space", found, next);
  // A job may hold that much that has still to be written.
  const isShort = freeBytes < totalBytes * FREE_SHARE_MIN ||
    freeBytes < 2 * settings.get("inFlightBytesMax");
  return isShort ? warning("free-space", found, next) : ok("free-space", found);
}

/** Tries what the engine needs of the disk, and how fast and how right it is. */
async function checkDisk(path: string): Promise<Check[]> {
  const calls = await check("disk", async () => {
    const backend = openBackend(path);
    try {
      await backend.prepare({ create: false });
    } finally {
      await backend.close();
    }
    return ok("disk", "exclusive create, hard links and syncs of folders work");
  });
  if (calls[0].result === "fault") return [...calls];
  return [
    ...calls,
    ...await check("syncs", async () => {
      const { syncMs, fileTimeAheadMs, clockAheadMs } = await tryDisk(path);
      return [checkSyncs(syncMs), checkClock(fileTimeAheadMs, clockAheadMs)];
    }),
  ];
}

function checkSyncs(syncMs: readonly number[]): Check {
  const sorted = [...syncMs].sort((a, b) => a - b);
  const median = sorted[sorted.length >> 1];
  const found = `${median.toFixed(1)} ms in the middle, ${sorted.at(-1)!.toFixed(1)} ms at most`;
  if (median < SYNC_MS_SLOW) return ok("syncs", found);
  const next = "Each durable append waits for one: use a faster disk, or a larger persist-delay-ms";
  return warning("syncs", found, next);
}

function checkClock(fileTimeAheadMs: number, clockAheadMs: number): Check {
  const next = "Set the clock, and keep it by NTP: times of checkpoints and retention go by it";
  if (Date.now() < CLOCK_MS_MIN) {
    return warning("clock", `it says ${new Date().toISOString()}`, next);
  }
  if (Math.abs(fileTimeAheadMs) > CLOCK_MS_MAX) {
    return warning("clock", `files are ${Math.round(fileTimeAheadMs)} ms ahead of it`, next);
  }
  if (Math.abs(clockAheadMs) > CLOCK_MS_MAX) {
    return warning(
      "clock",
      `it was set by ${Math.round(clockAheadMs)} ms while it was looked at`,
      next,
    );
  }
  return ok("clock", `${new Date().toISOString()}; files have the same time`);
}

/** What is in a store. */
async function checkContent(
  context: CommandContext,
  path: string,
  look: FolderLook,
): Promise<Check[]> {
  const backend = openBackend(path);
  try {
    return [
      ...await check("reserve", () => checkReserve(context, look)),
      ...await check("room", () => checkRoom(context, backend)),
      ...await check("leftovers", () => checkLeftovers(backend)),
      ...await checkJobs(context, path),
    ];
  } finally {
    await backend.close();
  }
}

function checkReserve({ settings }: CommandContext, { names }: FolderLook): Check {
  const bytes = settings.get("reserveBytes");
  if (bytes === 0) return ok("reserve", "none is wanted");
  if (names.includes("RESERVE")) return ok("reserve", formatBytes(bytes));
  const next = "It was given up as the disk was full: make room, and it is made again";
  return warning("reserve", "it is not there", next);
}

async function checkRoom({ settings }: CommandContext, backend: StorageBackend): Promise<Check> {
  const max = settings.get("storeBytesMax");
  if (max === 0) return ok("room", "the store is not limited");
  let used = 0;
  for await (const { size } of backend.list("")) used += size;
  const found = `${formatBytes(used)} of ${formatBytes(max)}`;
  const next = "Let checkpoints go (retention, unpin, gc --now), or raise store-bytes-max";
  if (used >= max) return fault("room", found, next);
  return used >= max * 0.9 ? warning("room", found, next) : ok("room", found);
}

async function checkLeftovers(backend: StorageBackend): Promise<Check> {
  let count = 0;
  let bytes = 0;
  for await (const { size, modifiedMs } of backend.listTemporary("")) {
    // Younger ones are of writes under way.
    if (Date.now() - modifiedMs < LEFTOVER_AGE_MS) continue;
    count++;
    bytes += size;
  }
  if (count === 0) return ok("leftovers", "none of owners that are gone");
  const found = `${formatCount(count, "temporary file")}, ${formatBytes(bytes)}`;
  return warning("leftovers", found, "The next owner of their job removes them");
}
