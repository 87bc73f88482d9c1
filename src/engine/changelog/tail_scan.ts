/**
 * Reads the tail of a job (DESIGN, protocol *Recover*).
 * Owns: which change sets belong to the tail, and telling torn ends from loss.
 * Does not own: taking the job over, copying, publishing.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { AdoptedBody } from "../format/adopted.ts";
import type { Batch } from "../format/change_file.ts";
import { ChangeFileScan } from "../format/change_file_reader.ts";
import type { TailFrom } from "../format/generation.ts";
import type { ManifestBody } from "../format/manifest.ts";
import type { ChangeFileName, JobKeys } from "../paths.ts";
import type { StorageBackend } from "../storage/backend.ts";
import type { Problem } from "../types.ts";
import { ChangeFileSource, openChangeFile } from "./change_file_source.ts";
import { compareFiles } from "./file_order.ts";
import { SetPlaces } from "./set_places.ts";
import { Successors } from "./successors.ts";
import type { FileId, NeededFile, SetPlace, Tail, UnprovenBatch, WriterEnd } from "./tail.ts";

/** What a scan starts from. */
export interface TailScanOptions {
  readonly backend: StorageBackend;
  readonly keys: JobKeys;
  readonly store: string;
  readonly tailFrom: TailFrom;
  /** Keys that are being deleted. */
  readonly doomed: readonly string[];
  readonly head: ManifestBody | undefined;
  readonly adopted: AdoptedBody | undefined;
  /** Files of this epoch and later ones are not looked at. @default all are */
  readonly beforeEpoch?: number;
  readonly signal?: AbortSignal;
}

interface ListedFile {
  readonly key: string;
  readonly name: ChangeFileName;
  readonly size: number;
}

class TailScan {
  readonly #options: TailScanOptions;
  readonly #places = new SetPlaces();
  readonly #adoptedLengths = new Map<string, number>();
  readonly #adoptedEnds = new Map<string, number>();
  readonly #headEnds = new Map<string, number>();
  readonly #torn: Problem[] = [];

  constructor(options: TailScanOptions) {
    this.#options = options;
    for (const file of options.adopted?.files ?? []) {
      this.#adoptedLengths.set(file.key, file.length);
    }
    for (const { writer, sequenceNumber } of options.adopted?.writers ?? []) {
      this.#adoptedEnds.set(writer, sequenceNumber);
    }
    for (const { writer, sequenceNumber } of options.head?.writers ?? []) {
      this.#headEnds.set(writer, sequenceNumber);
    }
  }

  async run(): Promise<Tail> {
    const files = await this.#list();
    const inTail = new Set(files.map((file) => file.key));
    for (const [key, length] of this.#adoptedLengths) {
      if (!inTail.has(key)) await this.#scanAdopted(key, length);
    }
    const epochs = new Set(files.map((file) => file.name.epoch));
    for (const epoch of epochs) {
      await this.#scanEpoch(files.filter((file) => file.name.epoch === epoch), files);
    }
    await this.#places.checkCopies(this.#options.backend);
    return this.#choose();
  }

