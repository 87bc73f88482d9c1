/** A log whose files are copied to a place near by that fails as planned. @module */
import { JobKeys } from "../../../src/engine/paths.ts";
import { resolveSettings } from "../../../src/engine/settings.ts";
import { ChangeFileLog } from "../../../src/engine/upload/change_file_log.ts";
import { DuplicatingStateChangeFsUploader } from "../../../src/engine/upload/duplicating_uploader.ts";
import { StateChangeFsUploader } from "../../../src/engine/upload/fs_uploader.ts";
import { LocalMirror, type LocalMirrorOptions } from "../../../src/engine/upload/local_mirror.ts";
import { TaskChangelogRegistry } from "../../../src/engine/upload/task_changelog_registry.ts";
import { UploadMetrics } from "../../../src/engine/upload/upload_metrics.ts";
import { newUuid } from "../../../src/engine/uuid.ts";
import { FaultyBackend } from "../../doubles/faulty_backend.ts";
import { RecordingMetrics } from "../../doubles/recording_metrics.ts";
import { JOB, newMemory, Surroundings } from "../_engine.ts";
import { RecordedTask, setOf } from "./_sets.ts";

/** What a bench starts from. */
export interface LocalBenchOptions extends LocalMirrorOptions {
  /** Bytes that the local place may hold. @default no limit */
  readonly bytesMax?: number;
  /** @default the setting's */
  readonly changeFileBytesMax?: number;
}

/** A main place, a local one, and an uploader to both. */
export class LocalBench {
  readonly ports: Surroundings = new Surroundings();
  readonly metrics: RecordingMetrics = new RecordingMetrics();
  readonly main: FaultyBackend = new FaultyBackend(newMemory());
  readonly local: FaultyBackend;
  readonly mirror: LocalMirror;
  readonly registry: TaskChangelogRegistry = new TaskChangelogRegistry({ discard() {} });
  readonly log: ChangeFileLog;
  readonly uploader: DuplicatingStateChangeFsUploader;
  #next = 0;

  constructor(options: LocalBenchOptions = {}) {
    const { ports, registry } = this;
    const { bytesMax, changeFileBytesMax, ...mirror } = options;
    this.local = new FaultyBackend(newMemory(bytesMax === undefined ? {} : { bytesMax }));
    const metrics = new UploadMetrics(this.metrics, JOB);
    this.mirror = new LocalMirror({ ...ports, backend: this.local, metrics }, mirror);
    this.log = new ChangeFileLog({
      backend: this.main,
      keys: new JobKeys(JOB),
      store: newUuid(ports),
      epoch: 1,
      run: 1,
      settings: resolveSettings({ compression: "none", changeFileBytesMax }),
      ports,
      followers: [registry, this.mirror],
    });
    const uploader = new StateChangeFsUploader(this.log, () => {}, { ...ports, metrics, registry });
    this.uploader = new DuplicatingStateChangeFsUploader(uploader, this.mirror);
  }

  /** Local copies that failed, as counted. */
  get failures(): number {
    return this.metrics.count("tidemark_local_copy_failures_total");
  }

  /** Uploads one change set; answers where it is, and where its copy. */
  async upload(
    text?: string,
    signal?: AbortSignal,
  ): Promise<{ key: string; localKey: string | undefined }> {
    const { task } = new RecordedTask([setOf(this.#next++, text)]);
    const { successful } = await this.uploader.upload([task], { signal });
    const [{ key, localKey }] = successful.get(task)!;
    return { key, localKey };
  }

  /** Bytes of a file and of its copy, which must be the same. */
  async bytesOf(key: string): Promise<{ main: number[]; local: number[] | undefined }> {
    const local = await this.local.head(key) && [...await this.local.get(key)];
    return { main: [...await this.main.get(key)], local };
  }
}
