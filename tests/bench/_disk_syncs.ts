/** How the disk alone does, so that its own stalls can be told from those of what is measured. @module */
import { open, rm } from "node:fs/promises";
import { join } from "node:path";

const WRITE_BYTES = 16 * 1024;

/** Appends and syncs, one after the other, for so long; answers what the longest sync took, in ms. */
export async function longestSyncMs(folder: string, seconds: number): Promise<number> {
  const path = join(folder, "syncs");
  const file = await open(path, "w");
  try {
    const bytes = new Uint8Array(WRITE_BYTES).fill(1);
    const endMs = performance.now() + seconds * 1000;
    let longest = 0;
    do {
      await file.write(bytes);
      const startMs = performance.now();
      await file.datasync();
      longest = Math.max(longest, performance.now() - startMs);
    } while (performance.now() < endMs);
    return longest;
  } finally {
    await file.close();
    await rm(path);
  }
}
