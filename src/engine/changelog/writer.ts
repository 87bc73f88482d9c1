/**
 * One ordered changelog. Seed: `ChangelogWriter`.
 * Owns: offsets, sequence numbers, the base below which everything was truncated.
 * Does not own: which sets are durable (`ChangeSetQueue`), batching, files, checkpoints, the run's life.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import { encodedChangeBytes } from "../format/change.ts";
import { encodeChanges } from "../format/change_input.ts";
import type { ChangeSet } from "../format/change_set.ts";
import type {
  AppendAtOptions,
  AppendResult,
  Change,
  EncodedChanges,
  KeyGroupRange,
  PersistedSegment,
  PersistResult,
  WaitOptions,
  Writer,
  WriterPosition,
} from "../types.ts";
import { CHANGE_SET_BYTES_MAX } from "../upload/fs_uploader.ts";
import type { SetRange } from "../upload/change_file_log.ts";
import type { UploadResult } from "../upload/upload_task.ts";
import {
  checkChangeSize,
  checkEncodedKeyGroups,
  checkEncodedSizes,
  checkKeyGroup,
} from "./_append_checks.ts";
import { giveBack, REUSED_BYTES_MIN } from "./_chunk_memory.ts";
import { UploadedSets } from "./_uploaded_sets.ts";
import { AppendHistory } from "./append_history.ts";
import { ChangeSetBuilder } from "./change_set_builder.ts";
import { ChangeSetQueue, type ChangeSetQueueOwner } from "./change_set_queue.ts";
import type { WriterBase, WriterEnd } from "./tail.ts";
import type { WriterContext } from "./writer_context.ts";

/** Numbers that a truncation may name. */
const MARKS_MAX = 1024;

/** A writer within one run of its job. The job calls what `Writer` does not show. */
export class ChangelogWriter implements Writer, ChangeSetQueueOwner {
  readonly id: string;
  readonly keyGroups: KeyGroupRange;
  readonly #context: WriterContext;
  readonly #history = new AppendHistory();
  readonly #queue = new ChangeSetQueue(this);
  /** Durable sets that no published checkpoint owns, by sequence number: where each lies. */
  readonly #uploaded = new UploadedSets();
  /** Offsets of the change sets at which somebody rolled over: those that a truncation may name. */
  readonly #marks = new Map<number, number>();
  readonly #active: ChangeSetBuilder;
  #activeNumber: number;
  #nextOffset: number;
  #notUploadedBytes = 0;
  /** Published: nothing below it can be read. */
  #base: WriterBase;
  /** Asked for: becomes the base with the next published checkpoint. */
  #nextBase: WriterBase;
  /** Published: nothing from here on belongs to the writer. */
  #endConfirmed = Number.POSITIVE_INFINITY;
  /** Nothing was ever appended, and what should have been was refused. */
  #isRefused = false;
  /** Where the writer ends, once it is closed. */
  #closedAt: { readonly end: WriterEnd; readonly reason: TidemarkError } | undefined;

  constructor(start: WriterEnd, context: WriterContext) {
    this.id = start.writer;
    this.keyGroups = start.keyGroups;
    this.#context = context;
    this.#activeNumber = start.sequenceNumber;
    this.#nextOffset = start.nextOffset;
    this.#active = new ChangeSetBuilder(start.nextOffset);
    this.#base = start.base ?? { sequenceNumber: 0, offset: 0 };
    this.#nextBase = this.#base;
    this.#marks.set(start.sequenceNumber, start.nextOffset);
    if (start.isClosed !== true) return;
    this.#closedAt = { end: start, reason: writerIsClosed(this.id) };
    this.#endConfirmed = start.sequenceNumber;
  }

  get scheduler(): WriterContext["scheduler"] {
    return this.#context.scheduler;
  }

  get nextOffset(): number {
    return this.#nextOffset;
  }

  get durableOffset(): number {
    return this.#queue.first?.firstOffset ?? this.#active.firstOffset;
  }

