/**
 * Counts the room that a job takes, object by object, so that it is right after any history.
 * @module
 */
import type { GenerationBody } from "../format/generation.ts";
import { keysNeededBy } from "../format/manifest.ts";
import type { CheckpointUsage, JobUsage, UsageOfKind } from "../types.ts";
import { type JobPlace, readManifest } from "./catalog_read.ts";

/** What is counted, and how. */
export interface UsageOptions {
  /** Keys that the tail needs. */
  readonly inUse: Iterable<string>;
  /** Key of the lease under which is counted, and which goes after that. @default none */
  readonly lease?: string;
}

/**
 * Counts.
 *
 * @throws {TidemarkError} `corrupt`, `changes-lost`: a manifest can't be read.
 */
export async function measureUsage(
  place: JobPlace,
  generation: GenerationBody,
  { inUse, lease }: UsageOptions,
): Promise<JobUsage> {
  const { backend, keys } = place;
  const sizes = new Map<string, number>();
  const kinds: Record<string, { bytes: number; objects: number }> = {};
  for await (const { key, size } of backend.list(keys.prefix)) {
    if (key === lease) continue;
    sizes.set(key, size);
    const kind = kinds[key.slice(keys.prefix.length).split("/")[0]] ??= { bytes: 0, objects: 0 };
    kind.bytes += size;
    kind.objects += 1;
  }
  const checkpoints = await measureCheckpoints(place, generation, new Set(inUse), sizes);
  const all: UsageOfKind[] = Object.values(kinds);
  return {
    bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
    objects: all.reduce((sum, { objects }) => sum + objects, 0),
    kinds,
    checkpoints,
  };
}

async function measureCheckpoints(
  place: JobPlace,
  generation: GenerationBody,
  inUse: ReadonlySet<string>,
  sizes: ReadonlyMap<string, number>,
): Promise<CheckpointUsage[]> {
  const needs = new Map<string, readonly string[]>();
  const stateKeys = new Map<string, ReadonlySet<string>>();
  const users = new Map<string, number>();
  for (const entry of generation.checkpoints) {
    const manifest = await readManifest(place, entry.manifest);
    const needed = keysNeededBy(manifest);
    needs.set(entry.uuid, needed);
    stateKeys.set(entry.uuid, new Set(manifest.states.map(({ key }) => key)));
    for (const key of needed) users.set(key, (users.get(key) ?? 0) + 1);
  }
  return [...needs].map(([uuid, needed]) => {
    let stateBytes = 0;
    let referencedBytes = 0;
    let exclusiveBytes = 0;
    for (const key of needed) {
      const size = sizes.get(key) ?? 0;
      referencedBytes += size;
      if (stateKeys.get(uuid)!.has(key)) stateBytes += size;
      if (users.get(key) === 1 && !inUse.has(key)) exclusiveBytes += size;
    }
    const sharedBytes = referencedBytes - exclusiveBytes;
    return { uuid, stateBytes, referencedBytes, exclusiveBytes, sharedBytes };
  });
}
