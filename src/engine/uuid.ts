/** Uuids: what they look like, and new ones of version 7, from the clock and chance that are passed in. @module */
import { v7 } from "uuid";
import type { Clock } from "./port/clock.ts";
import type { Random } from "./port/random.ts";

/** What a uuid in its usual form looks like, in lower case, for patterns that hold one. */
export const UUID_PATTERN = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
/** A uuid in its usual form, in lower case, and nothing else. */
export const UUID: RegExp = new RegExp(`^${UUID_PATTERN}$`);

/** A new uuid of version 7 (RFC 9562), from the given clock and chance. */
export function newUuid(ports: { readonly clock: Clock; readonly random: Random }): string {
  const random = new Uint8Array(16);
  ports.random.fill(random);
  return v7({ msecs: ports.clock.nowMs(), random });
}

/** When a uuid of version 7 was made, in milliseconds since 1970. */
export function timeOfUuid(uuid: string): number {
  return Number.parseInt(uuid.replaceAll("-", "").slice(0, 12), 16);
}
