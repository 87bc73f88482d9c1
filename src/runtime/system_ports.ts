/** What the runtime gives the engine. @module */
import type { Clock } from "../engine/port/clock.ts";
import { type Logger, SILENT_LOGGER } from "../engine/port/logger.ts";
import { type Metrics, NO_METRICS } from "../engine/port/metrics.ts";
import type { Ports } from "../engine/port/ports.ts";
import { SystemClock } from "./system_clock.ts";
import { SystemRandom } from "./system_random.ts";

/**
 * Options of {@link systemPorts}.
 *
 * @example
 * ```ts
 * import { systemPorts, type SystemPortsOptions } from "@tidemark/tidemark";
 *
 * const options: SystemPortsOptions = {
 *   logger: { log: (level, message, fields) => console.error(level, message, fields) },
 * };
 * console.assert(systemPorts(options).logger === options.logger);
 * ```
 */
export interface SystemPortsOptions {
  /** Where the engine reports what no caller waits for. @default silent */
  readonly logger?: Logger;
  /** Where the engine counts. @default nowhere */
  readonly metrics?: Metrics;
  /** Where the engine takes the time from. @default the machine's clock */
  readonly clock?: Clock;
}

/**
 * The machine's clock and chance, for the parts of the engine that are used by themselves.
 *
 * @param options What it reports to. @default {}
 * @returns Ports for every part.
 *
 * @example
 * ```ts
 * import { systemPorts } from "@tidemark/tidemark";
 *
 * const { clock, random } = systemPorts();
 * const bytes = new Uint8Array(16);
 * random.fill(bytes);
 * console.assert(clock.nowMs() > 0 && bytes.some((byte) => byte > 0));
 * ```
 */
export function systemPorts(options: SystemPortsOptions = {}): Ports {
  const { logger = SILENT_LOGGER, metrics = NO_METRICS, clock = new SystemClock() } = options;
  return { clock, random: new SystemRandom(), logger, metrics };
}
