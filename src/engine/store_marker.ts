/** The marker that makes a place a store: finding it, and making it. Does not own: what is in the store. @module */
import { hasCode, TidemarkError, withUnknownOutcome } from "./errors.ts";
import { decodeMarker, encodeMarker, type MarkerBody } from "./format/marker.ts";
import { MARKER_KEY } from "./paths.ts";
import type { Ports } from "./port/ports.ts";
import type { StorageBackend } from "./storage/backend.ts";
import { readOptional, readSmall } from "./storage/derived.ts";
import { newUuid } from "./uuid.ts";

/** The marker of a store, where there is one. */
export async function readMarker(backend: StorageBackend): Promise<MarkerBody | undefined> {
  const bytes = await readOptional(backend, MARKER_KEY);
  return bytes === undefined ? undefined : decodeMarker(bytes);
}

/** The marker of a store, or none in a place that is new or empty. @throws {TidemarkError} `not-a-store` */
export async function findMarker(backend: StorageBackend): Promise<MarkerBody | undefined> {
  try {
    return await readMarker(backend) ?? await checkEmpty(backend);
  } catch (error) {
    if (hasCode(error, "store-not-found")) return undefined;
    throw error;
  }
}

async function checkEmpty(backend: StorageBackend): Promise<MarkerBody | undefined> {
  for await (const { key } of backend.list("")) {
    // Somebody may have made the store meanwhile.
    const made = await readMarker(backend);
    if (made !== undefined) return made;
    throw new TidemarkError(
      "not-a-store",
      `Cannot make a store in ${backend.location}: it is not empty (${key}) and has no ${MARKER_KEY}; choose an empty or new folder`,
      { details: { location: backend.location, found: key } },
    );
  }
  return undefined;
}

/** Makes an empty place a store; takes the store of whoever was quicker. */
export async function createMarker(backend: StorageBackend, ports: Ports): Promise<MarkerBody> {
  const marker = { store: newUuid(ports), createdAtMs: ports.clock.nowMs() };
  try {
    if (await backend.putIfAbsent(MARKER_KEY, encodeMarker(marker)) === "created") return marker;
    return decodeMarker(await readSmall(backend, MARKER_KEY));
  } catch (error) {
    if (!(error instanceof TidemarkError) || error.outcome !== "unknown") throw error;
    return await keepMarker(backend, error);
  }
}

/** Takes a marker that is there, though the answer to its write is lost. */
async function keepMarker(backend: StorageBackend, lost: TidemarkError): Promise<MarkerBody> {
  try {
    const found = await readMarker(backend);
    if (found === undefined) throw lost;
    // Its name may not be on disk, whatever a later sync of the folder says: it is given once more.
    await backend.put(MARKER_KEY, encodeMarker(found));
    return found;
  } catch (error) {
    throw withUnknownOutcome(error);
  }
}

/** The error of a place without a store. */
export function storeNotFound(backend: StorageBackend): TidemarkError {
  return new TidemarkError(
    "store-not-found",
    `There is no store in ${backend.location}: check the path, or create one`,
    { details: { location: backend.location } },
  );
}
