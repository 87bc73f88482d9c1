/**
 * One ordered changelog. Seed: `ChangelogWriter`.
 * Owns: offsets, sequence numbers, which change sets are durable, failed ones and their retry.
 * Does not own: batching, files, checkpoints, the run's life.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import { encodedChangeBytes } from "../format/change.ts";
import type { ChangeSet } from "../format/change_set.ts";
import { BATCH_BODY_BYTES_MAX, MIB } from "../limits.ts";
import type {
  AppendAtOptions,
  AppendResult,
  EncodedChanges,
  KeyGroupRange,
  PersistResult,
  Writer,
  WriterPosition,
} from "../types.ts";
import { UploadTask } from "../upload/upload_task.ts";
import { checkEncodedKeyGroups, checkKeyGroup } from "./_key_groups.ts";
import { AppendHistory } from "./append_history.ts";
import { ChangeSetBuilder } from "./change_set_builder.ts";
import type { WriterContext } from "./writer_context.ts";

/** Leaves room for what a batch adds to a set. */
const APPEND_BYTES_MAX = BATCH_BODY_BYTES_MAX - MIB;

interface PendingSet {
  readonly set: ChangeSet;
  status: "waiting" | "uploading" | "failed";
}

interface Waiter {
  /** Waits until every change set below it is durable. */
  readonly upTo: number;
  resolve(): void;
  reject(error: Error): void;
}

/** A writer within one run of its job. */
export class ChangelogWriter implements Writer {
  readonly id: string;
  readonly keyGroups: KeyGroupRange;
  readonly #context: WriterContext;
  readonly #history = new AppendHistory();
  /** Rolled-over sets that are not known to be durable, by sequence number, in order. */
  readonly #pending = new Map<number, PendingSet>();
  #active: ChangeSetBuilder;
  #activeNumber: number;
  #nextOffset: number;
  #waiters: Waiter[] = [];
  #notUploadedBytes = 0;

  constructor(
    id: string,
    keyGroups: KeyGroupRange,
    start: { readonly sequenceNumber: number; readonly nextOffset: number },
    context: WriterContext,
  ) {
    this.id = id;
    this.keyGroups = keyGroups;
    this.#context = context;
    this.#activeNumber = start.sequenceNumber;
    this.#nextOffset = start.nextOffset;
    this.#active = new ChangeSetBuilder(start.nextOffset);
  }

  get nextOffset(): number {
    return this.#nextOffset;
  }

