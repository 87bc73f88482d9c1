import assert from "node:assert/strict";
import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { createApp } from "../../src/http/mod.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { type Ran, run, type RunOptions, withStore } from "./_run.ts";

const TERMINAL = { isErrorTerminal: true, isInputTerminal: true };

interface Damaged {
  readonly store: string;
  readonly folder: string;
  readonly uuid: string;
  of(command: string, ...args: string[]): Promise<Ran>;
  on(options: RunOptions, command: string, ...args: string[]): Promise<Ran>;
}

/** Gives a job `j` with a checkpoint and a tail, and without a catalog, to `use`. */
function withLostCatalog(use: (job: Damaged) => Promise<void>): Promise<void> {
  return withStore(async (store) => {
    const on = (options: RunOptions, command: string, ...args: string[]) =>
      run([command, "--store", store, "--job", "j", ...args], options);
    const of = (command: string, ...args: string[]) => on({}, command, ...args);
    const { json } = await of("checkpoint", "--identifier", "noon", "--json");
    await on({ stdin: "four\n" }, "append", "--writer", "w");
    const folder = join(store, "jobs/j");
    await rm(join(folder, "catalog"), { recursive: true });
    await use({ store, folder, uuid: json.uuid, of, on });
  });
}

describe("salvage", () => {
  test("only shows its plan with --dry-run", () =>
    withLostCatalog(async ({ of, folder, uuid }) => {
      const before = (await readdir(folder, { recursive: true })).sort();
      const { code, stdout, stderr } = await of("salvage", "--dry-run");
      assert.equal(code, 0, stderr);
      assert.match(stdout, new RegExp(`^CHECKPOINT .*\n${uuid} .* head, pinned +noon\n`));
      assert.match(stdout, /\nnote: retention is the default again/);
      assert.match(
        stdout,
        new RegExp(`\nJob j: its catalog is missing; .* checkpoint ${uuid}, as`),
      );
      assert.match(
        stdout,
        /lost: 0 checkpoints, 0 changes that are known of, 0 objects\nPlan \w+\n$/,
      );
      const { json } = await of("salvage", "--dry-run", "--yes", "--json");
      assert.deepEqual([json.isDone, json.isNeeded, json.head], [false, true, uuid]);
      assert.deepEqual((await readdir(folder, { recursive: true })).sort(), before);
    }));

  test("does it with --yes, after which the job opens", () =>
    withLostCatalog(async ({ of }) => {
      assert.equal((await of("resume", "--at", "tail")).code, 8);
      const { code, stdout, stderr } = await of("salvage", "--yes");
      assert.equal(code, 0, stderr);
      assert.match(stdout, /\nJob j is salvaged, its run is 2: /);
      const restored = await of("restore", "--writer", "w", "--at", "tail");
      assert.equal(restored.stdout, "one\ntwo\nthree\nfour\n");
      assert.equal((await of("verify", "--full")).code, 0);
      const again = await of("salvage", "--yes");
      assert.deepEqual([again.code, again.stdout.split("\n").at(-2)], [
        0,
        "Job j is well: there is nothing to salvage",
      ]);
    }));

  test("does it with --accept, if that is still the plan", () =>
    withLostCatalog(async ({ of, folder, uuid }) => {
      const { json: { id } } = await of("salvage", "--dry-run", "--json");
      const manifest = join(folder, "checkpoints", `${uuid}.json`);
      await rename(manifest, `${manifest}.away`);
      const refused = await of("salvage", "--accept", id);
      assert.equal(refused.code, 4);
      assert.match(refused.stderr, /code: plan-changed/);
      await rename(`${manifest}.away`, manifest);
      assert.equal((await of("salvage", "--accept", id, "--json")).json.isDone, true);
    }));

  test("shows its plan and asks on a terminal, and refuses where nobody can be asked", () =>
    withLostCatalog(async ({ on, of, folder }) => {
      const before = await readdir(folder, { recursive: true });
      const no = await on({ ...TERMINAL, stdin: "n\n" }, "salvage");
      assert.deepEqual([no.code, no.stdout], [6, ""]);
      assert.match(no.stderr, /Plan \w+\nDo it\? \[y\/N\] error: Did nothing/);
      const refused = await of("salvage");
      assert.equal(refused.code, 2);
      assert.match(refused.stderr, /^error: Cannot salvage: it gives up what can't be read, and/);
      const added = (await readdir(folder, { recursive: true })).filter((name) =>
        !before.includes(name)
      );
      assert.deepEqual(added.filter((name) => name !== "LOCK"), []);
      const yes = await on({ ...TERMINAL, stdin: "yes\n" }, "salvage");
      assert.equal(yes.code, 0, yes.stderr);
    }));

  test("names what is gone", () =>
    withLostCatalog(async ({ of, folder, uuid }) => {
      await rm(join(folder, "checkpoints", `${uuid}.json`));
      const files = join(folder, "changelog/main");
      await rm(join(files, (await readdir(files)).sort()[0]));
      const { code, stdout } = await of("salvage", "--yes");
      assert.equal(code, 0);
      assert.match(stdout, /^lost changes of writer w: offsets 0 to 3\n/);
      assert.match(stdout, / goes on from nothing, as there is no checkpoint; lost: .* 4 changes /);
      assert.equal((await of("verify")).code, 0);
    }));

  test("works through a sidecar that can't open the job", () =>
    withLostCatalog(async ({ store: folder, uuid }) => {
      await using store = await openStore(folder);
      const app = createApp(store);
      const io = { fetch: (request: Request) => Promise.resolve(app.fetch(request)) };
      const of = (command: string, ...args: string[]) =>
        run([command, "--url", "http://127.0.0.1:7460", "--job", "j", ...args], { io });
      assert.equal((await of("ls")).code, 8);
      assert.match((await of("salvage", "--dry-run")).stdout, /\nPlan \w+\n$/);
      const { code, json, stderr } = await of("salvage", "--yes", "--json");
      assert.equal(code, 0, stderr);
      assert.deepEqual([json.isDone, json.head], [true, uuid]);
      const restored = await of("restore", "--writer", "w", "--at", "tail");
      assert.equal(restored.stdout, "one\ntwo\nthree\nfour\n");
    }));
});
