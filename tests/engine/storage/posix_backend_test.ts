import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";
import type { FileSystem } from "../../../src/engine/port/file_system.ts";
import { PosixBackend } from "../../../src/engine/storage/posix_backend.ts";
import { BunFileSystem } from "../../../src/runtime/bun_file_system.ts";
import { runtimeOf } from "../../../src/runtime/choose_file_system.ts";
import { DenoFileSystem } from "../../../src/runtime/deno_file_system.ts";
import { NodeFileSystem } from "../../../src/runtime/node_file_system.ts";
import { systemProcessInfo } from "../../../src/runtime/process_info.ts";
import { SystemRandom } from "../../../src/runtime/system_random.ts";
import { storageBackendConformance } from "../../conformance/storage_backend.ts";
import { ForgettingDisk } from "../../doubles/forgetting_file_system.ts";
import { ManualClock } from "../../doubles/manual_clock.ts";
import { posixOn, preparedPosixOn } from "../../doubles/posix_on_double.ts";
import { RecordingLogger } from "../../doubles/recording_logger.ts";
import { temporaryFolder } from "../../runtime/temporary_folder.ts";

const RUNTIME = runtimeOf(process.versions);

function declare(name: string, makeFileSystem: () => FileSystem, skip?: string): void {
  storageBackendConformance(`PosixBackend over ${name}`, async () => {
    const folder = await temporaryFolder();
    const backend = new PosixBackend({
      root: folder.path,
      fileSystem: makeFileSystem(),
      clock: new ManualClock(),
      random: new SystemRandom(),
      process: systemProcessInfo(),
      logger: new RecordingLogger(),
    });
    return {
      backend,
      async release() {
        await backend.close();
        await folder[Symbol.asyncDispose]();
      },
    };
  }, { skip });
}

declare("node:fs", () => new NodeFileSystem());
declare(
  "Deno's file system",
  () => new DenoFileSystem(),
  RUNTIME === "deno" ? undefined : "runs on Deno only",
);
declare(
  "Bun's file system",
  () => new BunFileSystem(),
  RUNTIME === "bun" ? undefined : "runs on Bun only",
);

for (const delayTurnsMax of [0, 4]) {
  const name = `PosixBackend over the forgetting disk, delays up to ${delayTurnsMax}`;
  storageBackendConformance(name, async () => {
    const disk = new ForgettingDisk({ seed: 3, delayTurnsMax });
    const backend = await preparedPosixOn(disk);
    return { backend, release: () => backend.close() };
  });
}

test("PosixBackend wants an absolute path", () => {
  const disk = new ForgettingDisk();
  for (const root of ["store", "./store", ""]) {
    assert.throws(() => posixOn(disk, { root }), TypeError);
  }
  assert.equal(posixOn(disk, { root: "/disk/store//" }).location, "/disk/store");
});
