/**
 * A batch on its way through the encoder, piece by piece.
 * Owns: the piece that is made early, while the sync of the batch before runs. Does not own: writing.
 * @module
 */
import type { Batch } from "../format/change_file.ts";
import type { ChangeFileEncoder } from "../format/change_file_encoder.ts";
import type { ChangeSet } from "../format/change_set.ts";

type Step = IteratorResult<Uint8Array, Batch>;

/** The pieces of one batch. */
export class BatchPieces {
  readonly #sets: readonly ChangeSet[];
  readonly #encoder: ChangeFileEncoder;
  readonly #pieces: Generator<Uint8Array, Batch>;
  /** Gives what the first step came to; undefined once that was asked for. */
  #early: (() => Step) | undefined;
  #isDone = false;

  constructor(encoder: ChangeFileEncoder, sets: readonly ChangeSet[]) {
    this.#encoder = encoder;
    this.#sets = sets;
    this.#pieces = encoder.batch(sets);
  }

  /** Makes the first piece. What that throws, the first {@link next} throws. */
  begin(): void {
    try {
      const step = this.#pieces.next();
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
  next(): Step {
    const early = this.#early;
    this.#early = undefined;
    const step = early === undefined ? this.#pieces.next() : early();
    this.#isDone = step.done === true;
    return step;
  }

  /** Lets go of the encoder's memory, which nobody may read any more. The file can't go on if a piece was given out. */
  leave(): void {
    if (!this.#isDone) this.#pieces.return(undefined as never);
  }

  /** Takes a batch back of which no piece was given out: the file goes on as if it had never been begun. */
  withdraw(): void {
    this.leave();
    this.#encoder.withdraw();
  }
}
