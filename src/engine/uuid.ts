/** Uuids of version 7, from the clock and chance that are passed in. @module */
import { v7 } from "uuid";
import type { Clock } from "./port/clock.ts";
import type { Random } from "./port/random.ts";

/** The uuid that names nothing. */
export const NIL_UUID = "00000000-0000-0000-0000-000000000000";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** A new uuid of version 7 (RFC 9562), from the given clock and chance. */
export function newUuid(ports: { readonly clock: Clock; readonly random: Random }): string {
  const random = new Uint8Array(16);
  ports.random.fill(random);
  return v7({ msecs: ports.clock.nowMs(), random });
}

/** Whether `text` is a uuid in its usual form, in lower case. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}
