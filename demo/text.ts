/**
 * The demo's input: real text that is there on every machine after `npm ci`, in a fixed order.
 * @module
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** A text made of several files. */
export interface SampleText {
  readonly text: string;
  readonly files: number;
}

const IS_TEXT = /\.(?:md|d\.ts)$/;
const IS_GENERATED = /\.generated\.d\.ts$/;

/** Joins the `.md` and `.d.ts` files below a folder, in the order of their paths, up to `bytesMax`. */
export async function gatherText(folder: string, bytesMax: number): Promise<SampleText> {
  const paths = (await readdir(folder, { recursive: true }))
    .filter((path) => IS_TEXT.test(path) && !IS_GENERATED.test(path))
    .sort();
  const parts: string[] = [];
  let bytes = 0;
  for (const path of paths) {
    const part = await readFile(join(folder, path));
    bytes += part.byteLength + 1;
    if (bytes > bytesMax) break;
    parts.push(part.toString("utf8"));
  }
  return { text: parts.join("\n"), files: parts.length };
}
