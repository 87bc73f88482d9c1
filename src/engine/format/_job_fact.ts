/** How the small facts of a job are read, whichever they are. @module */
import type * as v from "valibot";
import { TidemarkError } from "../errors.ts";
import { parseFact } from "./_schema.ts";
import { decodeFact } from "./fact.ts";

/** Where a fact must be at home. */
export interface FactHome {
  readonly store: string;
  readonly job: string;
}

/** What every fact of a job says of itself. */
interface Identity extends FactHome {
  readonly key: string;
}

/**
 * Reads a fact, and checks that it says of itself what its key says.
 *
 * @throws {TidemarkError} `corrupt`, `unsupported-format`
 */
export function decodeJobFact<Body extends Identity>(
  schema: v.GenericSchema<unknown, Body>,
  kind: string,
  { key, bytes, home }: {
    readonly key: string;
    readonly bytes: Uint8Array;
    readonly home: FactHome;
  },
): Body {
  const body = parseFact(schema, key, decodeFact(kind, key, bytes));
  checkIdentity(key, body, home);
  return body;
}

function checkIdentity(key: string, found: Identity, wanted: FactHome): void {
  for (
    const [what, is, wants] of [
      ["key", found.key, key],
      ["store", found.store, wanted.store],
      ["job", found.job, wanted.job],
    ] as const
  ) {
    if (is !== wants) {
      throw new TidemarkError(
        "corrupt",
        `Cannot use ${key}: its ${what} is ${JSON.stringify(is)}, not ${JSON.stringify(wants)}`,
        { details: { key, what, found: is, wanted: wants } },
      );
    }
  }
}
