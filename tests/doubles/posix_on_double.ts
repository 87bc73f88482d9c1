/** A POSIX backend on the forgetting disk, with made-up time, chance and process. @module */
import type { Clock } from "../../src/engine/port/clock.ts";
import type { FileSystem } from "../../src/engine/port/file_system.ts";
import type { ProcessInfo } from "../../src/engine/port/process_info.ts";
import { PosixBackend } from "../../src/engine/storage/posix_backend.ts";
import { fixedProcessInfo } from "./fixed_process_info.ts";
import type { ForgettingDisk } from "./forgetting_file_system.ts";
import { ManualClock } from "./manual_clock.ts";
import { RecordingLogger } from "./recording_logger.ts";
import { SeededRandom } from "./seeded_random.ts";

/** What a test wants to differ. */
export interface PosixOnDoubleOptions {
  /** @default "/disk/store" */
  root?: string;
  /** @default a new process of the disk */
  fileSystem?: FileSystem;
  /** @default a new manual clock */
  clock?: Clock;
  /** @default a process on a machine of its own */
  process?: ProcessInfo;
  /** @default a new one */
  logger?: RecordingLogger;
}

/** A backend whose folder may not exist yet. */
export function posixOn(disk: ForgettingDisk, options: PosixOnDoubleOptions = {}): PosixBackend {
  return new PosixBackend({
    root: options.root ?? "/disk/store",
    fileSystem: options.fileSystem ?? disk.fileSystem(),
    clock: options.clock ?? new ManualClock(),
    random: new SeededRandom(disk.seed + disk.calls),
    process: options.process ?? fixedProcessInfo(),
    logger: options.logger ?? new RecordingLogger(),
  });
}

/** A backend whose folder is made and checked. */
export async function preparedPosixOn(
  disk: ForgettingDisk,
  options: PosixOnDoubleOptions = {},
): Promise<PosixBackend> {
  const backend = posixOn(disk, options);
  await backend.prepare({ create: true });
  return backend;
}
