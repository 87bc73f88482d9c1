/** A whole job in one archive. @module */
import type { At } from "./at.ts";
import type { Progress } from "./report.ts";

/**
 * Options of {@link Store.exportJob}.
 *
 * @example
 * ```ts
 * import { type ExportJobOptions, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * await job.checkpoint();
 * const options: ExportJobOptions = { at: "latest" }; // this checkpoint alone
 * let bytes = 0;
 * for await (const piece of store.exportJob("orders", options)) bytes += piece.length;
 * console.assert(bytes > 0);
 * ```
 */
export interface ExportJobOptions {
  /**
   * What is exported: `tail` is every checkpoint and what was appended since; `latest` or a uuid is that checkpoint
   * alone, from which the imported job goes on. @default "tail"
   */
  at?: At;
  /** Stops it. @default never */
  signal?: AbortSignal;
  /** Told how many bytes of the archive are made, and how many it will have. @default nobody */
  onProgress?: (progress: Progress) => void;
}

/**
 * Options of {@link Store.importJob}.
 *
 * @example
 * ```ts
 * import { type ImportJobOptions, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * await store.job("orders");
 * const options: ImportJobOptions = { onProgress: ({ done, total }) => console.log(done, total) };
 * await store.importJob("copy", store.exportJob("orders"), options);
 * console.assert((await store.jobs()).join() === "copy,orders");
 * ```
 */
export interface ImportJobOptions {
  /** Stops it; nothing of the job is there then. @default never */
  signal?: AbortSignal;
  /** Told how many bytes of the archive are taken, and how many it has; then how many files are checked. @default nobody */
  onProgress?: (progress: Progress) => void;
}

/**
 * What was imported.
 *
 * @example
 * ```ts
 * import { type JobImport, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * const { uuid } = await job.checkpoint();
 * const imported: JobImport = await store.importJob("copy", store.exportJob("orders"));
 * console.assert(imported.head === uuid && imported.from.job === "orders");
 * ```
 */
export interface JobImport {
  /** The job's name here. */
  readonly job: string;
  /** Where the archive comes from. */
  readonly from: { readonly store: string; readonly job: string };
  /** Checkpoints that came along. */
  readonly checkpoints: number;
  /** Objects that were stored. */
  readonly objects: number;
  /** Bytes of them. */
  readonly bytes: number;
  /** The checkpoint that the job goes on from; null: none. */
  readonly head: string | null;
  /** The pipeline's run; resume it as after a restart. */
  readonly run: number;
}
