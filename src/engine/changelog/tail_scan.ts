/**
 * Reads the tail of a job (DESIGN, protocol *Recover*).
 * Owns: which change sets belong to the tail, and telling torn ends from loss.
 * Does not own: taking the job over, copying, publishing.
 * @module
 */
import { hasCode, TidemarkError } from "../errors.ts";
import type { AdoptedBody } from "../format/adopted.ts";
import type { Batch } from "../format/change_file.ts";
import { ChangeFileScan } from "../format/change_file_reader.ts";
import { findLaterFrame, laterFrames } from "../format/later_frame.ts";
import type { TailFrom } from "../format/generation.ts";
import { parseHash } from "../format/hash_text.ts";
import type { ManifestBody } from "../format/manifest.ts";
import { endOfManifest } from "./writer_end.ts";
import type { ChangeFileName, JobKeys } from "../paths.ts";
import type { StorageBackend } from "../storage/backend.ts";
import type { Problem } from "../types.ts";
import { ChangeFileSource } from "./change_file_source.ts";
import { compareFiles } from "./file_order.ts";
import { originsOf } from "./file_origins.ts";
import { KnownEnds } from "./known_ends.ts";
import { SetPlaces } from "./set_places.ts";
import { Successors } from "./successors.ts";
import { TailSets } from "./_tail_sets.ts";
import type { FileId, FileOrigin, PlacedSet, Tail, WriterEnd } from "./tail.ts";

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
  /** Told of what is lost, and the scan takes what is good all the same. @default it is thrown */
  readonly onLoss?: (loss: TidemarkError) => void;
  readonly signal?: AbortSignal;
}

interface ListedFile extends FileId {
  readonly size: number;
}

interface ScannedFile {
  readonly scan: ChangeFileScan;
  readonly source: ChangeFileSource;
  /** Whole and good batches. */
  readonly batches: number;
}

class TailScan {
  readonly #options: TailScanOptions;
  readonly #places = new SetPlaces();
  readonly #adopted = new Map<string, AdoptedBody["files"][number]>();
  /** Whose files are that were imported. */
  readonly #origins: ReadonlyMap<string, FileOrigin>;
  readonly #adoptedEnds = new Map<string, number>();
  readonly #headEnds = new Map<string, number>();
  readonly #closed = new Set<string>();
  /** Lengths up to which files are known to have been synced. */
  readonly #neededLengths = new Map<string, number>();
  readonly #torn: Problem[] = [];
  readonly #known = new KnownEnds();
  /** Per writer, the epoch of the last set that is taken. */
  readonly #lastEpochs = new Map<string, number>();
  /** The first epoch in which a name that `head` knows is another writer's. */
  #reusedSince = Infinity;
  /** Places of sets that contradict each other. */
  readonly #doubtful = new Set<string>();

  constructor(options: TailScanOptions) {
    this.#options = options;
    for (const file of options.adopted?.files ?? []) {
      this.#adopted.set(file.key, file);
    }
    const needed = [...options.adopted?.files ?? [], ...options.head?.files ?? []];
    this.#origins = originsOf(needed, { store: options.store, job: options.keys.job });
    for (const { key, length } of needed) {
      this.#neededLengths.set(key, Math.max(length, this.#neededLengths.get(key) ?? 0));
    }
    for (const { writer, sequenceNumber, nextOffset } of options.adopted?.writers ?? []) {
      this.#adoptedEnds.set(writer, sequenceNumber);
      this.#known.see(writer, options.adopted!.number, nextOffset);
    }
    for (const { writer, sequenceNumber, isClosed } of options.head?.writers ?? []) {
      this.#headEnds.set(writer, sequenceNumber);
      if (isClosed) this.#closed.add(writer);
    }
  }

