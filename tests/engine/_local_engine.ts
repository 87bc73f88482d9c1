/** Stores with local copies: a main place, a local one, and the files at both. @module */
import { resolveSettings, type StoreSettings } from "../../src/engine/settings.ts";
import type { StorageBackend } from "../../src/engine/storage/backend.ts";
import { OpenStore } from "../../src/engine/store.ts";
import type { Job } from "../../src/engine/types.ts";
import { FaultyBackend } from "../doubles/faulty_backend.ts";
import { RecordingMetrics } from "../doubles/recording_metrics.ts";
import { AT_ONCE, changeFiles, JOB, newMemory, Surroundings, turn } from "./_engine.ts";

/** What outlives a process. */
export interface Places {
  readonly main: StorageBackend;
  readonly local: StorageBackend;
}

/** A process with a job open, and local copies. */
export interface LocalEngine {
  readonly store: OpenStore;
  readonly job: Job;
  readonly main: FaultyBackend;
  readonly local: FaultyBackend;
  readonly ports: Surroundings & { readonly metrics: RecordingMetrics };
  /** Restores that left a local copy. */
  fallbacks(): number;
}

export function newPlaces(): Places {
  return { main: newMemory(), local: newMemory() };
}

let processes = 1000;

/** Opens a store the way a new process does. */
export async function openLocalStore(
  places: Places,
  settings: Partial<StoreSettings> = {},
): Promise<Omit<LocalEngine, "job">> {
  const ports = Object.assign(new Surroundings(++processes), { metrics: new RecordingMetrics() });
  const main = new FaultyBackend(places.main);
  const local = new FaultyBackend(places.local);
  const resolved = resolveSettings({ ...AT_ONCE, ...settings });
  const store = await OpenStore.open(main, resolved, ports, { local });
  const fallbacks = () => ports.metrics.count("tidemark_local_copy_fallbacks_total");
  return { store, main, local, ports, fallbacks };
}

/** Opens a store and its job the way a new process does. */
export async function openLocalJob(
  places: Places = newPlaces(),
  settings: Partial<StoreSettings> = {},
): Promise<LocalEngine> {
  const engine = await openLocalStore(places, settings);
  return { ...engine, job: await engine.store.job(JOB) };
}

/** Keys of the local copies, oldest first, once all that is under way is done. */
export async function copies(places: Pick<Places, "local">): Promise<string[]> {
  await turn();
  return await changeFiles(places.local);
}

/** Change files that were read at a place since a call of its log. */
export function filesRead(backend: FaultyBackend, since = 0): string[] {
  const gets = backend.log.slice(since).filter(({ kind }) => kind === "get");
  return [...new Set(gets.map(({ key }) => key).filter((key) => key.includes("/changelog/")))];
}
