/** What headers say of the files before them: how far each counts. @module */
import type { Predecessor } from "../format/change_file.ts";
import type { ChangeFileName } from "../paths.ts";

/** A file that a later header of its epoch names. */
export interface NamedFile {
  readonly name: ChangeFileName;
  /** Length up to which the file's syncs had returned. */
  readonly syncedLength: number;
  readonly namedBy: ChangeFileName;
}

/** What the headers of one epoch say of the files before them. */
export class Successors {
  readonly #named = new Map<number, NamedFile>();
  #hasWholeHeader = false;

  /** Whether any header was added. */
  get hasWholeHeader(): boolean {
    return this.#hasWholeHeader;
  }

  /** Takes in what a whole header names. */
  add(namedBy: ChangeFileName, predecessors: readonly Predecessor[]): void {
    this.#hasWholeHeader = true;
    for (const { number, uuid, syncedLength } of predecessors) {
      this.#named.set(number, { name: { ...namedBy, number, uuid }, syncedLength, namedBy });
    }
  }

  /** What is said of a file. */
  of(name: ChangeFileName): NamedFile | undefined {
    const named = this.#named.get(name.number);
    return named?.name.uuid === name.uuid ? named : undefined;
  }

  /** Every file that is named. */
  named(): Iterable<NamedFile> {
    return this.#named.values();
  }
}
