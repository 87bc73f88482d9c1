/** How the disk and its cache do alone, so that what they cost can be told from what is measured. @module */
import { open, rm } from "node:fs/promises";
import { join } from "node:path";

const WRITE_BYTES = 16 * 1024;
const PAGE_BYTES = 4096;
const MIB = 1024 * 1024;
const CACHED_MIB = 64;

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

/**
 * Writes a new file, without a sync; answers what a page of 4 KiB took, in us. It is about one where there is memory for
 * the page cache, and ten in a virtual machine that has to ask its host for each page.
 */
export async function cachedPageUs(folder: string): Promise<number> {
  const path = join(folder, "pages");
  const file = await open(path, "w");
  try {
    const bytes = new Uint8Array(MIB).fill(1);
    const startMs = performance.now();
    for (let i = 0; i < CACHED_MIB; i++) await file.write(bytes);
    return (performance.now() - startMs) * 1000 / (CACHED_MIB * MIB / PAGE_BYTES);
  } finally {
    await file.close();
    await rm(path);
  }
}
