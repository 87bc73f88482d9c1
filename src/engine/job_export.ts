/**
 * Writes a job as an archive, beside whoever owns it.
 * Owns: what is in an archive, and in which order; that each object is checked before it is given out. Does not own: what
 * keeps the objects meanwhile (`StoredJobReader.snapshot`), frames (`format/tar.ts`).
 * @module
 */
import { checkHeader } from "./changelog/restore_plan.ts";
import { openChangeFile } from "./changelog/change_file_source.ts";
import { compareFiles } from "./changelog/file_order.ts";
import type { NeededFile } from "./changelog/tail.ts";
import { type JobPlace, readManifest, readReferenced } from "./checkpoint/catalog_read.ts";
import { filesOfManifest, joinFiles, sourceOfTail } from "./checkpoint/restore_source.ts";
import { readStateObject } from "./checkpoint/state_read.ts";
import { verifyContent } from "./checkpoint/verify.ts";
import { TidemarkError } from "./errors.ts";
import { ARCHIVE_NAME, type ArchiveBody, encodeArchive } from "./format/archive.ts";
import { readHeader } from "./format/change_file_reader.ts";
import type { CatalogEntry } from "./format/generation.ts";
import { formatHash } from "./format/hash_text.ts";
import type { ManifestState } from "./format/manifest.ts";
import { tarBytesOf, tarEnd, tarHeader, tarPadding } from "./format/tar.ts";
import type { JobSnapshot, StoredJobReader } from "./job_reader.ts";
import { MIB } from "./limits.ts";
import type { Clock } from "./port/clock.ts";
import type { ExportJobOptions, Progress } from "./types.ts";
import { VERSION } from "./version.ts";

/** What exporting a job needs. */
export interface JobExportOptions extends ExportJobOptions {
  readonly place: JobPlace;
  readonly clock: Clock;
  readonly reader: StoredJobReader;
}

/** One object of an archive. */
interface ExportedObject {
  readonly key: string;
  readonly size: number;
  /** Answers its bytes, once they are checked. */
  readonly read: () => AsyncIterable<Uint8Array>;
}

/**
 * Exports a job.
 *
 * @throws {TidemarkError} `job-not-found`, `checkpoint-not-found`, `corrupt`, `changes-lost`, `snapshot-expired`
 */
export async function* exportJob(options: JobExportOptions): AsyncGenerator<Uint8Array, void> {
  const { place, reader, at = "tail", signal } = options;
  signal?.throwIfAborted();
  const snapshot = await reader.snapshot(at, signal);
  try {
    const objects = await new ArchiveContent(place, snapshot, signal).objects();
    for await (const piece of write(options, snapshot, objects)) {
      signal?.throwIfAborted();
      snapshot.check();
      yield piece;
    }
  } catch (error) {
    // Why it was stopped says more than where.
    signal?.throwIfAborted();
    throw await snapshot.explain(error);
  } finally {
    await snapshot.release();
  }
}

async function* write(
  { place, clock, onProgress }: JobExportOptions,
  snapshot: JobSnapshot,
  objects: readonly ExportedObject[],
): AsyncGenerator<Uint8Array, void> {
  const nowMs = clock.nowMs();
  const { prefix } = place.keys;
  const named = objects.map(({ key, size }) => ({ name: key.slice(prefix.length), size }));
  const body = encodeArchive({ ...bodyOf(place, snapshot, nowMs), objects: named });
  const files = [{ name: ARCHIVE_NAME, size: body.length }, ...named];
  const end = tarEnd();
  const total = files.reduce((sum, { size }) => sum + tarBytesOf(size), end.length);
  let done = 0;
  const count = (bytes: Uint8Array): Uint8Array => {
    done += bytes.length;
    onProgress?.({ phase: "export", done, total } satisfies Progress);
    return bytes;
  };
  for (const [i, file] of files.entries()) {
    const pieces = i === 0 ? [body] : objects[i - 1].read();
    let isBegun = false;
    for await (const piece of pieces) {
      // What is bad is found before anything of it is given out.
      if (!isBegun) yield count(tarHeader(file, nowMs));
      isBegun = true;
      yield count(piece);
    }
    const padding = tarPadding(file.size);
    if (padding.length > 0) yield count(padding);
  }
  yield count(end);
}

