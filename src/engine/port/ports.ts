import type { Clock } from "./clock.ts";
import type { Metrics } from "./metrics.ts";
import type { Logger } from "./logger.ts";
import type { Random } from "./random.ts";

/** What the engine is given by its surroundings, in one place. */
export interface Ports {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}
