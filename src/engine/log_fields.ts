/**
 * Whom log records are about, told once for all records of a part.
 * @module
 */
import type { Ports } from "./port/ports.ts";

/** Ports whose log records have these fields, unless they have their own of that name. */
export function withLogFields(ports: Ports, fields: Readonly<Record<string, unknown>>): Ports {
  const { logger } = ports;
  return {
    ...ports,
    logger: {
      log: (level, message, own) => logger.log(level, message, { ...fields, ...own }),
    },
  };
}
