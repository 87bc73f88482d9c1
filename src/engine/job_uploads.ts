/**
 * What an epoch of a job writes its change files with.
 * Owns: that the log, and who follows it, are made together. Does not own: when anything is written.
 * @module
 */
import { copyBatch } from "./changelog/batch_copy.ts";
import type { NeededFile, Tail } from "./changelog/tail.ts";
import type { JobPlace } from "./checkpoint/catalog_read.ts";
import { withLogFields } from "./log_fields.ts";
import type { CodecThread } from "./port/codec_thread.ts";
import type { Ports } from "./port/ports.ts";
import type { StoreSettings } from "./settings.ts";
import { ChangeFileLog } from "./upload/change_file_log.ts";
import type { Deleter } from "./upload/deleter.ts";
import type { LocalRecovery } from "./upload/local_recovery.ts";
import { TaskChangelogRegistry } from "./upload/task_changelog_registry.ts";
import { UploadMetrics } from "./upload/upload_metrics.ts";

/** What {@link beginUploads} needs. */
export interface JobUploadsOptions {
  readonly place: JobPlace;
  readonly epoch: number;
  readonly run: number;
  readonly settings: StoreSettings;
  readonly ports: Ports;
  /** Makes local copies. @default none are made */
  readonly local?: LocalRecovery;
  /** What large batches are encoded on. @default this thread */
  readonly codecThread?: CodecThread;
}

/** The files of one epoch, and who needs them. */
export interface JobUploads {
  readonly log: ChangeFileLog;
  readonly registry: TaskChangelogRegistry;
  readonly metrics: UploadMetrics;
  readonly local: LocalRecovery | undefined;
}

/** Begins an epoch's files. Nothing is written before the first batch. */
export function beginUploads(options: JobUploadsOptions): JobUploads {
  const { place, epoch, run, settings, local, codecThread } = options;
  const ports = withLogFields(options.ports, { epoch });
  // The collection finds by itself what nobody needs any more.
  const deleter: Deleter = {
    discard(keys) {
      log.forget(keys);
      ports.logger.log("debug", "Nobody needs these files", { keys });
      local?.discard(keys);
    },
  };
  const registry = new TaskChangelogRegistry(deleter);
  const metrics = new UploadMetrics(ports.metrics, place.keys.job);
  const { backend, keys, store } = place;
  const followers = local === undefined ? [registry] : [registry, local];
  const log = new ChangeFileLog({
    backend,
    keys,
    store,
    epoch,
    run,
    settings,
    ports,
    codecThread,
    followers,
  });
  return { log, registry, metrics, local };
}

/**
 * Copies what can be read of a tail and need not be on disk to files of this epoch.
 *
 * @returns The copies; `release` is called once a generation names them.
 */
export async function copyUnproven(
  { backend, keys, room }: JobPlace,
  { log, registry }: JobUploads,
  { unproven }: Tail,
): Promise<{ readonly copies: readonly NeededFile[]; release(): void }> {
  const copied: string[] = [];
  const copyAll = async (): Promise<void> => {
    for (const batch of unproven) {
      await copyBatch(backend, log, batch, ({ key }) => {
        registry.startTracking(key, 1);
        copied.push(key);
      });
    }
  };
  await (room === undefined ? copyAll() : room.lifted(keys.job, copyAll));
  const copies = log.files.map(({ key, name, syncedLength, indexHash }) => (
    { key, name, length: syncedLength, indexHash }
  ));
  const release = (): void => {
    for (const key of copied) {
      registry.stopTracking(key);
      registry.release(key);
    }
  };
  return { copies, release };
}
