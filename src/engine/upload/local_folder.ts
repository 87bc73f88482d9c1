/**
 * The folder of a store's local copies: guarded by a marker, so that nothing of anybody else is touched.
 * Owns: the marker, and removing the copies of a store that had the folder before.
 * Does not own: the copies of the store itself (`LocalRecovery`).
 * @module
 */
import { hasCode, TidemarkError } from "../errors.ts";
import {
  decodeLocalMarker,
  encodeLocalMarker,
  LOCAL_MARKER_KEY,
  type MarkerBody,
} from "../format/marker.ts";
import { JobKeys, JOBS_PREFIX } from "../paths.ts";
import type { Ports } from "../port/ports.ts";
import type { StorageBackend } from "../storage/backend.ts";
import { readOptional } from "../storage/derived.ts";

/**
 * Opens the folder for writing: makes it where it is missing, and takes it over from another store.
 *
 * @returns Whether it can be used. What keeps it from being used is logged: a store does without.
 * @throws {TidemarkError} `not-a-store` when something else is in it: it is the wrong folder.
 */
export async function openLocalFolder(
  local: StorageBackend,
  store: string,
  ports: Ports,
): Promise<boolean> {
  try {
    await local.prepare({ create: true });
    const marker = await readMarker(local);
    if (marker?.store === store) return true;
    if (marker === undefined) await checkEmpty(local);
    else await removeCopies(local);
    await local.put(
      LOCAL_MARKER_KEY,
      encodeLocalMarker({ store, createdAtMs: ports.clock.nowMs() }),
    );
    return true;
  } catch (error) {
    if (hasCode(error, "not-a-store")) throw error;
    return unusable(local, ports, error);
  }
}

/** Whether the folder holds this store's copies, for reading: nothing is made or changed. */
export async function findLocalFolder(
  local: StorageBackend,
  store: string,
  ports: Ports,
): Promise<boolean> {
  try {
    return (await readMarker(local))?.store === store;
  } catch (error) {
    return unusable(local, ports, error);
  }
}

function unusable(local: StorageBackend, { logger }: Ports, error: unknown): false {
  logger.log("warning", "Goes on without local copies", { location: local.location, error });
  return false;
}

async function readMarker(local: StorageBackend): Promise<MarkerBody | undefined> {
  const bytes = await readOptional(local, LOCAL_MARKER_KEY);
  return bytes === undefined ? undefined : decodeLocalMarker(bytes);
}

async function checkEmpty(local: StorageBackend): Promise<void> {
  for await (const { key } of local.list("")) {
    throw new TidemarkError(
      "not-a-store",
      `Cannot keep local copies in ${local.location}: it is not empty (${key}) and has no ${LOCAL_MARKER_KEY}; choose an empty or new folder as localRecoveryPath`,
      { details: { location: local.location, found: key } },
    );
  }
}

/** Removes the copies of another store, and nothing else. */
async function removeCopies(local: StorageBackend): Promise<void> {
  const copies: string[] = [];
  for await (const { key } of local.list(JOBS_PREFIX)) if (isCopy(key)) copies.push(key);
  for (const key of copies) await local.delete(key);
}

function isCopy(key: string): boolean {
  const job = key.slice(JOBS_PREFIX.length).split("/")[0];
  try {
    return new JobKeys(job).parseChangeFile(key) !== undefined;
  } catch (error) {
    if (hasCode(error, "invalid-name")) return false;
    throw error;
  }
}
