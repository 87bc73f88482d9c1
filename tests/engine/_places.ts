/** Places where the processes of a test meet, one per backend. @module */
import type { StorageBackend } from "../../src/engine/storage/backend.ts";
import { ForgettingDisk } from "../doubles/forgetting_file_system.ts";
import { posixOn } from "../doubles/posix_on_double.ts";
import { newMemory } from "./_engine.ts";

/** Makes a place; each call of the answer gives its storage as a new process sees it. */
export const PLACES: Readonly<Record<string, () => () => StorageBackend>> = {
  memory: () => {
    const objects = newMemory();
    return () => objects;
  },
  disk: () => {
    const disk = new ForgettingDisk();
    return () => posixOn(disk);
  },
};
