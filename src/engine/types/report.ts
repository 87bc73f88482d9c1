/** What the engine found. @module */

/**
 * Something that was found bad.
 *
 * @example
 * ```ts
 * import { openStore, type Problem } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * const tell = ({ key, from, to, reason }: Problem): void => {
 *   console.log(`${key}, bytes ${from ?? "?"} to ${to ?? "?"}: ${reason}`);
 * };
 * job.recovery.torn.forEach(tell);
 * (await job.verify()).problems.forEach(tell);
 * ```
 */
export interface Problem {
  /** The object's key. */
  readonly key: string;
  /** What is wrong with it, for people. */
  readonly reason: string;
  /** First byte of what is bad, where that is known. */
  readonly from?: number;
  /** First byte after what is bad, where that is known. */
  readonly to?: number;
}

/**
 * How far a long work is.
 *
 * @example
 * ```ts
 * import { openStore, type Progress } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * job.writer("totals").append(0, new Uint8Array([1]));
 * const seen: Progress[] = [];
 * await job.checkpoint({ onProgress: (progress) => seen.push(progress) });
 * console.assert(seen.map(({ phase }) => phase).join() === "persist,persist,publish");
 * ```
 */
export interface Progress {
  /**
   * What is being done: of a checkpoint `persist` (writers), then `publish`; of a collection or a deletion `delete`
   * (objects); of a verification `verify` (files); `export` and `import` (bytes of the archive).
   */
  readonly phase: "persist" | "publish" | "delete" | "verify" | "export" | "import";
  /** How many are done. */
  readonly done: number;
  /** How many there are. */
  readonly total: number;
}

/**
 * Changes of one writer, by their offsets.
 *
 * @example
 * ```ts
 * import { type OffsetRange, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * job.writer("totals").append(0, new Uint8Array([1]));
 * const dropped: readonly OffsetRange[] = (await job.resume()).dropped; // there is no checkpoint
 * console.assert(dropped[0].writer === "totals" && dropped[0].from === 0 && dropped[0].to === 1);
 * ```
 */
export interface OffsetRange {
  /** The writer's name. */
  readonly writer: string;
  /** Offset of the first of them. */
  readonly from: number;
  /** Offset after the last of them. */
  readonly to: number;
}

/**
 * Options of {@link JobReader.verify}.
 *
 * @example
 * ```ts
 * import { openStore, type VerifyOptions } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * const options: VerifyOptions = { level: "quick" };
 * console.assert((await job.verify(options)).ok);
 * ```
 */
export interface VerifyOptions {
  /**
   * `quick`: everything that is needed is there, with its size, and every manifest can be read. `full`: every
   * checksum, every change set, the continuity of every writer. @default "full"
   */
  readonly level?: "quick" | "full";
  /** Stops the reading. @default never */
  readonly signal?: AbortSignal;
  /** Told of every file that was looked at. @default nobody */
  readonly onProgress?: (progress: Progress) => void;
}

/**
 * What {@link JobReader.verify} answers.
 *
 * @example
 * ```ts
 * import { openStore, type VerifyReport } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * job.writer("totals").append(0, new Uint8Array([1]));
 * await job.checkpoint();
 * const report: VerifyReport = await job.verify();
 * console.assert(report.ok && report.checkpoints === 1 && report.changes === 1);
 * ```
 */
export interface VerifyReport {
  /** Whether there is no problem. */
  readonly ok: boolean;
  /** Checkpoints that were looked at. */
  readonly checkpoints: number;
  /** Change files that were read, each once. */
  readonly files: number;
  /** State objects that were read, each once. */
  readonly states: number;
  /** Bytes of all of them that were read. */
  readonly bytes: number;
  /** Changes in them. */
  readonly changes: number;
  /** What is bad. */
  readonly problems: readonly Problem[];
}

/**
 * What an open found and did.
 *
 * @example
 * ```ts
 * import { openStore, type RecoveryReport } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const first = await store.job("orders");
 * const totals = first.writer("totals");
 * totals.append(0, new Uint8Array([1]));
 * await totals.persist(); // and no checkpoint
 * await first.close();
 * const recovery: RecoveryReport = (await store.job("orders")).recovery;
 * console.assert(recovery.adoptedChanges === 1 && recovery.torn.length === 0);
 * ```
 */
export interface RecoveryReport {
  /** Change sets taken over from older epochs. */
  readonly adoptedSets: number;
  /** Changes in them. */
  readonly adoptedChanges: number;
  /** The same writer by writer: what was taken over beyond `head`. */
  readonly adopted: readonly OffsetRange[];
  /**
   * What was found, or told of, and is no part of the job any more: behind a gap that was never acknowledged, or given
   * up by `fallback`. Its files stay until a checkpoint was published.
   */
  readonly dropped: readonly OffsetRange[];
  /** Batches that were copied into a file of the new epoch, as what can be read need not be on disk. */
  readonly copiedBatches: number;
  /** Torn ends, with byte range and reason. None of it was ever acknowledged. */
  readonly torn: readonly Problem[];
  /** What was noticed besides, such as a lock of another machine. */
  readonly warnings: readonly string[];
}