  /** Files at or after `tailFrom`, oldest first. */
  async #list(): Promise<ListedFile[]> {
    const { backend, keys, tailFrom, doomed, beforeEpoch = Infinity } = this.#options;
    const files: ListedFile[] = [];
    for await (const { key, size } of backend.list(keys.changelogPrefix)) {
      const name = keys.parseChangeFile(key);
      if (name === undefined || doomed.includes(key)) continue;
      if (compareFiles(name, tailFrom) >= 0 && name.epoch < beforeEpoch) {
        files.push({ key, name, size });
      }
    }
    return files.sort((a, b) => compareFiles(a.name, b.name));
  }

  async #scanAdopted(key: string, length: number): Promise<void> {
    const { backend, keys, signal } = this.#options;
    const name = keys.parseChangeFile(key);
    if (name === undefined) {
      throw new TidemarkError("corrupt", `Cannot recover: adopted key ${key} is no change file`, {
        details: { key },
      });
    }
    const source = await openChangeFile(backend, key, { length, neededBy: "the tail", signal });
    const scan = new ChangeFileScan(source, { to: length });
    for await (const batch of scan.batches()) this.#add({ key, name }, batch, false);
    this.#checkHeader(key, name, scan);
    if (scan.end.kind === "torn") throw lost(key, scan.end, "it was taken over by a recovery");
  }

  /** Scans one epoch's files, the newest first, since a header says how far the files before it count. */
  async #scanEpoch(files: readonly ListedFile[], all: readonly ListedFile[]): Promise<void> {
    const successors = new Successors();
    for (const file of [...files].reverse()) {
      const named = successors.of(file.name);
      if (named?.syncedLength === 0) continue;
      const scan = await this.#scanFile(file, named?.syncedLength);
      const isTorn = scan.header === undefined || scan.end.kind === "torn";
      if (isTorn) this.#judgeTorn(file, scan, successors);
      if (scan.header !== undefined) successors.add(file.name, scan.header.predecessors);
    }
    this.#checkPredecessors(successors, all);
  }

  async #scanFile(file: ListedFile, syncedLength: number | undefined): Promise<ChangeFileScan> {
    const { backend, signal } = this.#options;
    const length = syncedLength ?? file.size;
    if (length > file.size) {
      const end = { at: file.size, reason: `it has only ${file.size} of ${length} bytes` };
      throw lost(file.key, end, "a later file says that so many were synced");
    }
    const source = new ChangeFileSource(backend, file.key, length, signal);
    const scan = new ChangeFileScan(source, { to: length });
    const id: FileId = { key: file.key, name: file.name };
    let last: Batch | undefined;
    for await (const batch of scan.batches()) {
      if (last !== undefined) this.#add(id, last, false);
      last = batch;
    }
    this.#checkHeader(file.key, file.name, scan);
    if (last !== undefined) {
      const isProven = syncedLength !== undefined || scan.end.kind === "end-frame" ||
        (this.#adoptedLengths.get(file.key) ?? 0) >= last.end;
      this.#add(id, last, !isProven);
    }
    return scan;
  }

  /** A torn end is fine only where nothing says that there was more. */
  #judgeTorn(file: ListedFile, scan: ChangeFileScan, successors: Successors): void {
    if (successors.of(file.name) !== undefined) {
      throw lost(file.key, scan.end, "a later file says that it was synced");
    }
    if (successors.hasWholeHeader) {
      throw lost(file.key, scan.end, "a later file of its epoch is whole and does not name it");
    }
    const reason = scan.end.reason ?? "its header is bad";
    this.#torn.push({ key: file.key, from: scan.end.at, to: file.size, reason });
  }

  /** A file that a header names must be there, unless nothing of it counts. */
  #checkPredecessors(successors: Successors, all: readonly ListedFile[]): void {
    const { keys, tailFrom, doomed } = this.#options;
    for (const { name, syncedLength, namedBy } of successors.named()) {
      const key = keys.changeFile(name);
      const counts = syncedLength > 0 && compareFiles(name, tailFrom) >= 0 && !doomed.includes(key);
      if (!counts || all.some((file) => file.key === key)) continue;
      throw new TidemarkError(
        "changes-lost",
        `Cannot recover: ${key} is missing, of which ${
          keys.changeFile(namedBy)
        } says that ${syncedLength} bytes were synced; restore it from a backup`,
        { details: { key, syncedLength, namedBy: keys.changeFile(namedBy) } },
      );
    }
  }

  #checkHeader(key: string, name: ChangeFileName, scan: ChangeFileScan): void {
    const { header } = scan;
    if (header === undefined) return;
    const wanted = { ...name, store: this.#options.store, job: this.#options.keys.job };
    for (const what of ["store", "job", "log", "epoch", "number", "uuid"] as const) {
      if (header[what] === wanted[what]) continue;
      throw new TidemarkError(
        "corrupt",
        `Cannot use ${key}: its header says ${what} ${header[what]}, not ${
          wanted[what]
        }; it belongs elsewhere`,
        { details: { key, what, found: header[what], wanted: wanted[what] } },
      );
    }
  }

  #add(file: FileId, batch: Batch, isUnproven: boolean): void {
    const { position: batchStart, end: batchEnd, indexHash } = batch;
    for (const entry of batch.sets) {
      if (!this.#isInTail(entry)) continue;
      this.#places.add({ entry, file, batchStart, batchEnd, indexHash, isUnproven });
    }
  }

  #isInTail(entry: SetPlace["entry"]): boolean {
    const { writer, sequenceNumber, epoch } = entry;
    const headEnd = this.#headEnds.get(writer) ?? 0;
    if (sequenceNumber < headEnd) return false;
    // What an older epoch left counts only as far as it was adopted.
    return epoch >= this.#options.tailFrom.epoch ||
      sequenceNumber < (this.#adoptedEnds.get(writer) ?? headEnd);
  }

  /** Takes, writer by writer, what is contiguous in sequence number and offset. */
  #choose(): Tail {
    const ends = new Map<string, WriterEnd>();
    for (
      const end of [...this.#options.head?.writers ?? [], ...this.#options.adopted?.writers ?? []]
    ) {
      if (!ends.has(end.writer)) ends.set(end.writer, startOf(end, this.#headEnds, this.#options));
    }
    const chosen: SetPlace[] = [];
    for (const writer of new Set([...ends.keys(), ...this.#places.writers])) {
      const end = this.#follow(writer, ends.get(writer), chosen);
      if (end !== undefined) ends.set(writer, end);
    }
    const lengths = new Map<string, NeededFile>();
    const unproven = new Map<string, UnprovenBatch>();
    let changes = 0;
    for (const { file, batchEnd, indexHash, isUnproven, entry } of chosen) {
      changes += entry.count;
      if (isUnproven) unproven.set(file.key, { file, end: batchEnd, indexHash });
      else if (batchEnd > (lengths.get(file.key)?.length ?? 0)) {
        lengths.set(file.key, { ...file, length: batchEnd, indexHash });
      }
    }
    const files = [...lengths.values()].sort((a, b) => compareFiles(a.name, b.name));
    const torn = this.#torn;
    return {
      files,
      writers: ends,
      unproven: [...unproven.values()],
      torn,
      sets: chosen.length,
      changes,
    };
  }

  #follow(writer: string, start: WriterEnd | undefined, chosen: SetPlace[]): WriterEnd | undefined {
    let end = start;
    for (;;) {
      const sequenceNumber = end?.sequenceNumber ?? 0;
      const nextOffset = end?.nextOffset ?? 0;
      const place = this.#places.get(writer, sequenceNumber);
      if (place === undefined) return end;
      const { entry } = place;
      if (entry.firstOffset !== nextOffset) {
        throw new TidemarkError(
          "corrupt",
          `Cannot recover writer ${writer}: change set ${sequenceNumber} in ${place.file.key} at byte ${place.batchStart} begins at offset ${entry.firstOffset}, not ${nextOffset}`,
          { details: { key: place.file.key, from: place.batchStart, to: place.batchEnd, writer } },
        );
      }
      chosen.push(place);
      end = {
        writer,
        keyGroups: entry.keyGroups,
        sequenceNumber: sequenceNumber + 1,
        nextOffset: nextOffset + entry.count,
      };
    }
  }
}

/** Where a writer's tail begins: `head`'s position, or nothing. */
function startOf(
  end: WriterEnd,
  headEnds: ReadonlyMap<string, number>,
  { head }: TailScanOptions,
): WriterEnd {
  const { writer, keyGroups } = end;
  const ofHead = headEnds.has(writer)
    ? head!.writers.find((other) => other.writer === writer)!
    : { sequenceNumber: 0, nextOffset: 0 };
  const { sequenceNumber, nextOffset } = ofHead;
  return { writer, keyGroups, sequenceNumber, nextOffset };
}

function lost(key: string, end: { at: number; reason?: string }, because: string): TidemarkError {
  const reason = end.reason ?? "its header is bad";
  return new TidemarkError(
    "corrupt",
    `Cannot recover: ${key} is bad from byte ${end.at} (${reason}), and ${because}; nothing was changed; restore the file from a backup`,
    { details: { key, from: end.at, reason } },
  );
}

/**
 * Reads the tail of a job.
 *
 * @throws {TidemarkError} `corrupt`, `changes-lost`: something known to have been synced is bad or missing.
 */
export function scanTail(options: TailScanOptions): Promise<Tail> {
  return new TailScan(options).run();
}
