/**
 * Copies a batch to the log of the own epoch: what can be read need not be on disk.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { ChangeSet } from "../format/change_set.ts";
import { readBatchEndingAt, readSets } from "../format/change_file_reader.ts";
import type { StorageBackend } from "../storage/backend.ts";
import type { BatchPlace } from "../upload/batch_log.ts";
import type { ChangeFileLog } from "../upload/change_file_log.ts";
import { ChangeFileSource } from "./change_file_source.ts";
import type { UnprovenBatch } from "./tail.ts";

/**
 * Copies a batch, body unchanged, and makes the copy durable.
 *
 * @param onDurable Told where the copy is, before its file may end.
 */
export async function copyBatch(
  backend: StorageBackend,
  log: ChangeFileLog,
  batch: UnprovenBatch,
  onDurable?: (place: BatchPlace) => void,
): Promise<void> {
  const source = new ChangeFileSource(backend, batch.file.key, batch.end);
  const found = await readBatchEndingAt(source, batch.end);
  if (found.indexHash !== batch.indexHash) {
    throw new TidemarkError(
      "corrupt",
      `Cannot recover: the batch of ${batch.file.key} that ends at byte ${batch.end} changed while it was read`,
      { details: { key: batch.file.key, to: batch.end } },
    );
  }
  const chunks = found.sets.map((): Uint8Array[] => []);
  for await (const { entry, bytes } of readSets(source, found, found.sets)) {
    chunks[found.sets.indexOf(entry)].push(bytes.slice());
  }
  const sets = found.sets.map((entry, i): ChangeSet => ({ ...entry, chunks: chunks[i] }));
  await log.appendBatch(sets, { onDurable });
}
