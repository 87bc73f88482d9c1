/**
 * What follows from a backend's primitives: the seed's other methods, as free functions.
 * Owns nothing. Absent is never the same as unreadable: only `object-not-found` counts as absent.
 * @module
 */
import { hasCode, TidemarkError } from "../errors.ts";
import type { GetOptions, PutOptions, StorageBackend } from "./backend.ts";

/** What the objects below a prefix take up. */
export interface Usage {
  /** Bytes of all objects. */
  readonly bytes: number;
  /** Count of objects. */
  readonly objects: number;
}

/** Whether the object is there. */
export async function exists(backend: StorageBackend, key: string): Promise<boolean> {
  return await backend.head(key) !== undefined;
}

/** Reads the object, or a part of it; undefined when there is none. An object that can't be read is an error. */
export async function readOptional(
  backend: StorageBackend,
  key: string,
  options?: GetOptions,
): Promise<Uint8Array | undefined> {
  try {
    return await backend.get(key, options);
  } catch (error) {
    if (hasCode(error, "object-not-found")) return undefined;
    throw error;
  }
}

/** Reads an object that holds JSON. @throws {TidemarkError} `object-not-found`, `corrupt` when it is no JSON */
export async function readJson(backend: StorageBackend, key: string): Promise<unknown> {
  const bytes = await backend.get(key);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new TidemarkError(
      "corrupt",
      `Cannot read ${JSON.stringify(key)}: its ${bytes.length} bytes are not JSON in UTF-8`,
      { details: { key, size: bytes.length }, cause },
    );
  }
}

/** Stores a value as JSON, durably, replacing any object of that key. @throws {TypeError} when JSON can't hold it */
export async function writeJson(
  backend: StorageBackend,
  key: string,
  value: unknown,
  options?: PutOptions,
): Promise<void> {
  const text = JSON.stringify(value);
  if (text === undefined) {
    throw new TypeError(`Cannot write ${JSON.stringify(key)}: JSON can't hold a ${typeof value}`);
  }
  await backend.put(key, new TextEncoder().encode(text), options);
}

/** Deletes the object; one that is not there is fine. */
export async function deleteIfExists(backend: StorageBackend, key: string): Promise<void> {
  await backend.delete(key);
}

/** Deletes every object below a prefix; answers how many there were. */
export async function deleteRecursive(backend: StorageBackend, prefix: string): Promise<number> {
  const keys: string[] = [];
  for await (const { key } of backend.list(prefix)) keys.push(key);
  let deleted = 0;
  for (const key of keys) if (await backend.delete(key)) deleted++;
  return deleted;
}

/** Adds up the objects below a prefix. */
export async function usage(backend: StorageBackend, prefix: string): Promise<Usage> {
  let bytes = 0;
  let objects = 0;
  for await (const { size } of backend.list(prefix)) {
    bytes += size;
    objects++;
  }
  return { bytes, objects };
}
