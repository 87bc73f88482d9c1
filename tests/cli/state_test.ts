import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { createApp } from "../../src/http/mod.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { run, type RunOptions, withFolder, withStore } from "./_run.ts";

type Command = (name: string, args?: string[], options?: RunOptions) => ReturnType<typeof run>;

/** What works on a store works on a sidecar's. */
async function checkStates(folder: string, command: Command): Promise<void> {
  const file = join(folder, "totals");
  await writeFile(file, "high water".repeat(100_000));
  const piped = { stdin: "low water" };
  const made = await command(
    "checkpoint",
    ["--state", `totals=${file}`, "--state", "rules=-", "--json"],
    piped,
  );
  assert.equal(made.code, 0, made.stderr);
  const first = made.json.uuid;
  await writeFile(file, "ebb");
  const args = ["--state", `totals=${file}`, "--keep-state", "rules"];
  assert.equal((await command("checkpoint", args)).code, 0);

  const totals = await command("state", ["totals"]);
  assert.deepEqual([totals.code, totals.stdout], [0, "ebb"]);
  assert.match(totals.stderr, /Read state totals of job j, 3 bytes/);
  const output = join(folder, "output");
  const older = await command("state", ["totals", "--at", first, "-o", output, "--json"]);
  assert.deepEqual([older.code, older.json.size], [0, 1_000_000], older.stderr);
  assert.equal(await readFile(output, "utf8"), "high water".repeat(100_000));
  assert.equal((await command("state", ["rules"])).stdout, "low water");
  const shown = await command("show");
  assert.match(shown.stdout, /\nSTATE +SIZE +STORED\nrules +9 bytes +\d+ bytes\ntotals +3 bytes/);
  assert.match((await command("verify", ["--full"])).stdout, /3 states/);

  for (const name of ["nothing", "tot"]) {
    const missing = await command("state", [name, "-o", join(folder, "none")]);
    assert.equal(missing.code, 3);
    assert.match(missing.stderr, /state-not-found/);
  }
  assert.ok(!(await readdir(folder)).includes("none"));
  await command("checkpoint");
  const dropped = await command("checkpoint", ["--keep-state", "rules"]);
  assert.match(dropped.stderr, /state-not-found/);
}

describe("states of a checkpoint", () => {
  test("go in from files and stdin, and come back", () =>
    withStore((store) =>
      withFolder((folder) =>
        checkStates(
          folder,
          (name, args = [], options) =>
            run([name, "--store", store, "--job", "j", ...args], options),
        )
      )
    ));

  test("do the same at a sidecar", () =>
    withFolder(async (folder) => {
      await using store = await openStore("memory:");
      await store.job("j");
      const app = createApp(store);
      const io = { fetch: (request: Request) => app.fetch(request) };
      const where = ["--url", "http://127.0.0.1:7460", "--job", "j"];
      await checkStates(
        folder,
        (name, args = [], options) => run([name, ...where, ...args], { ...options, io }),
      );
    }));

  test("are refused before anything is done when they can't be read as they are named", () =>
    withStore(async (store) => {
      const where = ["--store", store, "--job", "j"];
      for (const bad of [["totals"], ["=file"], ["totals="], ["a=-", "a=-"]]) {
        const args = bad.flatMap((state) => ["--state", state]);
        assert.equal((await run(["checkpoint", ...where, ...args])).code, 2, bad.join());
      }
      const both = ["--state", "a=-", "--keep-state", "a"];
      assert.match((await run(["checkpoint", ...where, ...both])).stderr, /a: it is given twice/);
      const missing = await run(["checkpoint", ...where, "--state", "a=/nowhere/at/all"]);
      assert.match(missing.stderr, /there is no such file/);
      assert.equal((await run(["ls", ...where, "--json"])).json.checkpoints.length, 0);
    }));

  test("that are damaged are named, and no file is written", () =>
    withStore((store) =>
      withFolder(async (folder) => {
        const where = ["--store", store, "--job", "j"];
        await run(["checkpoint", ...where, "--state", "a=-"], { stdin: "high water" });
        const states = join(store, "jobs/j/states");
        const [name] = await readdir(states);
        const bytes = await readFile(join(states, name));
        bytes[bytes.length - 100] ^= 1;
        await writeFile(join(states, name), bytes);
        const read = await run(["state", ...where, "a", "-o", join(folder, "a")]);
        assert.equal(read.code, 8);
        assert.ok(read.stderr.includes(name), read.stderr);
        assert.deepEqual(await readdir(folder), []);
      })
    ));
});
