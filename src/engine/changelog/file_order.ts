/** The order of change files. @module */
import type { ChangeFileName } from "../paths.ts";

/** A place in the order of change files. */
export type FileOrder = Pick<ChangeFileName, "epoch" | "number">;

/** Orders change files by epoch, then by number. */
export function compareFiles(a: FileOrder, b: FileOrder): number {
  return a.epoch - b.epoch || a.number - b.number;
}
