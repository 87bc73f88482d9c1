/**
 * Makes an uploader over a backend, for those who use the upload system without a store.
 * Owns: that log, uploader and local copies are made together. Does not own: any of the parts.
 * @module
 */
import { JobKeys } from "../paths.ts";
import type { Ports } from "../port/ports.ts";
import type { StorageBackend } from "../storage/backend.ts";
import { newUuid } from "../uuid.ts";
import { UnownedLog } from "./_unowned_log.ts";
import { ChangeFileLog, type ChangeFileSettings } from "./change_file_log.ts";
import { DuplicatingStateChangeFsUploader } from "./duplicating_uploader.ts";
import { StateChangeFsUploader } from "./fs_uploader.ts";
import { LocalMirror } from "./local_mirror.ts";
import type { TaskChangelogRegistry } from "./task_changelog_registry.ts";
import { UploadMetrics } from "./upload_metrics.ts";
import type { StateChangeUploader } from "./uploader.ts";

/**
 * As whose change files are written: it stands in their names and headers.
 *
 * @example
 * ```ts
 * import type { UploadOwner } from "@tidemark/tidemark";
 *
 * let isFenced = false;
 * const owner: UploadOwner = {
 *   store: "01b8dac5-b400-748f-bf9e-67c476250cbf",
 *   epoch: 4,
 *   run: 2,
 *   check() {
 *     if (isFenced) throw new Error("Another process has the job");
 *   },
 * };
 * owner.check();
 * isFenced = true;
 * ```
 */
export interface UploadOwner {
  /** Uuid of the store. */
  readonly store: string;
  /** Counts the owners of the job, from 1. Two of the same epoch must never write at once. */
  readonly epoch: number;
  /** Counts how often the pipeline has begun, from 1. */
  readonly run: number;
  /** Throws when somebody else has the job now. Asked after a batch is durable, before anybody is told. */
  check(): void;
}

/**
 * Where a second copy of change files goes. Seed: `LocalRecoveryConfig`.
 *
 * Copies have the keys of their files. Who needs them, and for how long, is the caller's affair:
 * {@link LocalChangelogRegistry} counts that.
 *
 * @example
 * ```ts
 * import { type LocalRecoveryConfig, openBackend } from "@tidemark/tidemark";
 *
 * const localRecovery: LocalRecoveryConfig = { backend: openBackend("memory:") };
 * console.assert(localRecovery.backend.name === "memory");
 * ```
 */
export interface LocalRecoveryConfig {
  /** A place near by. Nothing is synced there, it may be lost, and one that hangs holds no upload up. */
  readonly backend: StorageBackend;
}

/**
 * What {@link uploaderFromConfig} makes an uploader of.
 *
 * @example
 * ```ts
 * import { openBackend, systemPorts, type UploaderComponents } from "@tidemark/tidemark";
 *
 * const components: UploaderComponents = { ...systemPorts(), backend: openBackend("memory:") };
 * console.assert(components.owner === undefined);
 * ```
 */
export interface UploaderComponents extends Ports {
  /** Where change files go, below `jobs/<job>/changelog/`. It stays open. */
  readonly backend: StorageBackend;
  /** Counts who still needs a file. @default nobody counts, and nothing is handed to be deleted */
  readonly registry?: TaskChangelogRegistry;
  /** Where a second copy goes. @default there is none */
  readonly localRecovery?: LocalRecoveryConfig;
  /**
   * As whose files are written. Left out, they are of nobody's: no store knows of them, so none may have the job. An
   * upload to a job that a store has is refused (`object-exists`), and a store that is asked for the job later refuses
   * it (`catalog-lost`) instead of collecting the files.
   *
   * @default a store id of its own, epoch 1, run 1
   */
  readonly owner?: UploadOwner;
}

/**
 * Makes the uploader that a job would have: a {@link StateChangeFsUploader} over change files, or a
 * {@link DuplicatingStateChangeFsUploader} where there is local recovery. `docs/FORMAT.md` says what is in a change
 * file; `tidemark inspect FILE` shows it, `lz4 -dc FILE` and any CBOR tool read it.
 *
 * @param jobId Name of the job: 1 to 128 of `A-Z a-z 0-9 . _ -`.
 * @param settings How change files are written.
 * @param components What it is made of.
 * @returns The uploader; closing it ends the open file.
 * @throws {TidemarkError} `invalid-name`
 *
 * @example
 * ```ts
 * import { DEFAULT_SETTINGS, openBackend, systemPorts, uploaderFromConfig, UploadTask } from "@tidemark/tidemark";
 *
 * const backend = openBackend("memory:");
 * const uploader = uploaderFromConfig("orders", DEFAULT_SETTINGS, { ...systemPorts(), backend });
 * const changes = new Uint8Array([130, 0, 65, 5]); // [0, h'05']
 * const changeSet = {
 *   writer: "totals",
 *   keyGroups: [0, 127] as const,
 *   epoch: 1,
 *   sequenceNumber: 0,
 *   firstOffset: 0,
 *   count: 1,
 *   keyGroupMin: 0,
 *   keyGroupMax: 0,
 *   byteLength: changes.length,
 *   chunks: [changes],
 * };
 * const task = new UploadTask([changeSet], () => {}, () => {});
 * const { successful } = await uploader.upload([task]);
 * const [{ key }] = successful.get(task)!;
 * console.assert((await backend.head(key))!.size > 0); // durable
 * await uploader.close();
 * ```
 */
export function uploaderFromConfig(
  jobId: string,
  settings: ChangeFileSettings,
  components: UploaderComponents,
): StateChangeUploader {
  const { backend, clock, logger, registry, localRecovery, owner } = components;
  const keys = new JobKeys(jobId);
  const metrics = new UploadMetrics(components.metrics, jobId);
  const local = localRecovery && new LocalMirror(
    { clock, logger, metrics, backend: localRecovery.backend },
  );
  const log = new ChangeFileLog({
    backend,
    keys,
    settings,
    store: owner?.store ?? newUuid(components),
    epoch: owner?.epoch ?? 1,
    run: owner?.run ?? 1,
    ports: components,
    followers: [registry, local].filter((follower) => follower !== undefined),
  });
  const batches = owner === undefined ? new UnownedLog(log, backend, keys) : log;
  const checkOwner = () => owner?.check();
  const main = new StateChangeFsUploader(batches, checkOwner, { clock, metrics, registry });
  return local === undefined ? main : duplicating(main, local);
}

/** Nobody else closes the copies. */
function duplicating(main: StateChangeFsUploader, local: LocalMirror): StateChangeUploader {
  const uploader = new DuplicatingStateChangeFsUploader(main, local);
  return {
    canOverlap: uploader.canOverlap,
    upload: (tasks, options) => uploader.upload(tasks, options),
    discard: (result) => uploader.discard(result),
    async close() {
      await uploader.close();
      await local.close();
    },
  };
}
