/**
 * What is there of a job whose catalog can't be relied on: every object that says something of it.
 * Owns: reading it all, and telling what can't be read. Does not own: what follows from it. Writes nothing.
 * @module
 */
import { ChangeFileSource } from "../changelog/change_file_source.ts";
import { originsOf } from "../changelog/file_origins.ts";
import type { FileOrigin } from "../changelog/tail.ts";
import { hasCode, TidemarkError } from "../errors.ts";
import { type AdoptedBody, decodeAdopted } from "../format/adopted.ts";
import { ChangeFileScan, readHeader } from "../format/change_file_reader.ts";
import type { ChangeFileHeader } from "../format/change_file.ts";
import type { CatalogEntry, GenerationBody } from "../format/generation.ts";
import { decodeManifest, type ManifestBody } from "../format/manifest.ts";
import type { ChangeFileName } from "../paths.ts";
import { readSmall } from "../storage/derived.ts";
import type { Problem } from "../types.ts";
import { entryOfManifest } from "./catalog_entry.ts";
import { type JobPlace, listGenerations, readGeneration } from "./catalog_read.ts";

/** A manifest that can be read, and the catalog's entry of it. */
export interface FoundManifest {
  readonly manifest: ManifestBody;
  /** As it stands in the generation that is gone on from, else made from the manifest. */
  readonly entry: CatalogEntry;
}

/** A change file whose header can be read. */
export interface FoundFile {
  readonly key: string;
  readonly name: ChangeFileName;
  readonly size: number;
  readonly header: ChangeFileHeader;
}

/** How the catalog was found. */
export interface FoundCatalog {
  readonly state: "whole" | "unreadable" | "missing";
  /** Highest number that is there, readable or not; 0: none is. */
  readonly highest: number;
  /** The newest generation that can be read. */
  readonly base: GenerationBody | undefined;
  readonly problems: readonly Problem[];
}

/** Everything that says something. */
export interface Evidence extends FoundCatalog {
  /** By uuid. */
  readonly manifests: ReadonlyMap<string, FoundManifest>;
  /** Manifests that can't be read, by uuid. */
  readonly badManifests: ReadonlyMap<string, Problem>;
  /** What recoveries took over, newest first. */
  readonly adopted: readonly AdoptedBody[];
  readonly badAdopted: readonly Problem[];
  readonly files: readonly FoundFile[];
  /** Epochs that were taken. */
  readonly owners: ReadonlySet<number>;
  /** Highest epoch that anything names. */
  readonly epochMax: number;
  /** Objects that only a job has which was published. */
  readonly objects: number;
}

/**
 * Reads the catalog, down to the newest generation that can be read.
 *
 * @throws {TidemarkError} `unsupported-format`: a newer program wrote it.
 */
export async function findCatalog(place: JobPlace): Promise<FoundCatalog> {
  const numbers = (await listGenerations(place)).reverse();
  const problems: Problem[] = [];
  for (const number of numbers) {
    try {
      const base = await readGeneration(place, number);
      // It vanished between the two calls: newer ones have come.
      if (base === undefined) return await findCatalog(place);
      const state = problems.length === 0 ? "whole" : "unreadable";
      return { state, highest: numbers[0], base, problems };
    } catch (error) {
      if (!hasCode(error, "catalog-lost")) throw error;
      problems.push(problemOf(place.keys.generation(number), error.cause ?? error));
    }
  }
  const state = numbers.length === 0 ? "missing" : "unreadable";
  return { state, highest: numbers[0] ?? 0, base: undefined, problems };
}

/** Reads all that is there. @throws {TidemarkError} `unsupported-format`: a newer program wrote some of it. */
export async function findEvidence(place: JobPlace, signal?: AbortSignal): Promise<Evidence> {
  const catalog = await findCatalog(place);
  const manifests = await findManifests(place, catalog.base, signal);
  const adopted = await findAdopted(place);
  const named = [
    ...[...manifests.manifests.values()].flatMap(({ manifest }) => manifest.files),
    ...adopted.adopted.flatMap((body) => body.files),
  ];
  const origins = originsOf(named, { store: place.store, job: place.keys.job });
  const files = await findFiles(place, origins, signal);
  const owners = new Set<number>();
  for await (const { key } of place.backend.list(place.keys.ownersPrefix)) {
    const epoch = place.keys.parseOwner(key);
    if (epoch !== undefined) owners.add(epoch);
  }
  const names = await readNames(place);
  const seen = [
    catalog.base?.epoch ?? 0,
    ...owners,
    ...names.epochs,
    ...[...manifests.manifests.values()].map(({ manifest }) => manifest.epoch),
  ];
  const epochMax = seen.reduce((max, epoch) => Math.max(max, epoch), 0);
  return { ...catalog, ...manifests, ...adopted, files, owners, epochMax, objects: names.count };
}

/** What an error says of an object. */
export function problemOf(key: string, error: unknown): Problem {
  const reason = error instanceof Error ? error.message : String(error);
  const details = error instanceof TidemarkError ? error.details as Partial<Problem> : {};
  const { key: found = key, from, to } = details;
  return { key: found, reason, from, to };
}

/** Reads what can be read; what can't be is answered as a problem. */
async function attempt<Result>(
  key: string,
  read: () => Promise<Result>,
): Promise<{ found: Result } | { problem: Problem }> {
  try {
    return { found: await read() };
  } catch (error) {
    const isOfData = hasCode(error, "object-not-found") ||
      (error instanceof TidemarkError && error.kind === "corrupt");
    if (!isOfData) throw error;
    return { problem: problemOf(key, error) };
  }
}

