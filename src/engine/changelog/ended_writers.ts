/**
 * Writers that have ended: when checkpoints list them no more, and when their names are free (DESIGN, *Append…*).
 * Owns: that no recovery can take what an ended writer left for the beginning of a new one, and that a name never
 * stands for two writers in one epoch. Does not own: ending a writer.
 * @module
 */
import { TidemarkError } from "../errors.ts";

/** What is asked of a writer. */
export interface EndingWriter {
  readonly id: string;
  /** Whether a published checkpoint says where it ends, and nothing of it is still being uploaded. */
  readonly hasEnded: boolean;
}

/** The ended writers of one epoch. */
export class EndedWriters {
  /** Per ended writer, the last file of this epoch that may hold a set of it. */
  readonly #lastFiles = new Map<string, number>();
  /** Writers that are listed no more, but of which files of this epoch hold sets. */
  readonly #gone = new Set<string>();
  readonly #hasCopies: boolean;

  /**
   * @param writers Those that the epoch begins with: what they left is of older epochs, and no part of its tail.
   * @param hasCopies Whether files of this epoch hold copies of what they left.
   */
  constructor(writers: Iterable<EndingWriter>, hasCopies: boolean) {
    this.#hasCopies = hasCopies;
    this.note(writers, 0);
  }

  /**
   * Notes which writers have ended by now.
   *
   * @param lastFile Number of the newest file of this epoch; 0 when there is none.
   */
  note(writers: Iterable<EndingWriter>, lastFile: number): void {
    for (const { id, hasEnded } of writers) {
      if (hasEnded && !this.#lastFiles.has(id)) this.#lastFiles.set(id, lastFile);
    }
  }

  /**
   * Writers that a checkpoint need not list. Those of which the tail may hold a set are not among them: a writer that
   * `head` lacks starts at 0, and recovery would take that set for a new one's.
   *
   * @param tailFrom Number of the file at which the checkpoint's tail begins.
   */
  leaving(tailFrom: number): Set<string> {
    const leaving = [...this.#lastFiles].filter(([, lastFile]) => lastFile < tailFrom);
    return new Set(leaving.map(([id]) => id));
  }

  /** Whether a writer that has ended must still be listed because of the file of this number. */
  isHeldBy(file: number): boolean {
    return [...this.#lastFiles.values()].includes(file);
  }

  /**
   * A checkpoint was published that does not list these.
   *
   * @returns Those that have not left before: of the others there may be a new one by now.
   */
  left(ids: Iterable<string>): string[] {
    const left = [...ids].filter((id) => this.#lastFiles.has(id));
    for (const id of left) {
      // Sets of one epoch in one place must be copies of each other.
      if (this.#lastFiles.get(id)! > 0 || this.#hasCopies) this.#gone.add(id);
      this.#lastFiles.delete(id);
    }
    return left;
  }

  /** @throws {TidemarkError} `closed`: a writer of this name had ended in this epoch. */
  checkFree(id: string): void {
    if (!this.#gone.has(id)) return;
    throw new TidemarkError(
      "closed",
      `Writer ${id} has ended: its name is free again once the job is resumed or opened again`,
      { details: { writer: id } },
    );
  }
}
