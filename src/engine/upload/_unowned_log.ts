/**
 * A log of change files that no store's catalog knows of.
 * Owns: that it does not write where a store has the job. Does not own: batches, files.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { ChangeSet } from "../format/change_set.ts";
import type { JobKeys } from "../paths.ts";
import type { StorageBackend } from "../storage/backend.ts";
import type { AppendBatchOptions, BatchLog, BatchPlace } from "./batch_log.ts";

/** Checks the place before its first batch. */
export class UnownedLog implements BatchLog {
  readonly #log: BatchLog;
  readonly #backend: StorageBackend;
  readonly #keys: JobKeys;
  #checked: Promise<void> | undefined;

  constructor(log: BatchLog, backend: StorageBackend, keys: JobKeys) {
    this.#log = log;
    this.#backend = backend;
    this.#keys = keys;
  }

  async appendBatch(
    sets: readonly ChangeSet[],
    options?: AppendBatchOptions,
  ): Promise<BatchPlace> {
    await (this.#checked ??= this.#check().catch((error) => {
      this.#checked = undefined;
      throw error;
    }));
    return await this.#log.appendBatch(sets, options);
  }

  seal(): Promise<void> {
    return this.#log.seal();
  }

  async #check(): Promise<void> {
    await this.#backend.prepare({ create: true });
    const { job, catalogPrefix } = this.#keys;
    for await (const { key } of this.#backend.list(catalogPrefix)) {
      throw new TidemarkError(
        "object-exists",
        `Cannot write change files of job ${job} to ${this.#backend.location}: a store has that job (${key}), and would collect them; open it by openStore, or use another job id or place`,
        { details: { job, location: this.#backend.location, found: key } },
      );
    }
  }
}