  get durableOffset(): number {
    for (const { set } of this.#pending.values()) return set.firstOffset;
    return this.#active.firstOffset;
  }

  /** Every change set below it is durable. */
  get durableSequenceNumber(): number {
    for (const sequenceNumber of this.#pending.keys()) return sequenceNumber;
    return this.#activeNumber;
  }

  /** How the writer stands. */
  get position(): WriterPosition {
    const { id, keyGroups, nextOffset, durableOffset } = this;
    return { writer: id, keyGroups, nextOffset, durableOffset, sequenceNumber: this.#activeNumber };
  }

  append(keyGroup: number, data: Uint8Array): number {
    this.#context.checkUsable();
    checkKeyGroup(this, keyGroup);
    if (data.length > this.#context.changeBytesMax) {
      throw new TidemarkError(
        "change-too-large",
        `Cannot append to writer ${this.id}: the change has ${data.length} bytes of at most ${this.#context.changeBytesMax}; split it`,
        {
          details: { writer: this.id, bytes: data.length, bytesMax: this.#context.changeBytesMax },
        },
      );
    }
    const size = encodedChangeBytes(keyGroup, data.length);
    this.#admit(size);
    this.#active.append(keyGroup, data);
    return this.#appended(1, size);
  }

  appendMeta(data: Uint8Array): number {
    return this.append(-1, data);
  }

  appendEncoded(changes: EncodedChanges): number {
    this.#context.checkUsable();
    if (changes.count === 0) return this.#nextOffset;
    checkEncodedKeyGroups(this, changes);
    const size = changes.bytes.length;
    if (size > APPEND_BYTES_MAX) {
      throw new TidemarkError(
        "change-too-large",
        `Cannot append to writer ${this.id}: ${size} bytes at once of at most ${APPEND_BYTES_MAX}; append in pieces`,
        { details: { writer: this.id, bytes: size, bytesMax: APPEND_BYTES_MAX } },
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
    this.#context.checkUsable();
    this.#context.checkRun(options.run, { required: expected !== undefined });
    const offset = expected ?? this.#nextOffset;
    if (offset === this.#nextOffset) {
      this.appendEncoded(changes);
      this.#history.add(offset, changes);
    } else if (offset + changes.count <= this.#nextOffset) {
      await this.#compare(offset, changes);
    } else {
      throw new TidemarkError(
        "offset-mismatch",
        `Cannot append to writer ${this.id} at offset ${offset}: the next offset is ${this.#nextOffset}; send what follows from there`,
        { details: { writer: this.id, offset, expectedOffset: this.#nextOffset } },
      );
    }
    const sequenceNumber = this.#activeNumber;
    if (ack === "durable") await this.#waitUntilDurable(options.signal);
    return { offset, nextOffset: offset + changes.count, sequenceNumber, ack };
  }

  async persist(from: number = this.durableSequenceNumber): Promise<PersistResult> {
    if (!Number.isSafeInteger(from) || from < 0 || from > this.#activeNumber) {
      throw new RangeError(
        `Cannot persist writer ${this.id} from change set ${from}: the active one is ${this.#activeNumber}`,
      );
    }
    await this.#waitUntilDurable();
    const next = this.#activeNumber;
    return { from, next, durableOffset: this.durableOffset };
  }

  nextSequenceNumber(): number {
    this.#context.checkUsable();
    this.#rollOver();
    return this.#activeNumber;
  }

  /** Fails everything that waits, for good. */
  end(reason: Error): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) waiter.reject(reason);
  }

  /** Hands every change set that waits or has failed to the scheduler, whoever waits for it. */
  upload(): void {
    this.#rollOver();
    const sets: ChangeSet[] = [];
    for (const pending of this.#pending.values()) {
      if (pending.status === "uploading") continue;
      pending.status = "uploading";
      sets.push(pending.set);
    }
    this.#notUploadedBytes = 0;
    if (sets.length === 0) return;
    this.#context.scheduler.upload(
      new UploadTask(
        sets,
        (results) => this.#uploaded(results.map((result) => result.sequenceNumber)),
        (sequenceNumbers, error) => this.#failed(sequenceNumbers, error),
      ),
    );
  }

  async #waitUntilDurable(signal?: AbortSignal): Promise<void> {
    this.#context.checkUsable();
    signal?.throwIfAborted();
    this.upload();
    const upTo = this.#activeNumber;
    if (this.durableSequenceNumber >= upTo) {
      // Nothing was uploaded for this answer, so nobody has asked yet whether the job is still ours.
      this.#context.checkOwner();
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const waiter = { upTo, resolve, reject };
      this.#waiters.push(waiter);
      signal?.addEventListener("abort", () => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        reject(signal.reason);
      }, { once: true });
    });
  }

  #admit(size: number): void {
    const { throttle } = this.#context;
    if (throttle.tryAdmit(size)) return;
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
    if (this.#notUploadedBytes >= this.#context.preemptivePersistBytes) this.upload();
    else if (!this.#context.throttle.isAvailable()) this.#context.relieve();
    return offset;
  }

  #rollOver(): void {
    if (this.#active.count === 0) return;
    const { id, keyGroups } = this;
    const sequenceNumber = this.#activeNumber;
    const { epoch } = this.#context;
    const set = this.#active.build({ writer: id, keyGroups, epoch, sequenceNumber });
    this.#pending.set(sequenceNumber, { set, status: "waiting" });
    this.#activeNumber += 1;
    this.#active = new ChangeSetBuilder(this.#nextOffset);
  }

  #uploaded(sequenceNumbers: readonly number[]): void {
    for (const sequenceNumber of sequenceNumbers) {
      const pending = this.#pending.get(sequenceNumber);
      if (pending === undefined) continue;
      this.#pending.delete(sequenceNumber);
      // Capacity goes before the owner is told, so that whoever is told can append.
      this.#context.throttle.uploadCompleted(pending.set.byteLength);
    }
    const durable = this.durableSequenceNumber;
    const done = this.#waiters.filter((waiter) => waiter.upTo <= durable);
    this.#waiters = this.#waiters.filter((waiter) => waiter.upTo > durable);
    for (const waiter of done) waiter.resolve();
  }

  #failed(sequenceNumbers: readonly number[], error: Error): void {
    let lowest = Number.MAX_SAFE_INTEGER;
    for (const sequenceNumber of sequenceNumbers) {
      const pending = this.#pending.get(sequenceNumber);
      if (pending === undefined) continue;
      pending.status = "failed";
      lowest = Math.min(lowest, sequenceNumber);
    }
    const failed = this.#waiters.filter((waiter) => waiter.upTo > lowest);
    this.#waiters = this.#waiters.filter((waiter) => waiter.upTo <= lowest);
    for (const waiter of failed) waiter.reject(error);
  }

  /** Checks that repeated changes are those that were appended. */
  async #compare(offset: number, changes: EncodedChanges): Promise<void> {
    const known = this.#history.compare(offset, changes);
    if (known ?? await this.#compareStored(offset, changes)) return;
    throw new TidemarkError(
      "offset-conflict",
      `Cannot append to writer ${this.id} at offset ${offset}: other changes stand at ${offset} to ${
        offset + changes.count
      }; the source does not replay what it sent before`,
      { details: { writer: this.id, offset, count: changes.count } },
    );
  }

  async #compareStored(offset: number, changes: EncodedChanges): Promise<boolean> {
    await this.#waitUntilDurable();
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
