/** Whether a request may do what it asks for. */
import { TidemarkError } from "../engine/errors.ts";
import type { Access, Grant, Right } from "./access.ts";

/** What a request is about: one job, the store with every job, or those jobs that the token has. */
type Scope = { readonly job: string } | "store" | "own-jobs";

/** What a request without a token may do where none is asked for. */
const EVERYTHING: Grant = { name: "everyone", allows: () => true };

/** Who asks; undefined when tokens are wanted, and the request carries none that is known. */
export function bearerOf(access: Access | undefined, headers: Headers): Grant | undefined {
  if (access === undefined) return EVERYTHING;
  const token = tokenOf(headers.get("authorization"));
  return token === undefined ? undefined : access.grantOf(token);
}

/**
 * Lets a request through, or not. Whether a job exists plays no part: nobody learns it by asking.
 *
 * @throws {TidemarkError} `unauthorized`, `forbidden`
 */
export function authorize(grant: Grant | undefined, right: Right, scope: Scope): Grant {
  if (grant === undefined) throw unauthorized();
  if (scope === "own-jobs") return grant;
  const job = scope === "store" ? undefined : scope.job;
  if (grant.allows(right, job)) return grant;
  const what = job === undefined ? "every job (*)" : `job ${job}`;
  throw new TidemarkError(
    "forbidden",
    `Cannot take the request: token ${grant.name} has no right ${right} on ${what}`,
    { details: { token: grant.name, right, job: job ?? "*" } },
  );
}

function tokenOf(header: string | null): string | undefined {
  if (header === null || header.length > 1024) return undefined;
  return /^bearer +([^\s]+) *$/i.exec(header)?.[1];
}

function unauthorized(): TidemarkError {
  return new TidemarkError(
    "unauthorized",
    "Cannot take the request: it carries no token that this sidecar knows; " +
      "send one as Authorization: Bearer TOKEN",
  );
}
