/** A job's place in a store that nobody else is in, with calls that fail as planned. @module */
import type { JobPlace } from "../../../src/engine/checkpoint/catalog_read.ts";
import type { GenerationContent } from "../../../src/engine/checkpoint/catalog.ts";
import { JobKeys } from "../../../src/engine/paths.ts";
import { newUuid } from "../../../src/engine/uuid.ts";
import { FaultyBackend } from "../../doubles/faulty_backend.ts";
import { JOB, newMemory, Surroundings } from "../_engine.ts";

export interface PlaceBench {
  readonly place: JobPlace & { readonly backend: FaultyBackend };
  readonly backend: FaultyBackend;
  readonly keys: JobKeys;
  readonly ports: Surroundings;
}

/** A place in a store of its own. */
export function newPlace(seed = 1): PlaceBench {
  const ports = new Surroundings(seed);
  const backend = new FaultyBackend(newMemory());
  const keys = new JobKeys(JOB);
  return { place: { backend, keys, store: newUuid(ports) }, backend, keys, ports };
}

/** What a generation of this epoch says, at the least. */
export function contentOf(
  epoch: number,
  change: Partial<GenerationContent> = {},
): GenerationContent {
  return {
    reason: "fence",
    epoch,
    run: 1,
    fingerprint: 0n,
    head: null,
    tailFrom: { epoch, number: 0 },
    adopted: null,
    retention: { minCount: 2 },
    doomed: [],
    checkpoints: [],
    ...change,
  };
}