  async run(): Promise<Tail> {
    const files = await this.#list();
    const inTail = new Set(files.map((file) => file.key));
    for (const file of this.#adopted.values()) {
      if (!inTail.has(file.key)) await this.#scanAdopted(file);
    }
    this.#checkHeadFiles(inTail);
    const epochs = new Set(files.map((file) => file.name.epoch));
    for (const epoch of epochs) {
      await this.#scanEpoch(files.filter((file) => file.name.epoch === epoch), files);
    }
    const { backend, onLoss } = this.#options;
    await this.#places.checkCopies(
      backend,
      onLoss && ((set, error) => this.#doubt(set.entry, error)),
    );
    return this.#choose();
  }

  /** Ends the scan with what is lost, unless whoever asked for it goes on without. */
  #lose(loss: TidemarkError): void {
    const { onLoss } = this.#options;
    if (onLoss === undefined) throw loss;
    onLoss(loss);
  }

  /** A set that is there twice in two forms is not taken. */
  #doubt({ writer, sequenceNumber }: PlacedSet, error: TidemarkError): void {
    this.#lose(error);
    this.#doubtful.add(`${writer} ${sequenceNumber}`);
  }

  /** Files at or after `tailFrom`, oldest first. */
  async #list(): Promise<ListedFile[]> {
    const { backend, keys, tailFrom, doomed, beforeEpoch = Infinity } = this.#options;
    const files: ListedFile[] = [];
    for await (const { key, size } of backend.list(keys.changelogPrefix)) {
      const name = keys.parseChangeFile(key);
      if (name === undefined || doomed.includes(key)) continue;
      if (compareFiles(name, tailFrom) >= 0 && name.epoch < beforeEpoch) {
        files.push({ ...this.#fileId(key, name), size });
      }
    }
    return files.sort((a, b) => compareFiles(a.name, b.name));
  }

  #fileId(key: string, name: ChangeFileName): FileId {
    const origin = this.#origins.get(key);
    return origin === undefined ? { key, name } : { key, name, origin };
  }

  /** What the head needs of the tail's files must be there: more than that was acknowledged in them. */
  #checkHeadFiles(inTail: ReadonlySet<string>): void {
    const { head, tailFrom, beforeEpoch = Infinity } = this.#options;
    for (const { key, epoch, number, length } of head?.files ?? []) {
      const isOfTail = compareFiles({ epoch, number }, tailFrom) >= 0 && epoch < beforeEpoch;
      if (!isOfTail || inTail.has(key)) continue;
      const needs = `checkpoint ${head!.uuid} needs ${length} bytes`;
      this.#lose(missing(key, needs, { length, neededBy: head!.uuid }));
    }
  }

  async #scanAdopted({ key, length }: AdoptedBody["files"][number]): Promise<void> {
    const { backend, keys, signal } = this.#options;
    const name = keys.parseChangeFile(key);
    if (name === undefined) {
      return this.#lose(
        new TidemarkError("corrupt", `Cannot recover: adopted key ${key} is no change file`, {
          details: { key },
        }),
      );
    }
    const size = (await backend.head(key))?.size;
    if (size === undefined) {
      return this.#lose(missing(key, `the tail needs ${length} bytes`, { length }));
    }
    if (size < length) this.#lose(missing(key, `the tail needs ${length} bytes`, { size, length }));
    const source = new ChangeFileSource(backend, key, Math.min(size, length), signal);
    const scan = new ChangeFileScan(source, { to: length });
    const file = this.#fileId(key, name);
    let batches = 0;
    for await (const batch of scan.batches()) {
      if (batches++ === 0 && !this.#isOurs(file, scan)) return;
      this.#add(file, batch, false);
    }
    if (batches === 0 && !this.#isOurs(file, scan)) return;
    if (scan.end.kind !== "torn") return;
    this.#lose(lost(key, scan.end, "it was taken over by a recovery"));
    await this.#seeBehind(file, source, { from: scan.end.at, batches });
  }

  /** Scans one epoch's files, the newest first, since a header says how far the files before it count. */
  async #scanEpoch(files: readonly ListedFile[], all: readonly ListedFile[]): Promise<void> {
    const successors = new Successors();
    for (const file of [...files].reverse()) {
      const named = successors.of(file.name);
      if (named?.syncedLength === 0) continue;
      const { scan, source, batches } = await this.#scanFile(file, named?.syncedLength);
      const needed = this.#neededLengths.get(file.key) ?? 0;
      if (!this.#isOurs(file, scan)) continue;
      const { header, end } = scan;
      const isTorn = header === undefined || end.kind === "torn";
      const because = end.at < needed
        ? `its first ${needed} bytes are needed and were synced`
        : isTorn
        ? await this.#judgeTorn(file, { scan, source, batches, successors })
        : undefined;
      if (because !== undefined) {
        this.#lose(lost(file.key, end, because));
        await this.#seeBehind(file, source, { from: end.at, batches });
      }
      // What is imported is cut to what is needed, and what is not needed was left out.
      if (header !== undefined && file.origin === undefined) {
        successors.add(file.name, header.predecessors);
      }
    }
    this.#checkPredecessors(successors, all);
  }

  async #scanFile(file: ListedFile, syncedLength: number | undefined): Promise<ScannedFile> {
    const { backend, signal } = this.#options;
    const length = syncedLength ?? file.size;
    const size = length > file.size ? await this.#grownSize(file, length) : file.size;
    const source = new ChangeFileSource(backend, file.key, Math.min(length, size), signal);
    const scan = new ChangeFileScan(source, { to: length });
    const id = this.#fileId(file.key, file.name);
    let batches = 0;
    let last: Batch | undefined;
    for await (const batch of scan.batches()) {
      if (batches++ === 0 && !isOf(id, scan, this.#options)) {
        return { scan, source, batches };
      }
      if (last !== undefined) this.#add(id, last, false);
      last = batch;
    }
    if (last !== undefined) {
      const isProven = syncedLength !== undefined || scan.end.kind === "end-frame" ||
        (this.#adopted.get(file.key)?.length ?? 0) >= last.end;
      this.#add(id, last, !isProven);
    }
    return { scan, source, batches };
  }

  /** Beside a running owner a file may have grown since it was listed. */
  async #grownSize({ key }: ListedFile, length: number): Promise<number> {
    const size = (await this.#options.backend.head(key))?.size ?? 0;
    const end = { at: size, reason: `it has only ${size} of ${length} bytes` };
    if (size < length) this.#lose(lost(key, end, "a later file says that so many were synced"));
    return size;
  }

  /** A torn end is fine only where nothing says that there was more: answers what says so. */
  async #judgeTorn(
    file: ListedFile,
    { scan, source, batches, successors }: ScannedFile & { readonly successors: Successors },
  ): Promise<string | undefined> {
    const { key, name, size } = file;
    const { end } = scan;
    if (successors.of(name) !== undefined) return "a later file says that it was synced";
    if (successors.hasWholeHeader) {
      return "a later file of its epoch is whole and does not name it";
    }
    const later = await findLaterFrame(source, { from: end.at, uuid: name.uuid, batch: batches });
    if (later !== undefined) {
      return `${later.what} at byte ${later.at} was written after it was synced`;
    }
    const reason = end.reason ?? "its header is bad";
    this.#torn.push({ key, from: end.at, to: size, reason });
    return undefined;
  }

  /** Sets behind bad bytes are of no use, but tell how much is lost. */
  async #seeBehind(
    { name }: FileId,
    source: ChangeFileSource,
    { from, batches }: { readonly from: number; readonly batches: number },
  ): Promise<void> {
    const options = { from, uuid: name.uuid, batch: batches - 1 };
    for await (const { sets } of laterFrames(source, options)) {
      for (const entry of sets) if (this.#isInTail(entry)) this.#see(entry);
    }
  }

  #see({ writer, epoch, firstOffset, count }: PlacedSet): void {
    this.#known.see(writer, epoch, firstOffset + count);
  }

  /** A file that a header names must be there, unless nothing of it counts. */
  #checkPredecessors(successors: Successors, all: readonly ListedFile[]): void {
    const { keys, tailFrom, doomed } = this.#options;
    for (const { name, syncedLength, namedBy } of successors.named()) {
      const key = keys.changeFile(name);
      const counts = syncedLength > 0 && compareFiles(name, tailFrom) >= 0 && !doomed.includes(key);
      if (!counts || all.some((file) => file.key === key)) continue;
      const by = keys.changeFile(namedBy);
      const said = `${by} says that ${syncedLength} bytes were synced`;
      this.#lose(missing(key, said, { syncedLength, namedBy: by }));
    }
  }

  /** Whether a file is the one that its name says; one without a header is not told from it. */
  #isOurs(file: FileId, scan: ChangeFileScan): boolean {
    const other = isOf(file, scan, this.#options) ? undefined : scan.header;
    if (other === undefined) return true;
    const { key } = file;
    const wanted = headerOf(file, this.#options);
    const what = WHOSE.find((one) => other[one] !== wanted[one])!;
    this.#lose(
      new TidemarkError(
        "corrupt",
        `Cannot use ${key}: its header says ${what} ${other[what]}, not ${
          wanted[what]
        }; it belongs elsewhere`,
        { details: { key, what, found: other[what], wanted: wanted[what] } },
      ),
    );
    return false;
  }

  #add(file: FileId, batch: Batch, isUnproven: boolean): void {
    const { position: batchStart, end: batchEnd, indexHash } = batch;
    const isAsAdopted = this.#isAsAdopted(file.key, batch);
    const place = { file, batchStart, batchEnd, indexHash, isUnproven };
    for (const entry of batch.sets) {
      this.#checkName(file, entry);
      if (!this.#isInTail(entry)) continue;
      this.#see(entry);
      if (!isAsAdopted) continue;
      try {
        this.#places.add(entry, place);
      } catch (error) {
        if (!hasCode(error, "corrupt")) throw error;
        this.#doubt(entry, error);
      }
    }
  }

  /** What was taken over is known by the checksum of its last batch index. */
  #isAsAdopted(key: string, { end, indexHash }: Batch): boolean {
    const adopted = this.#adopted.get(key);
    if (adopted?.length !== end || parseHash(adopted.indexHash) === indexHash) return true;
    this.#lose(
      new TidemarkError(
        "corrupt",
        `Cannot recover: the batch index of ${key} that ends at byte ${end} is not the one that a recovery took over; nothing was changed; restore the file from a backup, or salvage the job`,
        { details: { key, to: end } },
      ),
    );
    return false;
  }

  /**
   * A writer goes on from where `head` has it. One that begins again took over the name of one that had ended, after a
   * newer checkpoint than `head`.
   */
  #checkName({ key }: FileId, { writer, sequenceNumber, epoch }: PlacedSet): void {
    const { head, tailFrom } = this.#options;
    if (head === undefined || epoch <= head.epoch || epoch < tailFrom.epoch) return;
    const end = this.#headEnds.get(writer) ?? 0;
    if (sequenceNumber >= end && !this.#closed.has(writer)) return;
    if (epoch >= this.#reusedSince) return;
    this.#reusedSince = epoch;
    this.#lose(
      new TidemarkError(
        "corrupt",
        `Cannot go on from checkpoint ${head.uuid}: writer ${writer} has ${end} change sets in it, and ${key} holds set ${sequenceNumber} of epoch ${epoch}, when another writer had the name: a newer checkpoint is missing; restore the job's files from a backup, or salvage the job, which gives up what was appended from epoch ${epoch} on`,
        { details: { key, writer, sequenceNumber, epoch, uuid: head.uuid } },
      ),
    );
  }

  #isInTail(entry: PlacedSet): boolean {
    const { writer, sequenceNumber, epoch } = entry;
    const headEnd = this.#headEnds.get(writer) ?? 0;
    if (sequenceNumber < headEnd) return false;
    // What a closed writer had beyond its end was given up.
    if (this.#closed.has(writer) && epoch <= this.#options.head!.epoch) return false;
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
    const chosen = new TailSets();
    for (const writer of new Set([...ends.keys(), ...this.#places.writers])) {
      const end = this.#follow(writer, ends.get(writer), chosen);
      if (end !== undefined) ends.set(writer, end);
      this.#checkAdoptedEnd(writer, end?.sequenceNumber ?? 0);
    }
    const known = this.#known.all(this.#lastEpochs);
    const reusedSince = this.#reusedSince === Infinity ? undefined : this.#reusedSince;
    return { ...chosen.result(ends), writers: ends, torn: this.#torn, known, reusedSince };
  }

  #follow(writer: string, start: WriterEnd | undefined, chosen: TailSets): WriterEnd | undefined {
    const { onLoss } = this.#options;
    let end = start;
    for (;;) {
      const sequenceNumber = end?.sequenceNumber ?? 0;
      const nextOffset = end?.nextOffset ?? 0;
      const place = this.#places.get(writer, sequenceNumber);
      if (place === undefined || this.#doubtful.has(`${writer} ${sequenceNumber}`)) return end;
      const { entry } = place;
      // Where nothing says what take-overs left out: no owner goes on from what its successor wrote.
      const lastEpoch = this.#lastEpochs.get(writer) ?? 0;
      if (onLoss !== undefined && entry.epoch < lastEpoch) return end;
      if (entry.firstOffset !== nextOffset) {
        this.#lose(
          new TidemarkError(
            "corrupt",
            `Cannot recover writer ${writer}: change set ${sequenceNumber} in ${place.file.key} at byte ${place.batchStart} begins at offset ${entry.firstOffset}, not ${nextOffset}`,
            {
              details: { key: place.file.key, from: place.batchStart, to: place.batchEnd, writer },
            },
          ),
        );
        return end;
      }
      chosen.take(place);
      this.#lastEpochs.set(writer, entry.epoch);
      end = {
        writer,
        keyGroups: entry.keyGroups,
        base: end?.base,
        sequenceNumber: sequenceNumber + 1,
        nextOffset: nextOffset + entry.count,
      };
    }
  }

  #checkAdoptedEnd(writer: string, sequenceNumber: number): void {
    const wanted = this.#adoptedEnds.get(writer) ?? 0;
    if (sequenceNumber >= wanted) return;
    this.#lose(
      new TidemarkError(
        "changes-lost",
        `Cannot recover writer ${writer}: change set ${sequenceNumber} is in no file of the tail, although a recovery took over ${wanted}; restore the job's files from a backup, or salvage the job`,
        { details: { writer, sequenceNumber, wanted } },
      ),
    );
  }
}