function bodyOf(
  { store, keys }: JobPlace,
  { generation, entries, tail }: JobSnapshot,
  createdAtMs: number,
): Omit<ArchiveBody, "objects"> {
  const { epoch, run, fingerprint, retention } = generation;
  const files = tail?.own ?? [];
  const uuids = new Set<string | null>(entries.map(({ uuid }) => uuid));
  return {
    store,
    job: keys.job,
    engineVersion: VERSION,
    createdAtMs,
    generation: generation.number,
    epoch,
    run,
    fingerprint,
    head: tail === undefined ? entries[0].uuid : generation.head,
    retention,
    checkpoints: entries.map((entry) => (
      uuids.has(entry.parent) ? entry : { ...entry, parent: null }
    )),
    tail: files.length === 0 ? null : {
      files: files.map(({ key, length, indexHash, origin }) => (
        { key, length, indexHash: formatHash(indexHash), ...origin }
      )),
      writers: [...tail!.writers.values()].map((
        { writer, keyGroups, sequenceNumber, nextOffset },
      ) => ({ writer, keyGroups, sequenceNumber, nextOffset })),
    },
  };
}

/** Finds what belongs into an archive. */
class ArchiveContent {
  readonly #place: JobPlace;
  readonly #snapshot: JobSnapshot;
  readonly #signal: AbortSignal | undefined;

  constructor(place: JobPlace, snapshot: JobSnapshot, signal: AbortSignal | undefined) {
    this.#place = place;
    this.#snapshot = snapshot;
    this.#signal = signal;
  }

  /** Manifests, then change files, then state objects: each is named by what comes before it. */
  async objects(): Promise<ExportedObject[]> {
    const { entries, tail } = this.#snapshot;
    let files: NeededFile[] = joinFiles(tail?.own ?? []);
    const states = new Map<string, ManifestState>();
    for (const entry of entries) {
      this.#signal?.throwIfAborted();
      const manifest = await readManifest(this.#place, entry.manifest);
      files = joinFiles(files, filesOfManifest(manifest));
      for (const state of manifest.states) states.set(state.key, state);
    }
    files.sort((a, b) => compareFiles(a.name, b.name));
    return [
      ...entries.map((entry) => this.#manifest(entry)),
      ...files.map((file) => this.#file(file)),
      ...[...states.values()].map((state) => this.#state(state)),
    ];
  }

  #manifest({ manifest }: CatalogEntry): ExportedObject {
    const { key, size } = manifest;
    const read = async function* (this: ArchiveContent): AsyncGenerator<Uint8Array> {
      yield await readReferenced(this.#place, manifest);
    };
    return { key, size, read: read.bind(this) };
  }

  #file(file: NeededFile): ExportedObject {
    const { key, length: size } = file;
    const read = async function* (this: ArchiveContent): AsyncGenerator<Uint8Array> {
      await this.#checkFile(file);
      yield* this.#pieces(key, size);
    };
    return { key, size, read: read.bind(this) };
  }

  async #checkFile(file: NeededFile): Promise<void> {
    const place = this.#place;
    const { key, length } = file;
    const needed = { length, neededBy: "the archive", signal: this.#signal };
    const source = await openChangeFile(place.backend, key, needed);
    const { header } = await readHeader(source);
    checkHeader(file, header, sourceOfTail(place, { files: [], writers: new Map() }));
    await verifyContent(place, file, { bytes: 0, changes: 0 }, this.#signal);
  }

  #state(state: ManifestState): ExportedObject {
    const { key, length: size } = state;
    const read = async function* (this: ArchiveContent): AsyncGenerator<Uint8Array> {
      for await (const _piece of readStateObject(this.#place.backend, state, this.#signal));
      yield* this.#pieces(key, size);
    };
    return { key, size, read: read.bind(this) };
  }

  /** The bytes of an object as they are stored. */
  async *#pieces(key: string, size: number): AsyncGenerator<Uint8Array> {
    const signal = this.#signal;
    for (let from = 0; from < size;) {
      const to = Math.min(size, from + MIB);
      const piece = await this.#place.backend.get(key, { from, to, signal });
      if (piece.length === 0) throw cut(key, from, size);
      from += piece.length;
      yield piece;
    }
  }
}

function cut(key: string, from: number, size: number): TidemarkError {
  return new TidemarkError(
    "changes-lost",
    `Cannot read ${key}: it ends at byte ${from}, and ${size} are needed`,
    { details: { key, from, size } },
  );
}
