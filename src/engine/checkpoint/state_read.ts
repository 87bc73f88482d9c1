/**
 * Reads state objects of checkpoints back.
 * Owns: that what is read is the very object that a manifest names. Does not own: which checkpoint, its being kept.
 * @module
 */
import { ChangeFileSource } from "../changelog/change_file_source.ts";
import type { RestoreSource } from "../changelog/restore_plan.ts";
import { TidemarkError } from "../errors.ts";
import type { ManifestBody, ManifestState } from "../format/manifest.ts";
import { readStateContent, readStateEnds } from "../format/state_reader.ts";
import type { StorageBackend } from "../storage/backend.ts";
import type { StateMetadata } from "../types.ts";
import { formatHash } from "../format/hash_text.ts";

/** What people are told of a state object. */
export function stateMetadata(state: ManifestState): StateMetadata {
  const { name, uuid, key, size, length, xxh64 } = state;
  return { name, uuid, key, size, storedBytes: length, xxh64 };
}

/** The error of a state that is not there. */
export function stateNotFound(
  message: string,
  details: Readonly<Record<string, unknown>>,
): TidemarkError {
  return new TidemarkError("state-not-found", message, { details });
}

/** Where a state is looked for. */
type StatesOf = Pick<RestoreSource, "states" | "neededBy" | "job">;

/** The states that a manifest names. */
export function statesOfManifest({ states, uuid, job }: ManifestBody): StatesOf {
  return { states, neededBy: `checkpoint ${uuid}`, job };
}

/** Finds a state of a checkpoint. @throws {TidemarkError} `state-not-found` */
export function findState({ states = [], neededBy, job }: StatesOf, name: string): ManifestState {
  const state = states.find((one) => one.name === name);
  if (state !== undefined) return state;
  throw stateNotFound(
    `Cannot find state ${name}: ${neededBy} of job ${job} has none of this name; show it to see which it has`,
    { job, name },
  );
}

/**
 * Checks that an object is there, and as long as it should be.
 *
 * @throws {TidemarkError} `changes-lost`, `corrupt`
 */
export async function checkStatePresence(
  backend: StorageBackend,
  { key, name, length }: ManifestState,
): Promise<void> {
  const info = await backend.head(key);
  if (info?.size === length) return;
  const found = info === undefined ? "it is missing" : `it has ${info.size} bytes`;
  throw new TidemarkError(
    info !== undefined && info.size > length ? "corrupt" : "changes-lost",
    `Cannot read ${key}, state ${name} of ${length} bytes: ${found}; restore it from a backup, or use a checkpoint that does not need it`,
    { details: { key, length, size: info?.size } },
  );
}

/**
 * Reads a state object, every byte of it checked before the end.
 *
 * @throws {TidemarkError} `changes-lost`, `corrupt`, `unsupported-format`
 * @throws The signal's reason.
 */
export async function* readStateObject(
  backend: StorageBackend,
  state: ManifestState,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  await checkStatePresence(backend, state);
  const source = new ChangeFileSource(backend, state.key, state.length, signal);
  const { header, index } = await readStateEnds(source);
  const found = { ...header, size: index.size, xxh64: formatHash(index.contentHash) };
  for (const what of ["store", "job", "name", "epoch", "uuid", "size", "xxh64"] as const) {
    if (found[what] === state[what]) continue;
    throw new TidemarkError(
      "corrupt",
      `Cannot use ${state.key}: its ${what} is ${found[what]}, its checkpoint says ${state[what]}`,
      { details: { key: state.key, what, found: found[what], wanted: state[what] } },
    );
  }
  for await (const piece of readStateContent(source, index)) {
    signal?.throwIfAborted();
    yield piece;
  }
}

/**
 * Reads a state of a checkpoint, and keeps the checkpoint's objects until that has ended.
 *
 * @param open Finds the checkpoint, when the iteration begins.
 */
export async function* readStateOf(
  backend: StorageBackend,
  name: string,
  open: () => Promise<RestoreSource>,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  signal?.throwIfAborted();
  const source = await open();
  try {
    for await (const piece of readStateObject(backend, findState(source, name), signal)) {
      source.check?.();
      yield piece;
    }
  } catch (error) {
    // Why a read was stopped says more than where.
    signal?.throwIfAborted();
    throw await source.explain?.(error) ?? error;
  } finally {
    await source.release?.();
  }
}
