/**
 * A generation that names nothing: the first of a job, and what stands for one that is not there, so that everything
 * beside it may go.
 * @module
 */
import type { GenerationBody } from "../format/generation.ts";
import type { GenerationContent } from "./catalog.ts";
import { DEFAULT_RETENTION } from "./retention.ts";

/** The content of a generation that names nothing. */
export function emptyGeneration(
  reason: "fence" | "deleted" | "importing",
  { run, fingerprint }: Pick<GenerationBody, "run" | "fingerprint">,
  epoch: number,
): GenerationContent {
  return {
    reason,
    epoch,
    run,
    fingerprint,
    head: null,
    tailFrom: { epoch, number: 0 },
    adopted: null,
    retention: DEFAULT_RETENTION,
    doomed: [],
    checkpoints: [],
  };
}
