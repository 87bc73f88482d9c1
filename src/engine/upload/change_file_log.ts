/**
 * The job's log of change files in one epoch: one open file that takes batch after batch, each made durable
 * before the next is written.
 * Owns: numbering, headers, which earlier files a header must name, synced lengths, sealing.
 * Does not own: what is in a batch, when to write, whether the epoch is still ours.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import { ChangeFileEncoder } from "../format/change_file_encoder.ts";
import type { Batch, Predecessor } from "../format/change_file.ts";
import type { ChangeSet, ChangeSetFacts } from "../format/change_set.ts";
import type { CodecThread } from "../port/codec_thread.ts";
import type { Ports } from "../port/ports.ts";
import type { ChangeFileName, JobKeys } from "../paths.ts";
import { MAIN_LOG } from "../paths.ts";
import type { StoreSettings } from "../settings.ts";
import type { Appender, StorageBackend } from "../storage/backend.ts";
import { newUuid } from "../uuid.ts";
import { BatchPieces, isWorthThread, type PieceStep } from "./_batch_pieces.ts";
import type { AppendBatchOptions, BatchLog, BatchPlace } from "./batch_log.ts";
import type { ChangeFileFollower, FollowedFile } from "./change_file_follower.ts";

/** Batches after which a file ends, so that its end frame stays under its cap. */
const BATCHES_PER_FILE_MAX = 1_000_000;

/** First and last number of a writer's change sets in a file; not all between them need be there. */
export interface SetRange {
  first: number;
  last: number;
}

/** A change file of this epoch with at least one durable batch. */
export interface LogFile {
  readonly key: string;
  readonly name: ChangeFileName;
  /** Length up to which syncs have returned: the end of a whole batch. */
  readonly syncedLength: number;
  /** Checksum of the batch index that ends there. */
  readonly indexHash: bigint;
  /** Which change sets are in it, by writer. */
  readonly sets: ReadonlyMap<string, Readonly<SetRange>>;
}

/**
 * Settings that concern change files.
 *
 * @example
 * ```ts
 * import { type ChangeFileSettings, DEFAULT_SETTINGS } from "@tidemark/tidemark";
 *
 * const settings: ChangeFileSettings = { ...DEFAULT_SETTINGS, compression: "none" };
 * console.assert(settings.blockBytes === 256 * 1024);
 * ```
 */
export type ChangeFileSettings = Pick<
  StoreSettings,
  | "blockBytes"
  | "changeFileAgeMsMax"
  | "changeFileBytesMax"
  | "compression"
  | "uploadConcurrencyMax"
>;

/** What the log is made of. */
export interface ChangeFileLogOptions {
  readonly backend: StorageBackend;
  readonly keys: JobKeys;
  readonly store: string;
  readonly epoch: number;
  readonly run: number;
  readonly settings: ChangeFileSettings;
  readonly ports: Ports;
  /** What large batches are encoded on. @default this thread */
  readonly codecThread?: CodecThread;
  /** Who wants to know what becomes of the files. @default nobody */
  readonly followers?: readonly ChangeFileFollower[];
}

/** What is known of the batch after the one that is written. */
type Upcoming = Pick<AppendBatchOptions, "next" | "onArrival">;

interface OpenFile {
  readonly name: ChangeFileName;
  readonly encoder: ChangeFileEncoder;
  readonly followed: readonly FollowedFile[];
  readonly sets: Map<string, SetRange>;
  appender: Appender | undefined;
  /** The batch that comes next, as far as it was foreseen. */
  foreseen: BatchPieces | undefined;
  /** Since when the disk alone is waited for: the batch is made, and not yet durable. */
  madeAtMs: number | undefined;
  syncedLength: number;
  readonly beganMs: number;
  /** Whatever a call that still runs on the file comes to, it counts for nothing. */
  isGivenUp: boolean;
}

/** The change files of one epoch. */
export class ChangeFileLog implements BatchLog {
  readonly #options: ChangeFileLogOptions;
  readonly #files = new Map<string, LogFile>();
  /** Earlier files of the epoch that no header on disk names yet. */
  #unnamed: Predecessor[] = [];
  #nextNumber = 1;
  #open: OpenFile | undefined;
  #isWriting = false;
  /** Writes that were given up and have not returned. */
  #hanging = 0;
  /** Milliseconds that the disk alone was waited for, the last time. */
  #lastDiskMs = Infinity;

