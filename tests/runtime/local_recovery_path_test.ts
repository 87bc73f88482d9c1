import assert from "node:assert/strict";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { LogLevel } from "../../src/engine/port/logger.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { ManualClock } from "../doubles/manual_clock.ts";
import { type TemporaryFolder, temporaryFolder } from "./temporary_folder.ts";

const CHANGELOG = "jobs/orders/changelog/main";

/** A place for a store, and one for its copies. */
function placesIn({ path }: TemporaryFolder): { path: string; local: string } {
  return { path: join(path, "store"), local: join(path, "local") };
}

async function readTexts(
  job: { restore(): AsyncIterable<{ data: Uint8Array }> },
): Promise<string[]> {
  const texts: string[] = [];
  for await (const { data } of job.restore()) texts.push(new TextDecoder().decode(data));
  return texts;
}

describe("localRecoveryPath", () => {
  test("has the same files as the store, from which the next process restores", async () => {
    await using folder = await temporaryFolder();
    const { path, local } = placesIn(folder);
    // An upload waits for its copy as long as the clock stands still, however slow the machine is.
    const settings = {
      localRecoveryPath: local,
      persistDelayMs: 0,
      clock: new ManualClock(),
    };
    {
      await using store = await openStore(path, settings);
      const job = await store.job("orders");
      const writer = job.writer("w");
      for (const text of ["a", "b"]) {
        writer.append(0, new TextEncoder().encode(text));
        assert.equal((await writer.persist(0)).isLocal, true);
      }
      await job.checkpoint();
    }
    const names = await readdir(join(path, CHANGELOG));
    assert.equal(names.length, 1);
    assert.deepEqual(await readdir(join(local, CHANGELOG)), names);
    const [main, copy] = await Promise.all(
      [path, local].map((folder) => readFile(join(folder, CHANGELOG, names[0]))),
    );
    assert.ok(main.equals(copy));
    await using store = await openStore(path, settings);
    const job = await store.job("orders");
    await rm(join(path, CHANGELOG, names[0]));
    assert.deepEqual(await readTexts(job), ["a", "b"]);
  });

  test("does without a folder that can't be made, and says so", async () => {
    await using folder = await temporaryFolder();
    const { path, local } = placesIn(folder);
    await writeFile(local, "a file");
    const warnings: string[] = [];
    const logger = {
      log: (level: LogLevel, message: string) =>
        void (level === "warning" && warnings.push(message)),
    };
    await using store = await openStore(path, { localRecoveryPath: join(local, "sub"), logger });
    const writer = (await store.job("orders")).writer("w");
    writer.append(0, new Uint8Array(1));
    assert.equal((await writer.persist()).isLocal, false);
    assert.ok(warnings.includes("Goes on without local copies"), String(warnings));
  });

  test("is refused within the store's folder, around it, or where something else is", async () => {
    await using folder = await temporaryFolder();
    const { path, local } = placesIn(folder);
    for (const localRecoveryPath of [path, join(path, "local"), join(path, "..")]) {
      await assert.rejects(openStore(path, { localRecoveryPath }), /wants two folders apart/);
    }
    await mkdir(local);
    await writeFile(join(local, "photo.jpg"), "");
    await assert.rejects(openStore(path, { localRecoveryPath: local }), { code: "not-a-store" });
    assert.deepEqual(await readdir(local), ["photo.jpg"]);
  });
});
