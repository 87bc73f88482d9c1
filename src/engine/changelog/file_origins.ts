/** Whose change files are: those that were imported keep the store and the job of their header. @module */
import type { FileOrigin } from "./tail.ts";

/** What names a file, and says whose it is, unless it is the job's own. */
interface NamedFile {
  readonly key: string;
  readonly store?: string;
  readonly job?: string;
}

/** Files that are not the job's own, by key. */
export function originsOf(files: Iterable<NamedFile>, home: FileOrigin): Map<string, FileOrigin> {
  const origins = new Map<string, FileOrigin>();
  for (const { key, store = home.store, job = home.job } of files) {
    if (store !== home.store || job !== home.job) origins.set(key, { store, job });
  }
  return origins;
}
