import type { Clock } from "./clock.ts";
import type { Metrics } from "./metrics.ts";
import type { Logger } from "./logger.ts";
import type { Random } from "./random.ts";

/**
 * What the engine is given by its surroundings, in one place.
 *
 * @example
 * ```ts
 * import { NO_METRICS, type Ports, SILENT_LOGGER } from "@tidemark/tidemark";
 *
 * const ports: Ports = {
 *   clock: { nowMs: () => 0, monotonicMs: () => 0, schedule: () => ({ cancel() {} }) }, // stands still
 *   random: { fill: (bytes) => void crypto.getRandomValues(bytes) },
 *   logger: SILENT_LOGGER,
 *   metrics: NO_METRICS,
 * };
 * console.assert(ports.clock.nowMs() === 0);
 * ```
 */
export interface Ports {
  /** Time. */
  readonly clock: Clock;
  /** Chance. */
  readonly random: Random;
  /** Where it reports what no caller waits for. */
  readonly logger: Logger;
  /** Where it counts. */
  readonly metrics: Metrics;
}
