/** Tidies up what writes of owners that are gone left behind. Owns: whose names may go. Does not own: how they are made. @module */
import { formatCount } from "../paths.ts";
import type { Ports } from "../port/ports.ts";
import type { StorageBackend, TemporaryInfo } from "../storage/backend.ts";
import type { JobPlace } from "./catalog_read.ts";

const EPOCH_TAG = /^[0-9]{20}$/;
/** Whatever is not tagged with an epoch: readers', locks', probes'. */
const OTHERS_AGE_MS_MAX = 3_600_000;

/**
 * Removes the temporary names that owners of lower epochs left in a job, and all others after an hour.
 * What can't be removed stays for the next open.
 */
export async function sweepTemporaries(
  { backend, keys }: JobPlace,
  epoch: number,
  ports: Ports,
): Promise<void> {
  const own = formatCount(epoch);
  await sweep(
    backend.listTemporary(keys.prefix),
    backend,
    ports,
    (tag) => EPOCH_TAG.test(tag) ? tag < own : undefined,
  );
}

/** Removes the temporary names that stand beside the marker of a store, in no job, after an hour. */
export async function sweepStoreTemporaries(backend: StorageBackend, ports: Ports): Promise<void> {
  await sweep(backend.listTemporary("", { isShallow: true }), backend, ports, () => undefined);
}

/** @param isLeft Says of a tag whether its names were left behind; undefined: their age decides. */
async function sweep(
  found: AsyncIterable<TemporaryInfo>,
  backend: StorageBackend,
  { clock, logger }: Ports,
  isLeft: (tag: string) => boolean | undefined,
): Promise<void> {
  try {
    for await (const { key, tag, modifiedMs } of found) {
      const isOld = clock.nowMs() - modifiedMs > OTHERS_AGE_MS_MAX;
      if (isLeft(tag) ?? isOld) await backend.deleteTemporary(key);
    }
  } catch (error) {
    logger.log("warning", "Cannot sweep temporary names", { location: backend.location, error });
  }
}
