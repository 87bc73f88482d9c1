/**
 * A process that takes and lets go of a lock as it is told. Argument: the store's folder. Each line on stdin is
 * `lock`, `unlock` or `take-over`; each is answered by one line on stdout.
 * @module
 */
import process from "node:process";
import { createInterface } from "node:readline";
import { TidemarkError } from "../../src/engine/errors.ts";
import { SILENT_LOGGER } from "../../src/engine/port/logger.ts";
import type { OwnerLock } from "../../src/engine/storage/backend.ts";
import { PosixBackend } from "../../src/engine/storage/posix_backend.ts";
import { chooseFileSystem } from "../../src/runtime/choose_file_system.ts";
import { systemProcessInfo } from "../../src/runtime/process_info.ts";
import { SystemClock } from "../../src/runtime/system_clock.ts";
import { SystemRandom } from "../../src/runtime/system_random.ts";

const KEY = "jobs/j/LOCK";

const backend = new PosixBackend({
  root: process.argv[2],
  fileSystem: chooseFileSystem(),
  clock: new SystemClock(),
  random: new SystemRandom(),
  process: systemProcessInfo(),
  logger: SILENT_LOGGER,
});

let lock: OwnerLock | undefined;

async function take(takeOver: boolean): Promise<string> {
  try {
    lock = await backend.lock(KEY, { takeOver });
    return `locked ${lock.warnings.length}`;
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    return `${error.code} ${error.details.pid}`;
  }
}

async function obey(command: string): Promise<string> {
  if (command === "lock") return await take(false);
  if (command === "take-over") return await take(true);
  await lock?.close();
  return "unlocked";
}

async function main(): Promise<void> {
  console.log("ready");
  for await (const line of createInterface({ input: process.stdin })) {
    console.log(await obey(line));
  }
  await backend.close();
}

await main();
