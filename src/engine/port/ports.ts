import type { Clock } from "./clock.ts";
import type { Metrics } from "./metrics.ts";
import type { Logger } from "./logger.ts";
import type { Random } from "./random.ts";

/** What the engine is given by its surroundings, in one place. */
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
