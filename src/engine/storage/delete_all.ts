/** Deletes many objects, together where the backend can. @module */
import { TidemarkError } from "../errors.ts";
import { checkKey } from "./_keys.ts";
import type { FailedDelete, StorageBackend } from "./backend.ts";

/** Deletes that run at once where the backend can't delete many together. */
const DELETES_AT_ONCE = 8;

/**
 * Deletes objects, durably.
 *
 * @param check Asked before each of them; what it throws ends the call, and the rest stays.
 * @returns Those that could not be deleted, with the reason.
 */
export async function deleteAll(
  backend: StorageBackend,
  keys: readonly string[],
  check: () => void,
): Promise<readonly FailedDelete[]> {
  if (backend.deleteMany !== undefined) return await backend.deleteMany(keys, check);
  const failed: FailedDelete[] = [];
  await inTurns(keys.map(checkKey), DELETES_AT_ONCE, async (key) => {
    check();
    try {
      await backend.delete(key);
    } catch (error) {
      if (!(error instanceof TidemarkError)) throw error;
      failed.push({ key, error });
    }
  });
  return failed;
}

/** Works through items, some at once; after a failure nothing more is begun, and what runs is waited for. */
export async function inTurns<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  let next = 0;
  const workThrough = async (): Promise<void> => {
    while (next < items.length) {
      try {
        await work(items[next++]);
      } catch (error) {
        next = items.length;
        throw error;
      }
    }
  };
  const results = await Promise.allSettled(Array.from({ length: atOnce }, workThrough));
  for (const result of results) if (result.status === "rejected") throw result.reason;
}
