/**
 * Which change sets a change file holds, from its batch indexes alone.
 * @module
 */
import { batchesBackwards, readHeader } from "../format/change_file_reader.ts";
import type { StorageBackend } from "../storage/backend.ts";
import type { SetRange } from "../upload/change_file_log.ts";
import { openChangeFile } from "./change_file_source.ts";
import type { NeededFile } from "./tail.ts";

/**
 * Reads the ranges of change sets in a file, by writer, up to where the file is needed.
 *
 * @param neededBy Who needs the file, for messages.
 * @throws {TidemarkError} `changes-lost`, `corrupt`; and what the storage answered.
 */
export async function readFileSets(
  backend: StorageBackend,
  { key, length }: NeededFile,
  neededBy: string,
): Promise<ReadonlyMap<string, SetRange>> {
  const file = await openChangeFile(backend, key, { length, neededBy });
  const sets = new Map<string, SetRange>();
  for await (const batch of batchesBackwards(file, length, await readHeader(file))) {
    for (const { writer, sequenceNumber } of batch.sets) {
      const { first, last } = sets.get(writer) ?? { first: sequenceNumber, last: sequenceNumber };
      sets.set(writer, {
        first: Math.min(first, sequenceNumber),
        last: Math.max(last, sequenceNumber),
      });
    }
  }
  return sets;
}
