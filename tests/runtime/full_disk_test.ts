/** A disk that is really full: a small tmpfs. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { test } from "node:test";
import { PosixBackend } from "../../src/engine/storage/posix_backend.ts";
import { chooseFileSystem, type FileSystemSetting } from "../../src/runtime/choose_file_system.ts";
import { systemProcessInfo } from "../../src/runtime/process_info.ts";
import { SystemRandom } from "../../src/runtime/system_random.ts";
import { bytesOf, collect, rejectsWith, textOf } from "../conformance/storage_backend.ts";
import { ManualClock } from "../doubles/manual_clock.ts";
import { RecordingLogger } from "../doubles/recording_logger.ts";
import { temporaryFolder } from "./temporary_folder.ts";

function mount(path: string): boolean {
  return spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tidemark-test", path]).status === 0;
}

function unmount(path: string): void {
  const done = spawnSync("umount", [path], { encoding: "utf8" });
  assert.equal(done.status, 0, done.stderr);
}

async function canMount(): Promise<boolean> {
  await using folder = await temporaryFolder();
  if (!mount(folder.path)) return false;
  unmount(folder.path);
  return true;
}

const NEEDS_MOUNT = !await canMount() && "needs the right to mount a tmpfs";

for (const setting of ["auto", "node"] as const satisfies readonly FileSystemSetting[]) {
  test(`PosixBackend over ${setting} meets a full disk, and goes on once there is room`, {
    skip: NEEDS_MOUNT,
  }, async () => {
    await using folder = await temporaryFolder();
    const path = `${folder.path}/disk`;
    await mkdir(path);
    assert.ok(mount(path));
    try {
      const logger = new RecordingLogger();
      const backend = new PosixBackend({
        root: path,
        fileSystem: chooseFileSystem(setting),
        clock: new ManualClock(),
        random: new SystemRandom(),
        process: systemProcessInfo(),
        logger,
      });
      await backend.prepare({ create: true });
      assert.match(logger.messages("warning").join(), /tmpfs/);
      await backend.put("a/filler", new Uint8Array(500_000));
      const appender = await backend.createAppender("a/log");
      await appender.write(bytesOf("safe"));
      await appender.sync();
      for (
        const call of [
          () => backend.put("a/big", new Uint8Array(700_000)),
          () => backend.putIfAbsent("a/big", new Uint8Array(700_000)),
          () => appender.write(new Uint8Array(700_000)),
        ]
      ) {
        const error = await rejectsWith(call, "storage-full");
        assert.match(error.message, /asked for 700000 bytes, \d+ bytes are free; make room/);
      }
      await appender.close();
      assert.equal(textOf(await backend.get("a/log", { to: 4 })), "safe");
      assert.deepEqual(await collect(backend.listTemporary("")), []);
      await backend.delete("a/filler");
      await backend.delete("a/log");
      await backend.put("a/big", new Uint8Array(700_000));
      await backend.close();
    } finally {
      unmount(path);
    }
  });
}
