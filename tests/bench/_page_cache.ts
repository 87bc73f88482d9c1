/**
 * Lets go of what the page cache has of files, so that it does not grow while something is measured: in a virtual
 * machine whose host gives memory when it is first touched, each new page of 4 KiB costs whoever writes some 10 us.
 * @module
 */
import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const SMALL_BYTES = 1024 * 1024;
let isWarned = false;

/** Asks the kernel to drop what it has of the large files below a folder, by posix_fadvise(2) through coreutils' `dd`. */
export function dropPageCache(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const path = join(folder, name);
    // The sidecar that is measured replaces small files all the time.
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat?.isFile() && stat.size >= SMALL_BYTES) drop(path);
  }
}

function drop(path: string): void {
  const args = [`if=${path}`, "iflag=nocache", "count=0", "status=none"];
  const { status, error, stderr } = spawnSync("dd", args, { encoding: "utf8" });
  if (status === 0 || isWarned) return;
  isWarned = true;
  console.warn(`Cannot keep the page cache from growing: ${error?.message ?? stderr}`);
}
