import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { ProgressLine } from "../../src/cli/_progress.ts";
import type { OpenStore } from "../../src/cli/command.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { ForgettingDisk } from "../doubles/forgetting_file_system.ts";
import { posixOn } from "../doubles/posix_on_double.ts";
import { run, type RunOptions, withFolder } from "./_run.ts";

const MIB = 1024 * 1024;

describe("the progress line", () => {
  const facts = { label: "restoring j/w", total: 100 * MIB, unit: "bytes" };

  test("has bar, rate and time left, once there is a rate", () => {
    const line = new ProgressLine(false);
    assert.equal(
      line.draw({ ...facts, done: 10 * MIB }, 0, 100),
      "restoring j/w  10% [###---------------------------] 10.0 MiB of 100.0 MiB",
    );
    assert.equal(
      line.draw({ ...facts, done: 50 * MIB }, 2000, 100),
      "restoring j/w  50% [###############---------------] 50.0 MiB of 100.0 MiB, 20.0 MiB/s, 3 s left",
    );
  });

  test("tells the rate of the last seconds, not of all", () => {
    const line = new ProgressLine(false);
    for (let second = 0; second <= 20; second++) {
      line.draw({ ...facts, done: second * MIB }, second * 1000, 100);
    }
    assert.match(line.draw({ ...facts, done: 20 * MIB }, 30_000, 100), / 0 bytes\/s$/);
    assert.match(line.draw({ ...facts, done: 40 * MIB }, 31_000, 100), / 1\.8 MiB\/s, 33 s left$/);
  });

  test("begins anew with another work", () => {
    const line = new ProgressLine(false);
    line.draw({ ...facts, done: 10 * MIB }, 0, 100);
    const other = { label: "verifying job j", done: 3, total: 4, unit: "file" };
    assert.match(line.draw(other, 5000, 100), /^verifying job j {2}75% \[#+-+\] 3 of 4 files$/);
    assert.match(line.draw({ ...other, done: 4 }, 7000, 100), /4 of 4 files, 0\.5\/s$/);
  });

  test("shows what it can where the end is not known, or was not what was said", () => {
    const line = new ProgressLine(true);
    const open = { label: "appending", done: 5, unit: "change", more: "60 bytes durable" };
    assert.equal(line.draw(open, 0, 100), "appending  5 changes, 60 bytes durable");
    assert.match(
      line.draw({ ...open, done: 9, total: 7 }, 100, 100),
      /^appending 100% \[█+\] 7 of 7/,
    );
    assert.match(line.draw({ ...open, done: 0, total: 0 }, 200, 100), /^appending 100% /);
  });

  test("stays within one row, whatever the width", () => {
    for (const columns of [0, 1, 2, 10, 40, 60, 79, 80, 200, 1000]) {
      const line = new ProgressLine(true);
      for (const total of [undefined, 100 * MIB]) {
        for (let second = 0; second < 3; second++) {
          const drawn = line.draw({ ...facts, total, done: second * MIB }, second * 1000, columns);
          assert.equal(drawn.length < (columns || 80), true, `${columns}: ${drawn}`);
        }
      }
    }
  });
});

describe("progress", () => {
  /** What a terminal shows of some commands whose end is known. */
  async function shown(options: RunOptions): Promise<string> {
    let text = "";
    await withFolder(async (folder) => {
      const file = join(folder, "lines");
      await writeFile(file, "one\ntwo\n");
      const disk = new ForgettingDisk();
      const openInMemory: OpenStore = (_, given) =>
        openStore(posixOn(disk), { ...given, codecThreads: 0 });
      const at = ["--store", "/disk/store", "--job", "j"];
      const to = [...at, "--writer", "w"];
      for (
        const args of [
          ["append", ...to, file],
          ["checkpoint", ...at, "--state", `index=${file}`],
          ["restore", ...to],
          ["restore", ...to, "--at", "tail", "--key-groups", "0-7"],
          ["state", "index", ...at],
          ["verify", ...at, "--full"],
        ]
      ) {
        const { code, stderr } = await run(args, { ...options, openStore: openInMemory });
        assert.equal(code, 0, stderr);
        text += stderr;
      }
    });
    return text;
  }

  // Each look at the clock is a second later, so that no line is left out.
  const watched = (): RunOptions => {
    let seconds = 0;
    return { isErrorTerminal: true, io: { monotonicMs: () => ++seconds * 1000 } };
  };

  test("is on stderr of a terminal, over itself, and goes away", async () => {
    const stderr = await shown(watched());
    for (
      const line of [
        /^appending 100% \[#+\] 8 bytes of 8 bytes, 2 changes durable$/,
        /^writing state index 100% \[#+\] 8 bytes of 8 bytes$/,
        /^restoring j\/w 100% \[#+\] 2 of 2 changes, 12 bytes$/,
        /^restoring j\/w {2}2 changes, 12 bytes$/,
        /^reading state index 100% \[#+\] 8 bytes of 8 bytes$/,
        /^verifying job j 100% \[#+\] 2 of 2 files, 1\.0\/s$/,
      ]
    ) {
      const lines = stderr.split(/\r|\n/).map((text) => text.replaceAll("\x1b[K", ""));
      assert.equal(lines.some((text) => line.test(text)), true, `${line} in ${lines.join("\n")}`);
    }
  });

  test("is not there for a pipe, a dumb terminal, or a program", async () => {
    for (const options of [{}, { ...watched(), env: { TERM: "dumb" } }]) {
      assert.doesNotMatch(await shown(options), /\r|\[K/);
    }
  });
});
