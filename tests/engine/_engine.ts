/** Stores and jobs for tests of the engine, and what reads them back. @module */
import assert from "node:assert/strict";
import { type ErrorCode, hasCode, type TidemarkError } from "../../src/engine/errors.ts";
import { encodeChanges } from "../../src/engine/format/change_input.ts";
import { resolveSettings, type StoreSettings } from "../../src/engine/settings.ts";
import type { StorageBackend } from "../../src/engine/storage/backend.ts";
import { MemoryBackend } from "../../src/engine/storage/memory_backend.ts";
import { OpenStore, type StoreOpenOptions } from "../../src/engine/store.ts";
import type {
  EncodedChanges,
  Job,
  JobOptions,
  JobReader,
  RestoreOptions,
  RestoreTrailer,
} from "../../src/engine/types.ts";
import { FaultyBackend } from "../doubles/faulty_backend.ts";
import { ManualClock } from "../doubles/manual_clock.ts";
import { type Metrics, NO_METRICS } from "../../src/engine/port/metrics.ts";
import { RecordingLogger } from "../doubles/recording_logger.ts";
import { SeededRandom } from "../doubles/seeded_random.ts";

export const JOB = "orders";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function bytesOf(text: string): Uint8Array {
  return encoder.encode(text);
}

export function textOf(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** Encoded changes, all of key group 0. */
export function changesOf(...texts: string[]): EncodedChanges {
  return encodeChanges(texts.map((text) => ({ keyGroup: 0, data: bytesOf(text) })));
}

/** What stands for the process and its surroundings. */
export class Surroundings {
  readonly clock: ManualClock = new ManualClock();
  readonly random: SeededRandom;
  readonly logger: RecordingLogger = new RecordingLogger();
  readonly metrics: Metrics = NO_METRICS;

  constructor(seed = 1) {
    this.random = new SeededRandom(seed);
  }
}

/** Objects in memory, that outlive every store on them. */
export function newMemory(options: { bytesMax?: number } = {}): MemoryBackend {
  return new MemoryBackend({ clock: new ManualClock(), ...options });
}

/** A process with a store of its own on objects that it may share with others. */
export interface Engine {
  readonly store: OpenStore;
  readonly backend: FaultyBackend;
  readonly ports: Surroundings;
}

/** No test waits for time that nobody moves on. */
export const AT_ONCE: Partial<StoreSettings> = {
  persistDelayMs: 0,
  uploadRetryPolicy: "none",
  reserveBytes: 0,
};

let processes = 0;

/** Opens a store the way a new process does. */
export async function openEngine(
  objects: StorageBackend = newMemory(),
  settings: Partial<StoreSettings> = {},
  options: StoreOpenOptions = {},
): Promise<Engine> {
  const ports = new Surroundings(++processes);
  const backend = new FaultyBackend(objects);
  const resolved = resolveSettings({ ...AT_ONCE, ...settings });
  const store = await OpenStore.open(backend, resolved, ports, options);
  return { store, backend, ports };
}

/** An engine with a job open. */
export interface JobEngine extends Engine {
  readonly job: Job;
}

/** Opens a store and its job the way a new process does. */
export async function openJobOn(
  objects: StorageBackend = newMemory(),
  settings: Partial<StoreSettings> = {},
  options: JobOptions = {},
): Promise<JobEngine> {
  const engine = await openEngine(objects, settings);
  return { ...engine, job: await engine.store.job(JOB, options) };
}

/** Appends texts, each as a change. */
export function append(job: Job, writer: string, ...texts: string[]): void {
  for (const text of texts) job.writer(writer).append(0, bytesOf(text));
}

/** Appends texts and waits until they are durable. */
export async function appendDurably(job: Job, writer: string, ...texts: string[]): Promise<void> {
  append(job, writer, ...texts);
  await job.writer(writer).persist();
}

/** What a restore gave. */
export interface Restored {
  readonly changes: Readonly<Record<string, string[]>>;
  readonly trailer: RestoreTrailer;
}

/** Reads changes back, as texts. */
export async function restore(job: JobReader, options: RestoreOptions = {}): Promise<Restored> {
  const changes: Record<string, string[]> = {};
  const stream = job.restore(options);
  for await (const { writer, data } of stream) (changes[writer] ??= []).push(textOf(data));
  return { changes, trailer: await stream.trailer };
}

/** Reads one writer's changes back. */
export async function restoreWriter(
  job: JobReader,
  writer: string,
  at = "tail",
): Promise<string[]> {
  return (await restore(job, { at })).changes[writer] ?? [];
}

/** Keys of the objects below a prefix. */
export async function keysBelow(backend: StorageBackend, prefix = ""): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of backend.list(prefix)) keys.push(key);
  return keys;
}

/** Every object, with its bytes, in a form that can be compared. */
export async function imageOf(backend: StorageBackend): Promise<Record<string, string>> {
  const image: Record<string, string> = {};
  for (const key of await keysBelow(backend)) image[key] = String(await backend.get(key));
  return image;
}

/** What keys of change files look like. */
export const CHANGE_FILE = /\/changelog\//;
/** What keys of generations look like. */
export const GENERATION = /\/catalog\//;
/** What keys of manifests look like. */
export const MANIFEST = /\/checkpoints\//;

/** Keys of the change files, oldest first. */
export async function changeFiles(backend: StorageBackend): Promise<string[]> {
  return await keysBelow(backend, `jobs/${JOB}/changelog/`);
}

/** Replaces an object by what `change` makes of it. */
export async function rewrite(
  backend: StorageBackend,
  key: string,
  change: (bytes: Uint8Array) => Uint8Array,
): Promise<void> {
  await backend.put(key, change(await backend.get(key)));
}

/** Flips the lowest bit of one byte. */
export function flip(at: number): (bytes: Uint8Array) => Uint8Array {
  return (bytes) => {
    const changed = bytes.slice();
    changed[at] ^= 1;
    return changed;
  };
}

/** Waits for a rejection with this code, and answers it. */
export async function rejectsWith(
  action: Promise<unknown> | (() => Promise<unknown>),
  code: ErrorCode,
): Promise<TidemarkError> {
  let result;
  try {
    result = await (typeof action === "function" ? action() : action);
  } catch (error) {
    if (hasCode(error, code)) return error;
    throw error;
  }
  assert.fail(`Wanted a rejection with ${code}, got ${String(result)}`);
}

/** Calls what throws an error with this code, and answers it. */
export function throwsWith(action: () => unknown, code: ErrorCode): TidemarkError {
  try {
    action();
  } catch (error) {
    if (hasCode(error, code)) return error;
    throw error;
  }
  assert.fail(`Wanted an error with ${code}, got none`);
}

/** Whether a promise has settled by the time that everything at hand has run. */
export async function hasSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(() => settled = true, () => settled = true);
  await turn();
  return settled;
}

/** Lets everything run that waits for nothing but its turn. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