async function findManifests(
  place: JobPlace,
  base: GenerationBody | undefined,
  signal: AbortSignal | undefined,
): Promise<Pick<Evidence, "manifests" | "badManifests">> {
  const { backend, keys, store } = place;
  const listed = new Map(base?.checkpoints.map((entry) => [entry.uuid, entry]));
  const manifests = new Map<string, FoundManifest>();
  const badManifests = new Map<string, Problem>();
  for await (const { key } of backend.list(keys.checkpointsPrefix)) {
    if (!keys.isOwn(key)) continue;
    signal?.throwIfAborted();
    const uuid = key.slice(keys.checkpointsPrefix.length, -".json".length);
    const result = await attempt(key, async () => {
      const bytes = await readSmall(backend, key);
      const manifest = decodeManifest(key, bytes, { store, job: keys.job });
      if (manifest.uuid === uuid) return { manifest, entry: entryOfManifest(manifest, bytes) };
      throw new TidemarkError("corrupt", `Cannot use ${key}: it says uuid ${manifest.uuid}`);
    });
    if ("problem" in result) badManifests.set(uuid, result.problem);
    else {
      const { manifest, entry } = result.found;
      manifests.set(uuid, { manifest, entry: listed.get(uuid) ?? entry });
    }
  }
  for (const { uuid, manifest: { key } } of listed.values()) {
    if (manifests.has(uuid) || badManifests.has(uuid)) continue;
    badManifests.set(uuid, { key, reason: `${key} is missing` });
  }
  return { manifests, badManifests };
}

async function findAdopted(place: JobPlace): Promise<Pick<Evidence, "adopted" | "badAdopted">> {
  const { backend, keys, store } = place;
  const adopted: AdoptedBody[] = [];
  const badAdopted: Problem[] = [];
  for await (const { key } of backend.list(keys.adoptedPrefix)) {
    if (!keys.isOwn(key)) continue;
    const result = await attempt(key, async () => {
      return decodeAdopted(key, await readSmall(backend, key), { store, job: keys.job });
    });
    if ("problem" in result) badAdopted.push(result.problem);
    else adopted.push(result.found);
  }
  return { adopted: adopted.sort((a, b) => b.number - a.number), badAdopted };
}

/** Files whose header can be read and is of this job; what is wrong with the others is for the tail's scan to tell. */
async function findFiles(
  place: JobPlace,
  origins: ReadonlyMap<string, FileOrigin>,
  signal: AbortSignal | undefined,
): Promise<FoundFile[]> {
  const { backend, keys } = place;
  const files: FoundFile[] = [];
  for await (const { key, size } of backend.list(keys.changelogPrefix)) {
    const name = keys.parseChangeFile(key);
    if (name === undefined) continue;
    const source = new ChangeFileSource(backend, key, size, signal);
    const result = await attempt(key, async () => (await readHeader(source)).header);
    if ("problem" in result) continue;
    const header = result.found;
    const { store, job } = origins.get(key) ?? { store: place.store, job: keys.job };
    const isOurs = header.store === store && header.job === job &&
      header.epoch === name.epoch && header.number === name.number && header.uuid === name.uuid;
    if (isOurs) files.push({ key, name, size, header });
  }
  return files;
}

/** Counts what is there, and finds the epochs in the names of all that has one. */
async function readNames(
  { backend, keys }: JobPlace,
): Promise<{ readonly count: number; readonly epochs: readonly number[] }> {
  const epochs: number[] = [];
  let count = 0;
  const { changelogPrefix, adoptedPrefix, statesPrefix, checkpointsPrefix } = keys;
  for (const prefix of [changelogPrefix, adoptedPrefix, statesPrefix, checkpointsPrefix]) {
    for await (const { key } of backend.list(prefix)) {
      count += 1;
      if (prefix === checkpointsPrefix || !keys.isOwn(key)) continue;
      const [digits] = key.slice(key.lastIndexOf("/") + 1).split("-");
      epochs.push(Number(digits));
    }
  }
  return { count, epochs };
}

/** Where a writer's change sets of a run begin. */
export interface FirstSet {
  readonly sequenceNumber: number;
  readonly firstOffset: number;
  /** Where the last change set that can be read ends. */
  readonly end: number;
}

/**
 * The first change set of each writer that was appended from an epoch on, as far as it can be read; empty where nothing
 * was appended.
 */
export async function findFirstSets(
  { backend }: JobPlace,
  files: readonly FoundFile[],
  sinceEpoch: number,
  signal?: AbortSignal,
): Promise<Map<string, FirstSet>> {
  const first = new Map<string, FirstSet>();
  for (const { key, name, size } of files) {
    if (name.epoch < sinceEpoch) continue;
    const scan = new ChangeFileScan(new ChangeFileSource(backend, key, size, signal));
    for await (const { sets } of scan.batches()) {
      for (const { writer, epoch, sequenceNumber, firstOffset, count } of sets) {
        // Copies of what older epochs appended say nothing of this one.
        if (epoch < sinceEpoch) continue;
        const known = first.get(writer) ?? { sequenceNumber, firstOffset, end: 0 };
        const begin = known.sequenceNumber <= sequenceNumber
          ? known
          : { sequenceNumber, firstOffset };
        first.set(writer, { ...begin, end: Math.max(known.end, firstOffset + count) });
      }
    }
  }
  return first;
}