/** Where a writer's tail begins: `head`'s position, or nothing. */
function startOf(
  { writer, keyGroups }: WriterEnd,
  headEnds: ReadonlyMap<string, number>,
  { head }: TailScanOptions,
): WriterEnd {
  if (!headEnds.has(writer)) return { writer, keyGroups, sequenceNumber: 0, nextOffset: 0 };
  return endOfManifest(head!.writers.find((other) => other.writer === writer)!);
}

/** What a header says that must be so. */
const WHOSE = ["store", "job", "log", "epoch", "number", "uuid"] as const;

/** Whether a file's header, if it has one, says what its name and its place say. */
function isOf(file: FileId, { header }: ChangeFileScan, options: TailScanOptions): boolean {
  const wanted = headerOf(file, options);
  return header === undefined || WHOSE.every((what) => header[what] === wanted[what]);
}

/** What a file's header must say. */
function headerOf({ name, origin }: FileId, { store, keys }: TailScanOptions) {
  return { ...name, store, job: keys.job, ...origin };
}

function missing(
  key: string,
  because: string,
  details: { readonly size?: number; readonly [name: string]: unknown },
): TidemarkError {
  const found = details.size === undefined ? "is missing" : `has only ${details.size} bytes`;
  return new TidemarkError(
    "changes-lost",
    `Cannot recover: ${key} ${found}, of which ${because}; restore it from a backup, or salvage the job`,
    { details: { key, ...details } },
  );
}

function lost(key: string, end: { at: number; reason?: string }, because: string): TidemarkError {
  const reason = end.reason ?? "its header is bad";
  return new TidemarkError(
    "corrupt",
    `Cannot recover: ${key} is bad from byte ${end.at} (${reason}), and ${because}; nothing was changed; restore the file from a backup, or salvage the job`,
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
