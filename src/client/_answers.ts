/** What answers say, as the engine's types. u64 values come as decimal strings. */
import { TidemarkError } from "../engine/errors.ts";
import type { CheckpointMetadata, ResumeResult } from "../engine/types.ts";
import type { JsonObject } from "./_json.ts";

/** A job as the sidecar describes it. */
export function describedJob<Described>(answer: JsonObject): Described {
  return { ...answer, fingerprint: BigInt(String(answer.fingerprint)) } as unknown as Described;
}

/** A checkpoint, with or without what its manifest says. */
export function checkpointOf<Found extends CheckpointMetadata>(answer: JsonObject): Found {
  const found: Record<string, unknown> = { ...answer };
  for (const name of ["fingerprint", "steps", "processedRecords"]) {
    if (typeof found[name] === "string") found[name] = BigInt(found[name]);
  }
  return found as unknown as Found;
}

/** Where a pipeline starts again. */
export function resumedOf({ checkpoint, ...result }: JsonObject): ResumeResult {
  const isThere = checkpoint !== null && checkpoint !== undefined;
  return {
    ...result,
    ...(isThere ? { checkpoint: checkpointOf(checkpoint as JsonObject) } : {}),
  } as unknown as ResumeResult;
}

/** What stands in a list. @throws {TidemarkError} `server-unreachable` where there is none */
export function listOf<Item>(answer: JsonObject, name: string): Item[] {
  const list = answer[name];
  if (Array.isArray(list)) return list;
  throw new TidemarkError(
    "server-unreachable",
    `Cannot use the answer: it has no ${name}, so it is no Tidemark sidecar; check the address`,
  );
}
