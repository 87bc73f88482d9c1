/** Folders that a command makes for a while, and removes with all that is in them. @module */
import { mkdir, mkdtemp, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";

/** A folder that goes when it is let go. */
export interface TemporaryFolder extends AsyncDisposable {
  readonly path: string;
}

/**
 * Makes a folder in `parent`, which is made where it is missing, and removed with it then.
 *
 * @param prefix How its name begins.
 * @throws What the file system says.
 */
export async function makeTemporaryFolder(
  parent: string,
  prefix: string,
): Promise<TemporaryFolder> {
  const made = await mkdir(parent, { recursive: true });
  const path = await mkdtemp(join(parent, prefix));
  return {
    path,
    async [Symbol.asyncDispose]() {
      await rm(path, { recursive: true, force: true });
      if (made !== undefined) await removeEmpty(parent);
    },
  };
}

/** Removes a folder, unless something has come into it. */
async function removeEmpty(path: string): Promise<void> {
  try {
    await rmdir(path);
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code !== "ENOTEMPTY" && code !== "EEXIST" && code !== "ENOENT") throw error;
  }
}
