/**
 * Reads a job's catalog: the generation of the highest number counts, readable or not.
 * @module
 */
import type { LocalCopies } from "../changelog/local_copies.ts";
import { hasCode, TidemarkError } from "../errors.ts";
import { type AdoptedBody, decodeAdopted } from "../format/adopted.ts";
import {
  decodeGeneration,
  type GenerationBody,
  type ObjectReference,
} from "../format/generation.ts";
import { decodeManifest, type ManifestBody } from "../format/manifest.ts";
import { formatHash } from "../format/hash_text.ts";
import type { JobKeys } from "../paths.ts";
import type { Reserve } from "./reserve.ts";
import type { StorageBackend } from "../storage/backend.ts";
import type { StoreRoom } from "../storage/store_room.ts";
import { readOptional, readSmall } from "../storage/derived.ts";
import { xxh64 as xxh64Of } from "../../../wasm/mod.ts";

/** Where a job is. */
export interface JobPlace {
  readonly backend: StorageBackend;
  readonly keys: JobKeys;
  readonly store: string;
  /** Copies that restores read first. @default none */
  readonly local?: LocalCopies;
  /** Room for what must be published on a full disk. @default none */
  readonly reserve?: Reserve;
  /** How much the job and its store may take. @default any */
  readonly room?: StoreRoom;
}

/** Numbers of the generations that are there, lowest first. */
export async function listGenerations({ backend, keys }: JobPlace): Promise<number[]> {
  const numbers: number[] = [];
  for await (const { key } of backend.list(keys.catalogPrefix)) {
    const number = keys.parseGeneration(key);
    if (number !== undefined) numbers.push(number);
  }
  return numbers.sort((a, b) => a - b);
}

/**
 * Reads the newest generation; undefined when the job is new: nothing of it is there, but what an open leaves that
 * died before its first publish.
 *
 * @throws {TidemarkError} `catalog-lost`: it can't be read, or the job has objects and no generation.
 */
export async function readNewestGeneration(place: JobPlace): Promise<GenerationBody | undefined> {
  for (;;) {
    const number = (await listGenerations(place)).at(-1);
    if (number === undefined) {
      await checkNothingIsLost(place);
      return undefined;
    }
    const generation = await readGeneration(place, number);
    if (generation !== undefined) return generation;
    // It vanished between the two calls: newer ones have come.
  }
}

/** Reads one generation; undefined when it is not there. @throws {TidemarkError} `catalog-lost` */
export async function readGeneration(
  place: JobPlace,
  number: number,
): Promise<GenerationBody | undefined> {
  const key = place.keys.generation(number);
  try {
    const bytes = await readOptional(place.backend, key);
    if (bytes === undefined) return undefined;
    const generation = decodeGeneration(key, bytes, { store: place.store, job: place.keys.job });
    if (generation.number === number) return generation;
    throw new TidemarkError(
      "corrupt",
      `Cannot use ${key}: it says generation ${generation.number}`,
    );
  } catch (error) {
    if (!hasCode(error, "corrupt")) throw error;
    throw new TidemarkError(
      "catalog-lost",
      `Cannot open job ${place.keys.job}: its newest catalog generation can't be read: ${error.message}; nothing was changed; restore ${key} from a backup, or salvage the job`,
      { details: { ...error.details, key }, cause: error },
    );
  }
}

async function checkNothingIsLost({ backend, keys }: JobPlace): Promise<void> {
  const kept = [
    keys.changelogPrefix,
    keys.statesPrefix,
    keys.checkpointsPrefix,
    keys.adoptedPrefix,
  ];
  for (const prefix of kept) {
    for await (const { key } of backend.list(prefix)) {
      throw new TidemarkError(
        "catalog-lost",
        `Cannot open job ${keys.job}: it has objects, such as ${key}, but no catalog; nothing was changed; restore ${keys.catalogPrefix} from a backup, or salvage the job`,
        { details: { key } },
      );
    }
  }
}

/** Reads what a generation's `adopted` names. @throws {TidemarkError} `corrupt`, `changes-lost` */
export async function readAdopted(
  place: JobPlace,
  reference: ObjectReference | null,
): Promise<AdoptedBody | undefined> {
  if (reference === null) return undefined;
  const bytes = await readReferenced(place, reference);
  return decodeAdopted(reference.key, bytes, { store: place.store, job: place.keys.job });
}

/** Reads a checkpoint's manifest. @throws {TidemarkError} `corrupt`, `changes-lost` */
export async function readManifest(
  place: JobPlace,
  reference: ObjectReference,
): Promise<ManifestBody> {
  const bytes = await readReferenced(place, reference);
  return decodeManifest(reference.key, bytes, { store: place.store, job: place.keys.job });
}

/** Reads the manifest of a generation's head, if there is one. */
export async function readHead(
  place: JobPlace,
  generation: GenerationBody,
): Promise<ManifestBody | undefined> {
  const entry = generation.checkpoints.find(({ uuid }) => uuid === generation.head);
  return entry === undefined ? undefined : await readManifest(place, entry.manifest);
}

/** Reads an object that must be what a generation says of it. @throws {TidemarkError} `corrupt`, `changes-lost` */
export async function readReferenced(
  { backend }: JobPlace,
  { key, size, xxh64 }: ObjectReference,
): Promise<Uint8Array> {
  let bytes;
  try {
    bytes = await readSmall(backend, key);
  } catch (error) {
    if (!hasCode(error, "object-not-found")) throw error;
    throw new TidemarkError(
      "changes-lost",
      `Cannot read ${key}, which the catalog names: it is missing; restore it from a backup, or salvage the job`,
      { details: { key }, cause: error },
    );
  }
  const found = formatHash(xxh64Of(bytes));
  if (bytes.length === size && found === xxh64) return bytes;
  throw new TidemarkError(
    "corrupt",
    `Cannot use ${key}: it has ${bytes.length} bytes with checksum ${found}, not ${size} with ${xxh64}; restore it from a backup, or salvage the job`,
    { details: { key, size: bytes.length, xxh64: found } },
  );
}
