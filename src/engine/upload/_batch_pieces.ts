/**
 * A batch on its way through the encoder, piece by piece.
 * Owns: the piece that is made early, while the sync of the batch before runs; the codec of a thread.
 * Does not own: writing.
 * @module
 */
import type { Batch } from "../format/change_file.ts";
import type { ChangeFileEncoder } from "../format/change_file_encoder.ts";
import type { ChangeSet } from "../format/change_set.ts";
import { KIB } from "../limits.ts";
import type { LentCodec } from "../port/codec_thread.ts";

/** A piece, or the batch at the end. */
export type PieceStep<Piece = Uint8Array> = IteratorResult<Piece, Batch>;

/**
 * Bytes of a change set that is worth the way to another thread. A batch of many smaller ones costs a tenth more CPU
 * time there, and the requests that it came in keep this thread busy anyway.
 */
const THREAD_SET_BYTES_MIN = 256 * KIB;

/** Whether a batch with these sets goes to another thread. */
export function isWorthThread(sets: readonly ChangeSet[]): boolean {
  return sets.some(({ byteLength }) => byteLength >= THREAD_SET_BYTES_MIN);
}

/** The pieces of one batch. */
export class BatchPieces {
  readonly #sets: readonly ChangeSet[];
  readonly #encoder: ChangeFileEncoder;
  readonly #lent: LentCodec | undefined;
  readonly #pieces: Generator<Uint8Array | Promise<void>, Batch>;
  /** Gives what the first step came to; undefined once that was asked for. */
  #early: (() => PieceStep<Uint8Array | Promise<void>>) | undefined;
  #isDone = false;

  /** @param lent The codec of a thread, to be given back here. @default this thread encodes */
  constructor(encoder: ChangeFileEncoder, sets: readonly ChangeSet[], lent?: LentCodec) {
    this.#encoder = encoder;
    this.#sets = sets;
    this.#lent = lent;
    this.#pieces = lent === undefined ? encoder.batch(sets) : encoder.batchOnThread(sets, lent);
  }

  /** Whether another thread makes the pieces. */
  get isOnThread(): boolean {
    return this.#lent !== undefined;
  }

  /** Makes the first piece, or lets the thread begin with it. Idempotent; what it throws, the first {@link next} throws. */
  begin(): void {
    if (this.#early !== undefined) return;
    try {
      const step = this.#pieces.next();
      // Whoever asks for the piece hears of it, unless nobody does.
      if (step.value instanceof Promise) step.value.catch(() => undefined);
      this.#early = () => step;
    } catch (error) {
      this.#early = () => {
        throw error;
      };
    }
  }

  /** Whether it is a batch of these sets. */
  isOf(sets: readonly ChangeSet[]): boolean {
    return sets.length === this.#sets.length && sets.every((set, i) => set === this.#sets[i]);
  }

  /** The next piece, or the batch at the end. */
  async next(): Promise<PieceStep> {
    const early = this.#early;
    this.#early = undefined;
    let step = early === undefined ? this.#pieces.next() : early();
    for (; !step.done; step = this.#pieces.next()) {
      if (!(step.value instanceof Promise)) return { value: step.value };
      await step.value;
    }
    this.#isDone = true;
    return step;
  }

  /** Lets go of the memory of the pieces, which nobody may read any more. The file can't go on if one was given out. */
  leave(): void {
    if (!this.#isDone) this.#pieces.return(undefined as never);
    this.#lent?.release();
  }

  /** Takes a batch back of which no piece was given out: the file goes on as if it had never been begun. */
  withdraw(): void {
    this.leave();
    this.#encoder.withdraw();
  }
}
