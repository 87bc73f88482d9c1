/** A log of change files on a backend that fails as planned. @module */
import { ChangeFileSource } from "../../../src/engine/changelog/change_file_source.ts";
import type { Batch, ChangeFileHeader } from "../../../src/engine/format/change_file.ts";
import { ChangeFileScan, type ScanEnd } from "../../../src/engine/format/change_file_reader.ts";
import { JobKeys } from "../../../src/engine/paths.ts";
import type { CodecThread } from "../../../src/engine/port/codec_thread.ts";
import { resolveSettings, type StoreSettings } from "../../../src/engine/settings.ts";
import type { StorageBackend } from "../../../src/engine/storage/backend.ts";
import { ChangeFileLog } from "../../../src/engine/upload/change_file_log.ts";
import { newUuid } from "../../../src/engine/uuid.ts";
import { FaultyBackend } from "../../doubles/faulty_backend.ts";
import { HeldCodecThread } from "../../doubles/held_codec_thread.ts";
import { changeFiles, JOB, newMemory, Surroundings } from "../_engine.ts";

export interface LogBench {
  readonly log: ChangeFileLog;
  readonly backend: FaultyBackend;
  readonly ports: Surroundings;
  readonly store: string;
}

/** A log of epoch 1, run 1. */
export function newLog(
  settings: Partial<StoreSettings> = {},
  options: { codecThread?: CodecThread } = {},
): LogBench {
  const ports = new Surroundings();
  const backend = new FaultyBackend(newMemory());
  const store = newUuid(ports);
  const log = new ChangeFileLog({
    backend,
    keys: new JobKeys(JOB),
    store,
    epoch: 1,
    run: 1,
    settings: resolveSettings(settings),
    ports,
    ...options,
  });
  return { log, backend, ports, store };
}

/** The same, on a codec thread that encodes at once, or when told. */
export function newThreadLog(
  settings: Partial<StoreSettings> = {},
  options: { isHeld?: boolean } = {},
): LogBench & { readonly thread: HeldCodecThread } {
  const thread = new HeldCodecThread(options);
  return { ...newLog(settings, { codecThread: thread }), thread };
}

/** What a change file holds. */
export interface ReadFile {
  readonly key: string;
  readonly header: ChangeFileHeader | undefined;
  readonly batches: readonly Batch[];
  readonly end: ScanEnd;
  readonly size: number;
}

/** Reads every change file, oldest first. */
export async function readFiles(backend: StorageBackend): Promise<ReadFile[]> {
  const files: ReadFile[] = [];
  for (const key of await changeFiles(backend)) {
    const { size } = (await backend.head(key))!;
    const scan = new ChangeFileScan(new ChangeFileSource(backend, key, size));
    const batches: Batch[] = [];
    for await (const batch of scan.batches()) batches.push(batch);
    files.push({ key, header: scan.header, batches, end: scan.end, size });
  }
  return files;
}

/** Sequence numbers of a file, batch by batch. */
export function numbersOf(file: ReadFile): number[][] {
  return file.batches.map((batch) => batch.sets.map((set) => set.sequenceNumber));
}
