/**
 * Temporary folders, and what is in a folder.
 * @module
 */
import { createHash } from "node:crypto";
import { lstat, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Gives a new folder to `use`; removes it when that succeeded, names it when it failed. */
export async function withTemporaryFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tidemark-crash-"));
  try {
    await use(folder);
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : error} (kept: ${folder})`, {
      cause: error,
    });
  }
  await rm(folder, { recursive: true });
}

/** Every entry below a folder and the folder itself: kind, size, time of change, hash of the content. */
export async function listFolder(folder: string): Promise<string[]> {
  const names = ["", ...(await readdir(folder, { recursive: true })).sort()];
  return await Promise.all(names.map(async (name) => {
    const path = join(folder, name);
    const info = await lstat(path, { bigint: true });
    if (!info.isFile()) return `${name}/ ${info.mtimeNs}`;
    const hash = createHash("sha256").update(await readFile(path)).digest("hex");
    return `${name} ${info.size} ${info.mtimeNs} ${hash}`;
  }));
}
