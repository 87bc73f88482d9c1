/**
 * What an archive says that it holds, checked against itself, and in the words of the job that it becomes.
 * Owns: names, and that every object is needed and told of. Does not own: reading the archive, storing.
 *
 * An archive may come from anywhere: nothing of it is believed that is not looked at here, or checked by checksum before
 * the job is published.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { AdoptedBody } from "../format/adopted.ts";
import type { ArchiveBody } from "../format/archive.ts";
import { type CatalogEntry, checkEntrySize } from "../format/generation.ts";
import {
  decodeManifest,
  encodeManifest,
  type ManifestBody,
  type ManifestWriter,
} from "../format/manifest.ts";
import { invalidArchive } from "../format/tar.ts";
import { COUNT_MAX, FACT_BYTES_MAX } from "../limits.ts";
import { type ChangeFileName, checkName, JobKeys } from "../paths.ts";
import { entryOfManifest, referenceTo } from "./catalog_entry.ts";
import type { JobPlace } from "./catalog_read.ts";
import { checkRetention } from "./retention.ts";

/** Epochs and runs go on from those of the archive: so many are left for the job. */
const COUNTS_LEFT_MIN = 2 ** 40;
/** The last millisecond that a `Date` can say. */
const TIME_MS_MAX = 8.64e15;

/** An object that follows in the archive. */
export interface PlannedObject {
  /** As in the archive. */
  readonly name: string;
  /** Where it is stored. */
  readonly key: string;
  readonly size: number;
  /** The checkpoint whose manifest it is. @default it is a change file, or a state object */
  readonly entry?: CatalogEntry;
}

/** What an archive holds. */
export class ArchivePlan {
  /** In the order in which they come; the manifests are the first. */
  readonly objects: readonly PlannedObject[];
  readonly #place: JobPlace;
  readonly #archive: ArchiveBody;
  readonly #from: JobKeys;
  readonly #home: { readonly store: string; readonly job: string };
  /** Names of objects that no manifest, and not the tail, has named so far, with their sizes. */
  readonly #unnamed = new Map<string, number>();
  /** Up to which length objects are needed. */
  readonly #needed = new Map<string, number>();
  #epochMax = 0;

