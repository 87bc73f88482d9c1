/**
 * Says of any key of a store why its object stays or goes: what a collection decides, and what none looks at.
 * Owns: the words. Does not own: the decision (`Collector`).
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { GenerationBody } from "../format/generation.ts";
import { decodeManifest, type ManifestBody } from "../format/manifest.ts";
import { GENERATIONS_KEPT } from "../limits.ts";
import { JOBS_PREFIX, MARKER_KEY, RESERVE_KEY } from "../paths.ts";
import { readOptional } from "../storage/derived.ts";
import type { CollectionReport, ObjectExplanation } from "../types.ts";
import type { JobPlace } from "./catalog_read.ts";

type Answer = Pick<ObjectExplanation, "action" | "reason">;

/**
 * Explains a key.
 *
 * @param plan What a collection would do now.
 */
export async function explainKey(
  place: JobPlace,
  generation: GenerationBody,
  plan: CollectionReport,
  key: string,
): Promise<ObjectExplanation> {
  const checkpoint = plan.verdicts.find(({ uuid }) => uuid === key.toLowerCase());
  if (checkpoint !== undefined) {
    const { uuid, stays, reason } = checkpoint;
    const action = stays ? "keep" : "delete";
    return { key: place.keys.manifest(uuid), action, reason: `checkpoint ${uuid} ${reason}` };
  }
  const size = await sizeOf(place, key);
  if (size === undefined) return { key, ...explainAbsent(place, key) };
  const object = plan.objects.find((one) => one.key === key);
  if (object === undefined) return { key, size, ...explainOther(place, generation, key) };
  const { action, reason } = object;
  if (action === "keep") return { key, size, action, reason };
  return { key, size, action, reason: `${reason}: ${await whyUnneeded(place, generation, key)}` };
}

async function sizeOf({ backend }: JobPlace, key: string): Promise<number | undefined> {
  try {
    return (await backend.head(key))?.size;
  } catch (error) {
    // What can't be a key names no object.
    if (error instanceof TidemarkError && error.kind === "invalid") return undefined;
    throw error;
  }
}

function explainAbsent({ keys }: JobPlace, key: string): Answer {
  const isOwn = keys.isOwn(key) || keys.parseGeneration(key) !== undefined ||
    keys.parseOwner(key) !== undefined;
  return {
    action: "none",
    reason: isOwn
      ? "there is no such object any more, or there never was"
      : "there is no such object, and the engine makes none of such a name",
  };
}

/** Why nothing needs what a collection lets go. */
async function whyUnneeded(
  place: JobPlace,
  { epoch, adopted }: GenerationBody,
  key: string,
): Promise<string> {
  const { keys } = place;
  const file = keys.parseChangeFile(key);
  if (file !== undefined) {
    return `no checkpoint that stays names this change file of ${
      ownerOf(file.epoch, epoch)
    }, and it lies before the tail`;
  }
  if (key.startsWith(keys.checkpointsPrefix)) {
    const manifest = await readManifestAt(place, key);
    const whose = manifest === undefined
      ? "an owner that can't be told"
      : ownerOf(manifest.epoch, epoch);
    return `the catalog lists no such checkpoint of ${whose}: it failed, or it was removed`;
  }
  if (key.startsWith(keys.adoptedPrefix)) {
    return adopted === null
      ? "a checkpoint was published since, which took over what it lists"
      : `the catalog names ${adopted.key} in its place`;
  }
  return "no checkpoint that stays names it";
}

function ownerOf(epoch: number, now: number): string {
  return epoch === now ? `this owner, epoch ${epoch}` : `epoch ${epoch}, an older owner`;
}

async function readManifestAt(place: JobPlace, key: string): Promise<ManifestBody | undefined> {
  const { backend, keys: { job }, store } = place;
  const bytes = await readOptional(backend, key);
  try {
    return bytes && decodeManifest(key, bytes, { store, job });
  } catch (error) {
    if (error instanceof TidemarkError && error.kind === "corrupt") return undefined;
    throw error;
  }
}

/** What no collection looks at. */
function explainOther({ keys }: JobPlace, { number }: GenerationBody, key: string): Answer {
  const keep = (reason: string): Answer => ({ action: "keep", reason });
  if (key === MARKER_KEY) return keep("it makes the folder a store");
  if (key === RESERVE_KEY) return keep("it is given up when the disk is full, and made again");
  if (!key.startsWith(keys.prefix)) {
    const [other] = key.startsWith(JOBS_PREFIX) ? key.slice(JOBS_PREFIX.length).split("/") : [];
    return keep(
      other === undefined
        ? "it belongs to no job: nothing touches it"
        : `it belongs to job ${other}: only its owner may delete it, ask there`,
    );
  }
  if (key === keys.lock) return keep("it says who owns the job");
  const epoch = keys.parseOwner(key);
  if (epoch !== undefined) return keep(`it is the owner key of epoch ${epoch}: never deleted`);
  const generation = keys.parseGeneration(key);
  if (generation !== undefined) {
    return generation > number - GENERATIONS_KEPT
      ? keep(`it is one of the newest ${GENERATIONS_KEPT} generations of the catalog`)
      : { action: "delete", reason: "it is an old generation: it goes with the next publish" };
  }
  if (key.startsWith(keys.readersPrefix)) {
    return keep("it is a reader's lease: it goes when the reader ends, or a minute after it died");
  }
  if (key.startsWith(`${keys.prefix}private/`)) return keep("it is the pipeline's own");
  return keep("the engine makes no such name: nothing touches it");
}
