/** Tidies up what writes of owners that are gone left behind. Owns: whose names may go. Does not own: how they are made. @module */
import { formatCount } from "../paths.ts";
import type { Ports } from "../port/ports.ts";
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
  { clock, logger }: Ports,
): Promise<void> {
  const own = formatCount(epoch);
  try {
    for await (const { key, tag, modifiedMs } of backend.listTemporary(keys.prefix)) {
      const isLeft = EPOCH_TAG.test(tag)
        ? tag < own
        : clock.nowMs() - modifiedMs > OTHERS_AGE_MS_MAX;
      if (isLeft) await backend.deleteTemporary(key);
    }
  } catch (error) {
    logger.log("warning", "Cannot sweep temporary names", { job: keys.job, error });
  }
}
