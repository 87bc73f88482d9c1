/** Folders for tests, on the machine's real disk. @module */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder that goes when the test is done with it. */
export interface TemporaryFolder extends AsyncDisposable {
  readonly path: string;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Makes a new empty folder. */
export async function temporaryFolder(): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(tmpdir(), "tidemark-test-"));
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}