  constructor(options: ChangeFileLogOptions) {
    this.#options = options;
  }

  /** Number of the open file, or of the next one when none is open. */
  get currentNumber(): number {
    return this.#open?.name.number ?? this.#nextNumber;
  }

  /** Number of the newest file that was begun; 0 when none was. */
  get lastNumber(): number {
    return this.#nextNumber - 1;
  }

  /** Whether a batch is being written or synced. */
  get isWriting(): boolean {
    return this.#isWriting;
  }

  /** The epoch's files that hold something durable and are not forgotten, oldest first. */
  get files(): readonly LogFile[] {
    return [...this.#files.values()];
  }

  /** Leaves files out from now on: nobody needs what is in them. */
  forget(keys: readonly string[]): void {
    for (const key of keys) this.#files.delete(key);
  }

  /**
   * Makes a batch durable. When it fails, or is aborted, the file is given up: it gets no further byte, sync or end
   * frame, its late success counts for nothing, and the next batch goes to a new one.
   */
  async appendBatch(
    sets: readonly ChangeSet[],
    { signal, onDurable, ...upcoming }: AppendBatchOptions = {},
  ): Promise<BatchPlace> {
    if (this.#isWriting) throw new TidemarkError("internal", "Cannot write two batches at once");
    signal?.throwIfAborted();
    this.#checkHanging();
    const file = this.#open ??= this.#begin();
    this.#isWriting = true;
    const writing = this.#write(file, sets, upcoming);
    const letHang = this.#watch(writing);
    try {
      const place = await untilAborted(writing, signal);
      this.#isWriting = false;
      onDurable?.(place);
      // Not waited for: the file is whole without its end frame, and a call that hangs must not hold up the next batch.
      if (this.#isFull(file)) void this.#end(file);
      return place;
    } catch (error) {
      this.#isWriting = false;
      letHang();
      this.#options.ports.logger.log("warning", "Gave up a change file", {
        key: this.#key(file.name),
        syncedLength: file.syncedLength,
        error,
      });
      this.#giveUp(file);
      // Not waited for: a call that hangs keeps the file open.
      void this.#letGo(file);
      throw error;
    }
  }

  /** Ends the open file with its end frame; does nothing when none is open. Not while a batch is being written. */
  async seal(): Promise<void> {
    const file = this.#open;
    if (file !== undefined && !this.#isWriting) await this.#end(file);
  }

  async #end(file: OpenFile): Promise<void> {
    withdraw(file);
    const frame = file.encoder.end();
    follow(file, frame);
    this.#giveUp(file);
    try {
      await file.appender?.write(frame);
    } catch (error) {
      // A file without its end frame is whole all the same: the next header names its synced length.
      this.#options.ports.logger.log("warning", "Cannot end a change file", {
        key: this.#key(file.name),
        error,
      });
    }
    await this.#letGo(file);
  }

  /** Calls that hang keep memory, a descriptor and a thread each: there are not to be more and more of them. */
  #checkHanging(): void {
    const { uploadConcurrencyMax } = this.#options.settings;
    if (this.#hanging < uploadConcurrencyMax) return;
    throw new TidemarkError(
      "storage-unavailable",
      `Cannot write: ${this.#hanging} calls to the storage hang, and no more than ${uploadConcurrencyMax} may; look at the disk`,
      { details: { hanging: this.#hanging, uploadConcurrencyMax } },
    );
  }

  /** Follows a write; the answer counts it as hanging, if it still runs, until it returns. */
  #watch(writing: Promise<unknown>): () => void {
    let isRunning = true;
    let isHanging = false;
    const done = (): void => {
      isRunning = false;
      if (isHanging) this.#hanging -= 1;
    };
    writing.then(done, done);
    return () => {
      if (!isRunning) return;
      isHanging = true;
      this.#hanging += 1;
    };
  }

  /** Takes back what was begun of the next batch: none comes. */
  withdraw(): void {
    if (this.#open !== undefined) withdraw(this.#open);
  }

  /** Lets the open file go as it is. */
  async close(): Promise<void> {
    const file = this.#open;
    if (file === undefined) return;
    const isHanging = this.#isWriting;
    this.#giveUp(file);
    if (!isHanging) await this.#letGo(file);
  }

  #begin(): OpenFile {
    const { store, epoch, run, settings, ports, keys } = this.#options;
    const name = { log: MAIN_LOG, epoch, number: this.#nextNumber++, uuid: newUuid(ports) };
    const encoder = new ChangeFileEncoder({
      ...name,
      store,
      job: keys.job,
      run,
      createdAtMs: ports.clock.nowMs(),
      predecessors: this.#unnamed,
    }, settings);
    const key = this.#key(name);
    const followed = (this.#options.followers ?? []).map((follower) => follower.begin(key));
    const sets = new Map<string, SetRange>();
    return {
      name,
      encoder,
      followed,
      sets,
      appender: undefined,
      foreseen: undefined,
      madeAtMs: undefined,
      beganMs: ports.clock.monotonicMs(),
      syncedLength: 0,
      isGivenUp: false,
    };
  }

  async #write(
    file: OpenFile,
    sets: readonly ChangeSet[],
    upcoming: Upcoming,
  ): Promise<BatchPlace> {
    const key = this.#key(file.name);
    if (file.appender === undefined) {
      file.appender = await this.#options.backend.createAppender(key);
      await this.#writePiece(file, file.encoder.begin());
      this.#checkWanted(file);
    }
    const endArrivals = upcoming.onArrival?.((arrived) => this.#arrived(file, arrived, upcoming));
    let batch: Batch;
    let diskMs: number;
    try {
      batch = await this.#writeBatch(file, sets, upcoming);
      const syncing = file.appender.sync();
      // Nothing else would use this thread while the disk is waited for.
      this.#foresee(file, upcoming)?.begin();
      await syncing;
      diskMs = this.#diskMs(file);
    } finally {
      endArrivals?.();
      file.madeAtMs = undefined;
    }
    this.#checkWanted(file);
    this.#lastDiskMs = diskMs;
    // The header is on disk now, so what it names is named for good.
    this.#unnamed = [];
    file.syncedLength = file.encoder.length;
    addSets(file.sets, batch.sets);
    const { name, syncedLength, encoder: { lastIndexHash: indexHash } } = file;
    this.#files.set(key, { key, name, syncedLength, indexHash, sets: file.sets });
    const storedBytes = batch.end - batch.position;
    return { key, batch: batch.number, bodyBytes: batch.bodyLength, storedBytes };
  }

  async #writeBatch(
    file: OpenFile,
    sets: readonly ChangeSet[],
    upcoming: Upcoming,
  ): Promise<Batch> {
    const pieces = this.#takePieces(file, sets);
    let writing: Promise<void> | undefined;
    try {
      let step = await pieces.next();
      // A piece is written, and the one before it brought to disk, while the next is made.
      while (!step.done) {
        this.#checkWanted(file);
        if (writing !== undefined && step.value.length > 0) file.appender!.beginSync?.();
        writing = this.#writePiece(file, step.value);
        [step] = await Promise.all([this.#nextPiece(file, pieces, upcoming), writing]);
      }
      return step.value;
    } finally {
      // What is written is read from memory that the pieces hold.
      await Promise.allSettled([writing]);
      pieces.leave();
    }
  }

  async #nextPiece(
    file: OpenFile,
    pieces: BatchPieces,
    upcoming: Upcoming,
  ): Promise<PieceStep> {
    const step = await pieces.next();
    if (step.done) {
      file.madeAtMs = this.#options.ports.clock.monotonicMs();
      if (pieces.isOnThread) this.#beginOnThread(file, upcoming);
    }
    return step;
  }

  /** Sets have joined those that wait: the next batch may be known now. */
  #arrived(file: OpenFile, sets: readonly ChangeSet[], upcoming: Upcoming): void {
    if (file.madeAtMs !== undefined && isWorthThread(sets)) this.#beginOnThread(file, upcoming);
  }

  /** Another thread need not wait until the batch before is written; this one would hold that up. */
  #beginOnThread(file: OpenFile, upcoming: Upcoming): void {
    // Without one, more may join the batch until the disk is done.
    if (this.#options.codecThread?.canLend !== true) return;
    const foreseen = this.#foresee(file, upcoming);
    if (foreseen?.isOnThread) foreseen.begin();
  }

  /** The batch that comes next, if that is known. */
  #foresee(file: OpenFile, { next }: Upcoming): BatchPieces | undefined {
    if (file.foreseen !== undefined) return file.foreseen;
    if (file.isGivenUp || this.#willBeFull(file, file.encoder.length)) return undefined;
    // What takes longer than the last time may do so for as long again.
    const sets = next?.(Math.abs(this.#lastDiskMs - this.#diskMs(file)));
    return file.foreseen = sets && this.#piecesOf(file, sets);
  }

  /** Milliseconds that the disk alone has been waited for. */
  #diskMs({ madeAtMs }: OpenFile): number {
    const nowMs = this.#options.ports.clock.monotonicMs();
    return nowMs - (madeAtMs ?? nowMs);
  }

  /** The pieces of a batch: those that were foreseen, if it is that batch. */
  #takePieces(file: OpenFile, sets: readonly ChangeSet[]): BatchPieces {
    const { foreseen } = file;
    if (foreseen === undefined || !foreseen.isOf(sets)) {
      withdraw(file);
      return this.#piecesOf(file, sets);
    }
    file.foreseen = undefined;
    return foreseen;
  }

  #piecesOf({ encoder }: OpenFile, sets: readonly ChangeSet[]): BatchPieces {
    const lent = isWorthThread(sets) ? this.#options.codecThread?.lend() : undefined;
    return new BatchPieces(encoder, sets, lent);
  }

  async #writePiece(file: OpenFile, piece: Uint8Array): Promise<void> {
    this.#checkWanted(file);
    if (piece.length === 0) return;
    follow(file, piece);
    await file.appender!.write(piece);
  }

  /** A given-up file gets nothing more, and lets go when the call returns that kept it. */
  #checkWanted(file: OpenFile): void {
    if (!file.isGivenUp) return;
    void this.#letGo(file);
    throw new TidemarkError("aborted", `${this.#key(file.name)} was given up`, {
      outcome: "unknown",
    });
  }

  #isFull(file: OpenFile): boolean {
    return this.#willBeFull(file, file.syncedLength);
  }

  #willBeFull(file: OpenFile, length: number): boolean {
    const { settings, ports } = this.#options;
    return length >= settings.changeFileBytesMax ||
      file.encoder.batchCount >= BATCHES_PER_FILE_MAX ||
      ports.clock.monotonicMs() - file.beganMs >= settings.changeFileAgeMsMax;
  }

  #giveUp(file: OpenFile): void {
    withdraw(file);
    file.isGivenUp = true;
    this.#open = undefined;
    const { number, uuid } = file.name;
    this.#unnamed = [...this.#unnamed, { number, uuid, syncedLength: file.syncedLength }];
    for (const one of file.followed) one.end();
  }

  async #letGo(file: OpenFile): Promise<void> {
    try {
      await file.appender?.close();
    } catch (error) {
      const key = this.#key(file.name);
      this.#options.ports.logger.log("warning", "Cannot close a change file", { key, error });
    }
  }

  #key(name: ChangeFileName): string {
    return this.#options.keys.changeFile(name);
  }
}

/** Takes back what was foreseen: something else comes. */
function withdraw(file: OpenFile): void {
  file.foreseen?.withdraw();
  file.foreseen = undefined;
}

/** Hands a piece to whoever follows the file, as it is about to be written. */
function follow(file: OpenFile, piece: Uint8Array): void {
  for (const one of file.followed) one.write?.(piece);
}

function addSets(ranges: Map<string, SetRange>, sets: readonly ChangeSetFacts[]): void {
  for (const { writer, sequenceNumber } of sets) {
    const range = ranges.get(writer);
    if (range === undefined) {
      ranges.set(writer, { first: sequenceNumber, last: sequenceNumber });
    } else {
      range.first = Math.min(range.first, sequenceNumber);
      range.last = Math.max(range.last, sequenceNumber);
    }
  }
}

/** Settles as the action does, or rejects when the signal is aborted; the action then goes on unwatched. */
function untilAborted<Result>(action: Promise<Result>, signal?: AbortSignal): Promise<Result> {
  if (signal === undefined) return action;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    action.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