  /** Every change set below it is durable. */
  get durableSequenceNumber(): number {
    return this.#queue.first?.sequenceNumber ?? this.#activeNumber;
  }

  /** Whether it counts as a writer: a first append that is refused leaves none behind. */
  get isBegun(): boolean {
    return this.#nextOffset > 0 || !this.#isRefused;
  }

  get isClosed(): boolean {
    return this.#closedAt !== undefined;
  }

  /** Whether a published checkpoint says where the writer ends, and nothing of it is still being uploaded. */
  get hasEnded(): boolean {
    return this.#endConfirmed !== Number.POSITIVE_INFINITY && this.#queue.isIdle;
  }

  /** How the writer stands. */
  get position(): WriterPosition {
    const { id: writer, keyGroups } = this;
    const end = this.#closedAt?.end;
    if (end !== undefined) {
      const { nextOffset, sequenceNumber } = end;
      const durableOffset = Math.min(this.durableOffset, nextOffset);
      return { writer, keyGroups, nextOffset, durableOffset, sequenceNumber, isClosed: true };
    }
    const { nextOffset, durableOffset } = this;
    return { writer, keyGroups, nextOffset, durableOffset, sequenceNumber: this.#activeNumber };
  }

  /** Where the durable part ends. */
  get durableEnd(): WriterEnd {
    const { id: writer, keyGroups, durableSequenceNumber: sequenceNumber, durableOffset } = this;
    const closed = this.#closedAt?.end;
    if (closed !== undefined && closed.sequenceNumber <= sequenceNumber) {
      return { ...closed, base: this.#base };
    }
    return { writer, keyGroups, sequenceNumber, nextOffset: durableOffset, base: this.#base };
  }

  append(keyGroup: number, data: Uint8Array): number {
    this.#checkUsable();
    checkKeyGroup(this, keyGroup);
    checkChangeSize(this, data.length, this.#context.changeBytesMax);
    const size = encodedChangeBytes(keyGroup, data.length);
    this.#admit(size);
    this.#active.append(keyGroup, data);
    return this.#appended(1, size);
  }

  appendMeta(data: Uint8Array): number {
    return this.append(-1, data);
  }

  appendBatch(changes: Iterable<Change>): number {
    this.#checkUsable();
    return this.appendEncoded(encodeChanges(changes));
  }

  appendEncoded(changes: EncodedChanges): number {
    this.#checkUsable();
    if (changes.count === 0) return this.#nextOffset;
    checkEncodedKeyGroups(this, changes);
    checkEncodedSizes(this, changes, this.#context.changeBytesMax);
    const size = changes.bytes.length;
    if (size > CHANGE_SET_BYTES_MAX) {
      throw new TidemarkError(
        "change-too-large",
        `Cannot append to writer ${this.id}: ${size} bytes at once of at most ${CHANGE_SET_BYTES_MAX}; append in pieces`,
        { details: { writer: this.id, bytes: size, bytesMax: CHANGE_SET_BYTES_MAX } },
      );
    }
    this.#admit(size);
    this.#active.appendEncoded(changes);
    return this.#appended(changes.count, size);
  }

  async appendAt(
    expected: number | undefined,
    changes: EncodedChanges,
    options: AppendAtOptions = {},
  ): Promise<AppendResult> {
    const { ack = "durable" } = options;
    try {
      this.#checkUsable();
      this.#context.checkRun(options.run, { required: expected !== undefined });
      const offset = expected ?? this.#nextOffset;
      const sequenceNumber = this.#activeNumber;
      const isVerified = this.#takeAt(offset, changes) || await this.#compare(offset, changes);
      const waiting = ack === "durable" ? this.#whenDurable(options.signal) : undefined;
      if (waiting !== undefined) await waiting;
      const nextOffset = offset + changes.count;
      const result = { offset, nextOffset, sequenceNumber, ack };
      return isVerified ? result : { ...result, verified: false };
    } catch (error) {
      this.#isRefused = this.#nextOffset === 0;
      throw error;
    }
  }

  /** Appends what comes next; false when it was appended before. */
  #takeAt(offset: number, changes: EncodedChanges): boolean {
    if (!Number.isSafeInteger(offset) || offset < 0) {
      throw new RangeError(`Cannot append to writer ${this.id} at offset ${offset}: it is none`);
    }
    if (offset === this.#nextOffset) {
      this.appendEncoded(changes);
      this.#history.add(offset, changes);
      return true;
    }
    if (offset + changes.count <= this.#nextOffset) return false;
    throw new TidemarkError(
      "offset-mismatch",
      `Cannot append to writer ${this.id} at offset ${offset}: the next offset is ${this.#nextOffset}; send what follows from there`,
      { details: { writer: this.id, offset, expectedOffset: this.#nextOffset } },
    );
  }

  // Not an async function: the frame of one takes a kilobyte, which counts where acknowledgements are many.
  persist(
    from: number = this.durableSequenceNumber,
    { signal }: WaitOptions = {},
  ): Promise<PersistResult> {
    try {
      this.#checkPersist(from);
      this.#rollOver();
      const next = this.#activeNumber;
      const waiting = this.#whenDurable(signal);
      if (waiting === undefined) return Promise.resolve(this.#persisted(from, next));
      return waiting.then(() => this.#persisted(from, next));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #persisted(from: number, next: number): PersistResult {
    const segments = this.#segments(from, next);
    const isLocal = segments.length > 0 && segments.every(({ localKey }) => localKey !== undefined);
    return { from, next, durableOffset: this.durableOffset, segments, isLocal };
  }

  nextSequenceNumber(): number {
    this.#checkUsable();
    this.#rollOver();
    this.#mark();
    return this.#activeNumber;
  }

  /** Notes a number that a truncation may name. The oldest are forgotten: a pipeline truncates to recent ones. */
  #mark(): void {
    this.#marks.set(this.#activeNumber, this.#nextOffset);
    if (this.#marks.size <= MARKS_MAX) return;
    for (const oldest of this.#marks.keys()) {
      this.#marks.delete(oldest);
      return;
    }
  }

  /** Waits until everything that was appended is durable, also when the writer is closed. */
  async makeDurable(): Promise<void> {
    this.#context.checkUsable();
    this.upload();
    const upTo = this.#closedAt?.end.sequenceNumber ?? this.#activeNumber;
    if (this.durableSequenceNumber < upTo) await this.#queue.whenDurable(upTo);
  }

  /**
   * Rolls over for a checkpoint: where the writer ends in it, and where what it holds begins.
   */
  rollOver(): WriterEnd {
    const base = this.#nextBase;
    if (this.#closedAt !== undefined) return { ...this.#closedAt.end, base };
    const sequenceNumber = this.nextSequenceNumber();
    const { id: writer, keyGroups, nextOffset } = this;
    return { writer, keyGroups, sequenceNumber, nextOffset, base };
  }

  /**
   * A checkpoint that ends at `end` was published: it owns the files of its sets, and its base is the base now.
   * Nobody needs what it leaves out for good: sets below the base, and all from the end on when the writer is closed.
   */
  confirm(end: WriterEnd): void {
    const { registry } = this.#context;
    const base = end.base?.sequenceNumber ?? 0;
    this.#base = end.base ?? this.#base;
    if (end.isClosed === true) this.#endConfirmed = end.sequenceNumber;
    const to = end.isClosed === true ? Infinity : end.sequenceNumber;
    for (const { key, first, count } of this.#uploaded.takeBelow(to)) {
      const lastInCheckpoint = Math.min(first + count, end.sequenceNumber) - 1;
      if (lastInCheckpoint >= Math.max(first, base)) registry.stopTracking(key);
      registry.release(key, count);
    }
    for (const number of this.#marks.keys()) {
      if (number < this.#base.sequenceNumber) this.#marks.delete(number);
    }
  }

  truncate(to: number): void {
    this.#checkUsable();
    if (Number.isSafeInteger(to) && to >= 0 && to <= this.#nextBase.sequenceNumber) return;
    this.#nextBase = { sequenceNumber: to, offset: this.#offsetOf(to) };
  }

  truncateAndClose(from: number): void {
    this.#checkUsable();
    this.nextSequenceNumber();
    const nextOffset = this.#offsetOf(from);
    if (from < this.#nextBase.sequenceNumber) {
      throw new RangeError(
        `Cannot end writer ${this.id} at change set ${from}: it was truncated to ${this.#nextBase.sequenceNumber}`,
      );
    }
    const { id: writer, keyGroups } = this;
    const base = this.#base;
    const reason = writerIsClosed(this.id);
    const end = { writer, keyGroups, sequenceNumber: from, nextOffset, base, isClosed: true };
    this.#closedAt = { end, reason };
    this.#queue.dropFrom(from, reason);
  }

  /** Ends the writer where it stands, with the next published checkpoint; one that has ended stays as it is. */
  retire(): void {
    this.#context.checkUsable();
    if (this.#closedAt === undefined) this.truncateAndClose(this.nextSequenceNumber());
  }

  /** Where the writer goes on when its run ends and nothing is rewound: an end that was not published is none. */
  get resumedEnd(): WriterEnd {
    return { ...this.durableEnd, isClosed: this.#endConfirmed !== Number.POSITIVE_INFINITY };
  }

  /** Whether a recovery would still need change sets of these numbers. */
  needs({ first, last }: SetRange): boolean {
    return last >= this.#base.sequenceNumber && first < this.#endConfirmed;
  }

  /** Fails everything that waits, for good. */
  end(reason: Error): void {
    this.#queue.end(reason);
  }

  /** Hands every change set that waits or has failed to the scheduler, whoever waits for it. */
  upload(): void {
    this.#rollOver();
    this.#notUploadedBytes = 0;
    this.#queue.upload();
  }

  onDurable(set: ChangeSet, result: UploadResult): void {
    this.#uploaded.add(result);
    const hasLarge = set.byteLength >= REUSED_BYTES_MIN;
    if (hasLarge && this.#context.reusesMemory) giveBack(set.chunks);
    // Capacity goes before the owner is told, so that whoever is told can append.
    this.#context.throttle.uploadCompleted(set.byteLength);
  }

  onDropped(set: ChangeSet): void {
    this.#context.throttle.uploadCompleted(set.byteLength);
  }

  onLateLanding(result: UploadResult): void {
    this.#context.registry.release(result.key);
  }

  /** Hands everything over, and waits until it is durable; undefined when it is already. */
  #whenDurable(signal?: AbortSignal): Promise<void> | undefined {
    this.#checkUsable();
    signal?.throwIfAborted();
    this.upload();
    const upTo = this.#activeNumber;
    if (this.durableSequenceNumber < upTo) return this.#queue.whenDurable(upTo, signal);
    // Nothing was uploaded for this answer, so nobody has asked yet whether the job is still ours.
    this.#context.checkOwner();
    return undefined;
  }

  #checkUsable(): void {
    this.#context.checkUsable();
    if (this.#closedAt !== undefined) throw this.#closedAt.reason;
  }

  /** Refuses, in this order: what was truncated, what was not appended yet. */
  #checkPersist(from: number): void {
    this.#checkUsable();
    if (from >= 0 && from < this.#base.sequenceNumber) {
      throw new TidemarkError(
        "truncated",
        `Cannot persist writer ${this.id} from change set ${from}: it was truncated to ${this.#base.sequenceNumber}`,
        { details: { writer: this.id, from, base: this.#base.sequenceNumber } },
      );
    }
    if (!Number.isSafeInteger(from) || from < 0 || from > this.#activeNumber) {
      throw new RangeError(
        `Cannot persist writer ${this.id} from change set ${from}: the active one is ${this.#activeNumber}`,
      );
    }
  }

  /** Where the sets of `[from, next)` lie, in order; those that a published checkpoint owns are left out. */
  #segments(from: number, next: number): PersistedSegment[] {
    const segments = this.#uploaded.between(from, next, this.id);
    for (let i = 0; i < segments.length; i++) segments[i] = this.#withLiveCopy(segments[i]);
    return segments;
  }

  /** What is said of a local copy is true when it is said. */
  #withLiveCopy(segment: PersistedSegment): PersistedSegment {
    if (segment.localKey === undefined) return segment;
    const { localKey, ...main } = segment;
    return this.#context.hasLocalCopy(localKey) ? segment : main;
  }

  /** Offset of the first change of a set at which somebody rolled over. */
  #offsetOf(sequenceNumber: number): number {
    const offset = this.#marks.get(sequenceNumber);
    if (offset !== undefined) return offset;
    throw new RangeError(
      `Cannot truncate writer ${this.id} at change set ${sequenceNumber}: wants a number that nextSequenceNumber or a checkpoint of this run gave, from ${this.#base.sequenceNumber} to ${this.#activeNumber}`,
    );
  }

  /** Takes bytes in for the active change set, or for a new one when they would make it too large. */
  #admit(size: number): void {
    const { throttle } = this.#context;
    if (throttle.tryAdmit(size)) {
      if (this.#active.byteLength + size > CHANGE_SET_BYTES_MAX) this.#rollOver();
      return;
    }
    this.#context.metrics.refusedAppends.add();
    this.#context.relieve();
    throw new TidemarkError(
      "backpressure",
      `Cannot append ${size} bytes to writer ${this.id}: the job holds ${throttle.bytes} bytes that are not durable yet, of ${throttle.softBytes}; wait for availability and append again`,
      {
        details: {
          writer: this.id,
          bytes: size,
          heldBytes: throttle.bytes,
          limitBytes: throttle.softBytes,
        },
      },
    );
  }

  #appended(count: number, size: number): number {
    const offset = this.#nextOffset;
    this.#nextOffset += count;
    this.#notUploadedBytes += size;
    if (this.#notUploadedBytes >= this.#context.preemptivePersistBytes) {
      this.#context.metrics.preemptiveUploads.add();
      this.upload();
    } else if (!this.#context.throttle.isAvailable()) this.#context.relieve();
    return offset;
  }

  #rollOver(): void {
    if (this.#active.count === 0) return;
    const { id: writer, keyGroups } = this;
    const { epoch } = this.#context;
    const sequenceNumber = this.#activeNumber;
    this.#queue.add(this.#active.build({ writer, keyGroups, epoch, sequenceNumber }));
    this.#activeNumber += 1;
  }

  /** Checks that repeated changes are those that were appended; false when they can no longer be read. */
  async #compare(offset: number, changes: EncodedChanges): Promise<boolean> {
    const known = this.#history.compare(offset, changes);
    if (known === undefined && offset < this.#base.offset) return false;
    if (known ?? await this.#compareStored(offset, changes)) return true;
    throw new TidemarkError(
      "offset-conflict",
      `Cannot append to writer ${this.id} at offset ${offset}: other changes stand at ${offset} to ${
        offset + changes.count
      }; the source does not replay what it sent before`,
      { details: { writer: this.id, offset, count: changes.count } },
    );
  }

  async #compareStored(offset: number, changes: EncodedChanges): Promise<boolean> {
    await this.#whenDurable();
    let at = 0;
    for await (const bytes of this.#context.readStored(this.id, offset, offset + changes.count)) {
      const wanted = changes.bytes.subarray(at, at + bytes.length);
      if (wanted.length !== bytes.length) return false;
      for (let i = 0; i < bytes.length; i++) if (bytes[i] !== wanted[i]) return false;
      at += bytes.length;
    }
    return at === changes.bytes.length;
  }
}

function writerIsClosed(writer: string): TidemarkError {
  return new TidemarkError(
    "closed",
    `Writer ${writer} is closed: nothing is appended to it any more; use another writer`,
    { details: { writer } },
  );
}
