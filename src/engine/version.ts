/**
 * Version of the engine; equal to the package's (Semantic Versioning 2.0.0). Checkpoints say which made them.
 *
 * @example
 * ```ts
 * import { VERSION } from "@tidemark/tidemark";
 *
 * console.assert(VERSION.split(".").length === 3);
 * ```
 */
export const VERSION = "0.1.0";
