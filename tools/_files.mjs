/**
 * Finds files of the repository.
 * @module
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

const SKIPPED_FOLDERS = new Set([
  "node_modules",
  "dist",
  "reports",
  "tidemark-data",
  ".git",
  ".cache",
]);

/**
 * Lists the files below a folder, sorted, with paths from `root`.
 * @param {string} root
 * @param {string} folder path from `root`; "." is all
 * @param {(path: string) => boolean} accept
 * @returns {string[]}
 */
export function filesBelow(root, folder, accept) {
  /** @type {string[]} */
  const found = [];
  const walk = (/** @type {string} */ relative) => {
    for (const entry of readdirSync(join(root, relative), { withFileTypes: true })) {
      const path = relative === "." ? entry.name : `${relative}/${entry.name}`;
      if (entry.isDirectory()) {
        if (!SKIPPED_FOLDERS.has(entry.name)) walk(path);
      } else if (entry.isFile() && accept(path)) found.push(path);
    }
  };
  if (existsSync(join(root, folder))) walk(folder);
  return found.sort();
}
