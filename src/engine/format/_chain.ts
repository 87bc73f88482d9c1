/** What ties batches to their file and to each other: each index names the one before it. @module */
import { sameBytes } from "./_bytes.ts";
import { IndexPlaces } from "./_index_places.ts";
import { Malformed } from "./_malformed.ts";
import { wantSame } from "./_want.ts";
import type { Batch, FileIndex, HeaderFrame } from "./change_file.ts";

/** The batches of a file, from the first on. */
export class Chain {
  readonly #file: HeaderFrame;
  readonly #places = new IndexPlaces();
  #end: number;
  #hash: bigint;

  constructor(file: HeaderFrame) {
    this.#file = file;
    this.#end = file.length;
    this.#hash = file.hash;
  }

  /** Batches so far. */
  get count(): number {
    return this.#places.count;
  }

  /**
   * Takes the next batch.
   *
   * @throws {Malformed} It does not belong there.
   */
  follow(batch: Batch): void {
    wantOfFile(batch, this.#file);
    wantSame("batch number", batch.number, this.count);
    wantSame("position", batch.position, this.#end);
    wantSame("hash of the index before", batch.previousHash, this.#hash);
    this.#places.add(batch);
    this.#end = batch.end;
    this.#hash = batch.indexHash;
  }

  /**
   * Checks the frame that ends the file.
   *
   * @throws {Malformed} It does not end this one.
   */
  finish(index: FileIndex): void {
    wantSame("file uuid", index.uuid, this.#file.header.uuid);
    wantSame("epoch", index.epoch, this.#file.header.epoch);
    wantSame("hash of the last index", index.lastHash, this.#hash);
    if (!sameBytes(index.places, this.#places.bytes)) {
      throw new Malformed("its list of indexes is not that of the batches before it");
    }
  }
}

/**
 * Checks that a batch says it is of this file.
 *
 * @throws {Malformed}
 */
export function wantOfFile(batch: Batch, file: HeaderFrame): void {
  wantSame("file uuid", batch.uuid, file.header.uuid);
  wantSame("epoch", batch.epoch, file.header.epoch);
}
