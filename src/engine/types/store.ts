/** Stores. @module */
import type { ExportJobOptions, ImportJobOptions, JobImport } from "./archive.ts";
import type { DeleteJobOptions, JobDeletion } from "./deletion.ts";
import type { Job, JobOptions, JobReader } from "./job.ts";
import type { StoreStatus } from "./status.ts";
import type { JobStanding } from "./standing.ts";
import type { SalvageOptions, SalvageReport } from "./salvage.ts";

/**
 * A store, open: a place with a marker, and the jobs in it.
 *
 * @example
 * ```ts
 * import { openStore, type Store } from "@tidemark/tidemark";
 *
 * await using store: Store = await openStore("memory:");
 * await store.job("orders");
 * console.assert(store.isNew && (await store.jobs()).join() === "orders");
 * ```
 */
export interface Store extends AsyncDisposable {
  /** Its uuid, which its marker gives. */
  readonly id: string;
  /** Where it is, for people: an absolute path, or `memory`. */
  readonly location: string;
  /** Whether this open made the store. */
  readonly isNew: boolean;
  /**
   * Looks whether the store is still where it was opened: reads its marker, and nothing else.
   *
   * @throws {TidemarkError} `store-not-found` when its marker is gone, or that of another store; `corrupt` when it
   * can't be read; `closed`, `storage-unavailable`, `storage-denied`
   */
  check(): Promise<void>;
  /**
   * How the store is, and the jobs that are open here: cheap enough to be asked every second.
   *
   * @returns What is known.
   * @throws {TidemarkError} `closed`
   */
  status(): Promise<StoreStatus>;
  /**
   * Lists the jobs in it.
   *
   * @returns Their names, sorted.
   * @throws {TidemarkError} `closed`, `storage-unavailable`, `storage-denied`
   */
  jobs(): Promise<string[]>;
  /**
   * Opens a job as its owner: takes a new epoch, which fences older owners, and recovers what they made durable. The
   * same job opened twice is the same object.
   *
   * @param id 1 to 128 of `A-Z a-z 0-9 . _ -`, neither starting nor ending with a dot.
   * @param options Fingerprint, and how to open. @default {}
   * @returns The job, ready to serve; `recovery` says what was found.
   * @throws {TidemarkError} `read-only` in a store opened for reading; `job-not-found` with `create: false`;
   * `job-busy` when a live process of this machine owns it; `settings-conflict` when it is open with another
   * fingerprint; `catalog-lost`, `changes-lost`, `corrupt` when what is there can't be relied on (nothing is touched
   * then); `fenced` when another owner was quicker; `invalid-name`, `unsupported-format`, `closed`; and what the
   * storage answered: `storage-full`, `storage-unavailable`, `storage-denied`.
   * @throws {TypeError} The fingerprint is no bigint.
   * @throws {RangeError} The fingerprint is not from 0 to 2^64 - 1.
   */
  job(id: string, options?: JobOptions): Promise<Job>;
  /**
   * Opens a job for reading, beside a running owner.
   *
   * @param id The job's name.
   * @returns The reader.
   * @throws {TidemarkError} `job-not-found`, `catalog-lost`, `invalid-name`, `unsupported-format`, `closed`,
   * `storage-unavailable`, `storage-denied`
   */
  reader(id: string): Promise<JobReader>;
  /**
   * Says where a job stands and who has it, without taking anything: works beside its owner.
   *
   * @param id The job's name.
   * @returns Epoch, run, head and owner, as they are in the store by then.
   * @throws {TidemarkError} `job-not-found`, `catalog-lost`, `invalid-name`, `unsupported-format`, `closed`,
   * `storage-unavailable`, `storage-denied`
   */
  standing(id: string): Promise<JobStanding>;
  /**
   * Brings back a job that can't be opened, or that can't be restored in part: makes its catalog anew from the newest
   * generation that can be read, or else from the manifests, with all that can be restored. What is gone is named, and
   * nothing is done before that plan is accepted by its `id`. Nothing is ever deleted by it. Without `accept` it only
   * reads, also in a store opened for reading. The job is closed afterwards: open it as usual.
   *
   * @param id The job's name.
   * @param options Which plan is accepted. @default {}
   * @returns What was found, and what would be done or was.
   * @throws {TidemarkError} `job-not-found`; `plan-changed` when what is found is not what was accepted (nothing was
   * done); `job-busy` when a live process of this machine owns it, this one included; `fenced` when another owner was
   * quicker; `read-only` when a plan is accepted in a store opened for reading; `unsupported-format`, `snapshot-expired`,
   * `invalid-name`, `closed`, `storage-full`, `storage-unavailable`, `storage-denied`
   * @throws The signal's reason.
   */
  salvage(id: string, options?: SalvageOptions): Promise<SalvageReport>;
  /**
   * Writes a job as one archive, beside whoever owns it: a tar file that `tar tf` lists, first `archive.json`, which says
   * what the job was, then every object as it is stored. Each is checked before it is given out, so that an archive
   * that ended is whole.
   *
   * @param id The job's name.
   * @param options What is exported, and when to stop. @default {}
   * @returns The archive, piece by piece; nothing is done before the first is asked for.
   * @throws {TidemarkError} When it is read: `job-not-found`, `checkpoint-not-found`; `corrupt`, `changes-lost`,
   * `catalog-lost` when the job can't be read whole; `snapshot-expired` when it was collected or deleted meanwhile;
   * `import-unfinished`, `invalid-name`, `unsupported-format`, `closed`, `storage-unavailable`, `storage-denied`
   * @throws The signal's reason.
   *
   * @example
   * ```ts
   * import { openStore } from "@tidemark/tidemark";
   *
   * await using store = await openStore("memory:");
   * await store.job("orders");
   * for await (const [first] of store.exportJob("orders")) {
   *   console.assert(first === "a".charCodeAt(0)); // of "archive.json"
   *   break;
   * }
   * ```
   */
  exportJob(id: string, options?: ExportJobOptions): AsyncIterable<Uint8Array>;
  /**
   * Makes a job from an archive, under a name that is free, here or in another store than it comes from: checkpoints
   * with their pins, states and metadata, what was appended since, writers, retention, fingerprint and run. Everything
   * is stored and checked before the job is there; when it fails, nothing of it is. After a crash in between the name
   * is `import-unfinished` until it is imported again, which begins anew, or deleted.
   *
   * @param id The job's name here.
   * @param bytes The archive, in pieces of any size.
   * @param options When to stop. @default {}
   * @returns What was imported.
   * @throws {TidemarkError} `job-exists`; `invalid-archive` when it is damaged, cut, or no archive of a job; `job-busy`
   * when a live process of this machine has the name; `fenced` when somebody else took it meanwhile; `read-only`,
   * `unsupported-format`, `invalid-name`, `closed`, `storage-full`, `storage-unavailable`, `storage-denied`. With outcome
   * `unknown` it may be there: look.
   * @throws What `bytes` throws, and the signal's reason.
   *
   * @example
   * ```ts
   * import { openStore } from "@tidemark/tidemark";
   *
   * await using store = await openStore("memory:");
   * const job = await store.job("orders");
   * job.writer("totals").append(0, new Uint8Array([1]));
   * await job.checkpoint({ identifier: "noon" });
   * await using backup = await openStore("memory:");
   * await backup.importJob("orders", store.exportJob("orders"));
   * console.assert((await (await backup.job("orders")).checkpoints())[0].identifier === "noon");
   * ```
   */
  importJob(
    id: string,
    bytes: AsyncIterable<Uint8Array>,
    options?: ImportJobOptions,
  ): Promise<JobImport>;
  /**
   * Deletes a job with everything that the engine made of it: changes, states, checkpoints, pinned ones too. What lies
   * in its `private/` stays, and so do the keys that fence its owners; a new job of that name begins empty, its epochs
   * and runs count on. A job that is open here is closed first: what was not acknowledged of it fails as `closed`.
   *
   * A crash leaves the job as it was, or deleted; what is left of it then goes when it is deleted again, or made anew.
   *
   * @param id The job's name.
   * @param options Whether it is taken from others, and when to stop. @default {}
   * @returns What was deleted.
   * @throws {TidemarkError} `job-not-found`, also when it was deleted before; `job-busy` when somebody reads it, or a live
   * process of this machine owns it (nothing was done); `catalog-lost` when its catalog can't be read: salvage it first;
   * `fenced` when another owner was quicker; `read-only`, `unsupported-format`, `invalid-name`, `closed`,
   * `storage-full`, `storage-unavailable`, `storage-denied`. With outcome `unknown` it may be deleted: repeat it.
   * @throws The signal's reason.
   *
   * @example
   * ```ts
   * import { openStore } from "@tidemark/tidemark";
   *
   * await using store = await openStore("memory:");
   * await store.job("orders");
   * await store.deleteJob("orders");
   * console.assert((await store.jobs()).length === 0);
   * ```
   */
  deleteJob(id: string, options?: DeleteJobOptions): Promise<JobDeletion>;
  /**
   * Closes every job, which makes everything durable, and lets go of the store. Idempotent.
   *
   * @throws {TidemarkError} What kept a job from making everything durable; with several an `AggregateError`. All is
   * let go of in any case.
   */
  close(): Promise<void>;
}
