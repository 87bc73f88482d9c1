/**
 * Stands for the checkpointer: publishes, retains and lets go of checkpoints without a catalog, and deletes at once
 * what nobody needs, so that a test sees which files stay.
 * @module
 */
import assert from "node:assert/strict";
import { ChangelogRestore } from "../../src/engine/changelog/restore_stream.ts";
import type { NeededFile, WriterEnd } from "../../src/engine/changelog/tail.ts";
import { OwnerKey } from "../../src/engine/checkpoint/owner_key.ts";
import { JobRun } from "../../src/engine/job_run.ts";
import { JobKeys } from "../../src/engine/paths.ts";
import { resolveSettings, type StoreSettings } from "../../src/engine/settings.ts";
import type { ChangelogWriter } from "../../src/engine/changelog/writer.ts";
import { BoundedDeleter } from "../../src/engine/upload/bounded_deleter.ts";
import { ChangeFileLog } from "../../src/engine/upload/change_file_log.ts";
import type { Deleter } from "../../src/engine/upload/deleter.ts";
import { TaskChangelogRegistry } from "../../src/engine/upload/task_changelog_registry.ts";
import { UploadMetrics } from "../../src/engine/upload/upload_metrics.ts";
import { newUuid } from "../../src/engine/uuid.ts";
import { FaultyBackend } from "../doubles/faulty_backend.ts";
import { RecordingMetrics } from "../doubles/recording_metrics.ts";
import { AT_ONCE, bytesOf, changeFiles, JOB, newMemory, Surroundings, textOf } from "./_engine.ts";

/** A checkpoint that was published. */
export interface FakeCheckpoint {
  readonly files: readonly NeededFile[];
  readonly writers: ReadonlyMap<string, WriterEnd>;
}

/** What of a checkpoint is planned. */
export interface FakeCheckpointOptions {
  /** Called when every writer has been rolled over. @default nothing */
  readonly afterRollOver?: () => void;
  /** Called when everything is durable, before it is published; it fails when this throws. @default nothing */
  readonly beforePublish?: () => void | Promise<void>;
}

/** One run of a job, with its files. */
export class FakeOwner implements Deleter {
  readonly backend: FaultyBackend = new FaultyBackend(newMemory());
  readonly ports: Surroundings & { metrics: RecordingMetrics };
  /** Retained checkpoints, oldest first. */
  readonly checkpoints: FakeCheckpoint[] = [];
  /** Files that were handed over by the registry, in order. */
  readonly released: string[] = [];
  readonly registry: TaskChangelogRegistry = new TaskChangelogRegistry(this);
  readonly deleter: BoundedDeleter;
  /** Files that a checkpoint has named, and that were not deleted. */
  readonly #owned = new Set<string>();
  readonly #store: string;
  #run!: JobRun;

  private constructor() {
    this.ports = Object.assign(new Surroundings(), { metrics: new RecordingMetrics() });
    this.#store = newUuid(this.ports);
    const metrics = new UploadMetrics(this.ports.metrics, JOB);
    const components = { ...this.ports, backend: this.backend, metrics };
    this.deleter = new BoundedDeleter(components, { concurrencyMax: 4 });
  }

  /** Begins a job; by default each batch has a file of its own. */
  static async begin(settings: Partial<StoreSettings> = {}): Promise<FakeOwner> {
    const made = new FakeOwner();
    const resolved = resolveSettings({ ...AT_ONCE, changeFileBytesMax: 1, ...settings });
    const { backend, ports, registry } = made;
    const place = { backend, keys: new JobKeys(JOB), store: made.#store };
    const followers = [registry];
    const log = new ChangeFileLog({
      ...place,
      epoch: 1,
      run: 1,
      settings: resolved,
      ports,
      followers,
    });
    const metrics = new UploadMetrics(ports.metrics, JOB);
    made.#run = new JobRun({
      place,
      owner: await OwnerKey.takeFrom(1, { ...place, ports }),
      run: 1,
      uploads: { log, registry, metrics, local: undefined },
      settings: resolved,
      ports,
      start: new Map(),
      carried: [],
      readStored: () => assert.fail("nothing is compared here"),
    });
    return made;
  }

  get run(): JobRun {
    return this.#run;
  }

  writer(id: string): ChangelogWriter {
    return this.#run.writer(id, undefined);
  }

  /** Appends texts and waits until they are durable; answers the file of the last. */
  async persist(id: string, ...texts: string[]): Promise<string> {
    const writer = this.writer(id);
    const from = writer.durableSequenceNumber;
    for (const text of texts) writer.append(0, bytesOf(text));
    return (await writer.persist(from)).segments.at(-1)!.key;
  }

  /** The registry hands over what nobody needs: it is deleted. That something needs it is a fault. */
  discard(keys: readonly string[]): void {
    this.released.push(...keys);
    this.#run.log.forget(keys);
    for (const key of keys) {
      assert.ok(!this.needs().has(key), `${key} is released, though it is needed`);
    }
    this.deleter.discard(keys);
  }

  /** Every file that must be there. */
  needs(): ReadonlySet<string> {
    const retained = this.checkpoints.flatMap(({ files }) => files.map(({ key }) => key));
    return new Set([...retained, ...this.#run?.durableFiles().map(({ key }) => key) ?? []]);
  }

  /** Makes a checkpoint and publishes it. */
  async checkpoint(options: FakeCheckpointOptions = {}): Promise<FakeCheckpoint> {
    const { afterRollOver, beforePublish } = options;
    const position = this.#run.rollOver();
    afterRollOver?.();
    await this.#run.persistAll();
    const { files, letGo } = this.#run.filesOf(position);
    try {
      await beforePublish?.();
    } catch (error) {
      letGo();
      throw error;
    }
    const writers = new Map(position.writers.map((end) => [end.writer, end]));
    const checkpoint = { files, writers };
    this.checkpoints.push(checkpoint);
    for (const { key } of files) this.#owned.add(key);
    this.#run.confirm(position, files);
    letGo();
    return checkpoint;
  }

  /** Lets go of the oldest checkpoints but so many, and of the files that only they needed. */
  subsume(keep: number): void {
    this.checkpoints.splice(0, Math.max(0, this.checkpoints.length - keep));
    const needed = new Set([...this.needs(), ...this.#run.registry.trackedKeys]);
    const going = [...this.#owned].filter((key) => !needed.has(key));
    for (const key of going) this.#owned.delete(key);
    this.deleter.discard(going);
  }

  /** Change files that are there, once every delete is done. */
  async files(): Promise<string[]> {
    await this.deleter.whenIdle();
    return await changeFiles(this.backend);
  }

  /** Texts of a writer in a checkpoint, and from which offset on. */
  async read(checkpoint: FakeCheckpoint, writer: string): Promise<[number, string[]]> {
    return (await this.readAll(checkpoint)).get(writer)!;
  }

  /** Texts of every writer in a checkpoint, and from which offset on. */
  async readAll({ files, writers }: FakeCheckpoint): Promise<Map<string, [number, string[]]>> {
    const lines = new Map<string, [number, string[]]>();
    for (const [id, { base }] of writers) lines.set(id, [base?.offset ?? 0, []]);
    const source = {
      files,
      writers,
      confirmed: new Map<string, number>(),
      neededBy: "a checkpoint",
      store: this.#store,
      job: JOB,
    };
    const open = () => Promise.resolve(source);
    for await (const { writer, offset, data } of new ChangelogRestore(this, open, {})) {
      const [first, texts] = lines.get(writer)!;
      assert.equal(offset, first + texts.length, `${writer} has a hole or a duplicate`);
      texts.push(textOf(data));
    }
    return lines;
  }
}