  /** @throws {TidemarkError} `invalid-archive` */
  constructor(place: JobPlace, archive: ArchiveBody) {
    this.#place = place;
    this.#archive = archive;
    this.#home = { store: archive.store, job: archive.job };
    this.#from = ofArchive(() => new JobKeys(archive.job));
    this.#checkFacts();
    const entries = new Map(
      archive.checkpoints.map((entry) => [this.#manifestName(entry.uuid), entry]),
    );
    this.objects = archive.objects.map(({ name, size }, i) => {
      const key = `${place.keys.prefix}${name}`;
      const entry = entries.get(name);
      const isInPlace = (entry !== undefined) === (i < entries.size);
      if (!place.keys.isOwn(key) || key.startsWith(place.keys.adoptedPrefix) || !isInPlace) {
        throw invalidArchive(
          `it says that ${JSON.stringify(name)} is in it, which is no such place`,
        );
      }
      if (this.#unnamed.has(name)) throw invalidArchive(`it says twice that ${name} is in it`);
      // It is read into memory.
      if (entry !== undefined && size !== entry.manifest.size) {
        throw invalidArchive(`it says two sizes of ${name}: ${size} and ${entry.manifest.size}`);
      }
      this.#unnamed.set(name, size);
      return { name, key, size, entry };
    });
    for (const { name, entry } of this.objects) {
      if (entry !== undefined) this.#name(name, entry.manifest.size);
    }
    for (const entry of entries.values()) this.#checkEntry(entry);
    for (const { key, length } of archive.tail?.files ?? []) {
      this.#nameFile(key, this.#from.parseChangeFile(key), length);
    }
  }

  /** The highest epoch that anything in it names. */
  get epochMax(): number {
    return this.#epochMax;
  }

  /** Bytes of all objects. */
  get bytes(): number {
    return this.objects.reduce((sum, { size }) => sum + size, 0);
  }

  #checkFacts(): void {
    const { checkpoints, head, retention, epoch, run, tail } = this.#archive;
    const uuids = new Set(checkpoints.map(({ uuid }) => uuid));
    if (uuids.size < checkpoints.length) throw invalidArchive("it lists a checkpoint twice");
    if (head !== null && !uuids.has(head)) {
      throw invalidArchive(`it goes on from checkpoint ${head}, which it does not list`);
    }
    for (const { uuid, parent } of checkpoints) {
      if (parent === null || uuids.has(parent)) continue;
      throw invalidArchive(`checkpoint ${uuid} goes on from ${parent}, which it does not list`);
    }
    checkLines(checkpoints);
    ofArchive(() => checkRetention(retention));
    for (const count of [epoch, run]) checkCount(count);
    this.#epochMax = epoch;
    checkWriters(tail?.writers ?? []);
  }

  #checkEntry({ uuid, manifest, epoch, run }: CatalogEntry): void {
    const { epoch: epochMax, run: runMax } = this.#archive;
    if (epoch > epochMax || run > runMax) {
      throw invalidArchive(`checkpoint ${uuid} is of a later epoch or run than its job`);
    }
    if (manifest.key === this.#from.manifest(uuid) && manifest.size <= FACT_BYTES_MAX) return;
    throw invalidArchive(`the manifest of checkpoint ${uuid} can't be as it is told`);
  }

  /**
   * Takes a manifest in, and puts it into the words of the job that it becomes.
   *
   * @throws {TidemarkError} `invalid-archive`
   */
  takeManifest(entry: CatalogEntry, bytes: Uint8Array): { bytes: Uint8Array; entry: CatalogEntry } {
    const { key, size, xxh64 } = entry.manifest;
    const found = referenceTo(key, bytes);
    if (found.size !== size || found.xxh64 !== xxh64) {
      throw invalidArchive(`the manifest of checkpoint ${entry.uuid} is damaged`);
    }
    const manifest = ofArchive(() => decodeManifest(key, bytes, this.#home));
    const isOfEntry = manifest.uuid === entry.uuid && manifest.epoch === entry.epoch &&
      manifest.run === entry.run && manifest.fingerprint === entry.fingerprint;
    if (!isOfEntry) throw invalidArchive(`the manifest of checkpoint ${entry.uuid} is of another`);
    checkWriters(manifest.writers);
    checkOnce("file", manifest.files.map(({ key }) => key));
    checkOnce("state", manifest.states.map(({ name }) => name));
    const moved = this.#move(manifest);
    const encoded = encodeManifest(moved);
    const { parent, pin, quarantinedAtMs } = entry;
    const made = { ...entryOfManifest(moved, encoded), parent, pin, quarantinedAtMs };
    if (Math.max(made.createdAtMs, quarantinedAtMs ?? 0) > TIME_MS_MAX) {
      throw invalidArchive(`the time of checkpoint ${entry.uuid} is none`);
    }
    // As it was listed: the name that the job has now may be longer.
    ofArchive(() => checkEntrySize({ ...made, size: entry.size, manifest: entry.manifest }));
    return { bytes: encoded, entry: made };
  }

  #move(manifest: ManifestBody): ManifestBody {
    const { keys, store } = this.#place;
    const files = manifest.files.map((file) => {
      const { log, epoch, number, uuid, length } = file;
      return { ...file, key: this.#nameFile(file.key, { log, epoch, number, uuid }, length) };
    });
    const states = manifest.states.map((state) => {
      const { key, epoch, uuid, length, name } = state;
      ofArchive(() => checkName("state", name));
      if (key !== this.#from.state(epoch, uuid)) throw this.#elsewhere(key);
      this.#seeEpoch(epoch, key);
      this.#name(this.#nameOf(key), length);
      return { ...state, key: keys.state(epoch, uuid) };
    });
    return { ...manifest, key: keys.manifest(manifest.uuid), store, job: keys.job, files, states };
  }

  /** What is adopted of the tail, in the words of the job that it becomes; undefined where there is none. */
  adopted(epoch: number): AdoptedBody | undefined {
    const { tail } = this.#archive;
    if (tail === null) return undefined;
    const { keys, store } = this.#place;
    const { job } = keys;
    const files = tail.files.map((file) => {
      const { length, indexHash } = file;
      const { store: fromStore, job: fromJob } = { ...this.#home, ...file };
      const isOwn = fromStore === store && fromJob === job;
      const origin = isOwn ? {} : { store: fromStore, job: fromJob };
      return { key: `${keys.prefix}${this.#nameOf(file.key)}`, length, indexHash, ...origin };
    });
    return { key: keys.adoptedPrefix, store, job, number: epoch, files, writers: tail.writers };
  }

  /** Refuses an archive that does not hold just what is needed. Asked once every manifest was taken in. */
  checkWhole(): void {
    const [unneeded] = this.#unnamed.keys();
    if (unneeded !== undefined) throw invalidArchive(`nothing in it needs ${unneeded}`);
    for (const { name, size, entry } of this.objects) {
      const needed = this.#needed.get(name);
      if (entry !== undefined || needed === size) continue;
      throw invalidArchive(`it holds ${size} bytes of ${name}, and ${needed} are needed`);
    }
  }

  #nameFile(key: string, name: ChangeFileName | undefined, length: number): string {
    const isNamed = name !== undefined && ofArchive(() => this.#from.changeFile(name)) === key;
    if (!isNamed) throw this.#elsewhere(key);
    this.#seeEpoch(name.epoch, key);
    this.#name(this.#nameOf(key), length);
    return this.#place.keys.changeFile(name);
  }

  #nameOf(key: string): string {
    return key.slice(this.#from.prefix.length);
  }

  /** Something needs so many bytes of an object. */
  #name(name: string, length: number): void {
    const needed = this.#needed.get(name);
    if (needed === undefined && !this.#unnamed.delete(name)) {
      throw invalidArchive(`${JSON.stringify(name)} is needed, and not in it`);
    }
    this.#needed.set(name, Math.max(length, needed ?? 0));
  }

  #seeEpoch(epoch: number, key: string): void {
    if (epoch > this.#archive.epoch) {
      throw invalidArchive(`${key} is of a later epoch than its job`);
    }
  }

  #manifestName(uuid: string): string {
    return this.#nameOf(this.#from.manifest(uuid));
  }

  #elsewhere(key: string): TidemarkError {
    return invalidArchive(`${JSON.stringify(key)} is no object of its job`);
  }
}

/** What an archive says that can't be so is the archive's fault. */
function ofArchive<Result>(action: () => Result): Result {
  try {
    return action();
  } catch (error) {
    if (error instanceof RangeError) throw invalidArchive(error.message, {}, error);
    throw error instanceof TidemarkError && error.code !== "unsupported-format"
      ? invalidArchive(error.message, error.details, error)
      : error;
  }
}

/** A writer goes on from where it stands, under a name that becomes part of what people type. */
function checkWriters(
  writers: readonly Pick<ManifestWriter, "writer" | "sequenceNumber" | "nextOffset">[],
): void {
  for (const { writer, sequenceNumber, nextOffset } of writers) {
    ofArchive(() => checkName("writer", writer));
    for (const count of [sequenceNumber, nextOffset]) checkCount(count);
  }
  checkOnce("writer", writers.map(({ writer }) => writer));
}

function checkCount(count: number): void {
  if (count > COUNT_MAX - COUNTS_LEFT_MIN) throw invalidArchive(`its count ${count} is too high`);
}

function checkOnce(what: string, names: readonly string[]): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) throw invalidArchive(`a checkpoint or its tail has ${what} ${name} twice`);
    seen.add(name);
  }
}

/** Whoever follows the parents of a checkpoint must come to an end. */
function checkLines(checkpoints: readonly CatalogEntry[]): void {
  const parents = new Map(checkpoints.map(({ uuid, parent }) => [uuid, parent]));
  const ending = new Set<string>();
  for (const { uuid } of checkpoints) {
    const line = new Set<string>();
    for (let at: string | null = uuid; at !== null && !ending.has(at);) {
      if (line.has(at)) throw invalidArchive(`checkpoint ${at} is its own ancestor`);
      line.add(at);
      at = parents.get(at) ?? null;
    }
    for (const one of line) ending.add(one);
  }
}
