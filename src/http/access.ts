/**
 * Who may do what: the port that an app asks.
 * @module
 */

/**
 * What a token allows: `read` looks, `append` writes what a pipeline writes, `admin` does everything.
 *
 * @example
 * ```ts
 * import type { Right } from "@tidemark/tidemark/http";
 *
 * const rights: Right[] = ["read", "append"];
 * console.assert(!rights.includes("admin"));
 * ```
 */
export type Right = "read" | "append" | "admin";

/**
 * What the bearer of a token may do.
 *
 * @example
 * ```ts
 * import type { Grant } from "@tidemark/tidemark/http";
 *
 * const auditor: Grant = { name: "auditor", allows: (right) => right === "read" };
 * console.assert(auditor.allows("read", "orders") && !auditor.allows("admin", undefined));
 * ```
 */
export interface Grant {
  /** Whose it is: stands in messages, and is no secret. */
  readonly name: string;
  /**
   * Whether a right is given.
   *
   * @param right Which one.
   * @param job Name of the job that it is wanted for; undefined: for every job, and the store.
   * @returns Whether it is.
   */
  allows(right: Right, job: string | undefined): boolean;
}

/**
 * Knows tokens. An app that is given one answers only to their bearers.
 *
 * @example
 * ```ts
 * import type { Access } from "@tidemark/tidemark/http";
 *
 * const nobody: Access = { grantOf: () => undefined };
 * console.assert(nobody.grantOf("0123456789abcdef") === undefined);
 * ```
 */
export interface Access {
  /**
   * What the bearer of a token may do.
   *
   * @param token What the request carries.
   * @returns The grant, or undefined when the token is not known. Never throws.
   */
  grantOf(token: string): Grant | undefined;
}
