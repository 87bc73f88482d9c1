import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { type Ran, run, type RunOptions, withStore } from "./_run.ts";

const NOBODY = "01a22a92-1ae8-748b-b347-2026a263a87f";
const TERMINAL = { isErrorTerminal: true, isInputTerminal: true };

/** A job `j` in a store, with what runs a command on it, and its checkpoints, oldest first. */
interface JobInStore {
  readonly store: string;
  readonly uuids: readonly string[];
  of(command: string, ...args: string[]): Promise<Ran>;
  on(options: RunOptions, command: string, ...args: string[]): Promise<Ran>;
}

/** Gives a job with some checkpoints, all of which retention keeps, to `use`. */
function withCheckpoints(count: number, use: (job: JobInStore) => Promise<void>): Promise<void> {
  return withStore(async (store) => {
    const on = (options: RunOptions, command: string, ...args: string[]) =>
      run([command, "--store", store, "--job", "j", ...args], options);
    const of = (command: string, ...args: string[]) => on({}, command, ...args);
    await of("retention", "--min-count", "100");
    const uuids: string[] = [];
    for (let i = 0; i < count; i++) {
      await on({ stdin: `change ${i}\n` }, "append", "--writer", "w");
      uuids.push((await of("checkpoint", "--json")).json.uuid);
    }
    await use({ store, uuids, of, on });
  });
}

async function listed({ of }: JobInStore): Promise<string[]> {
  const { json } = await of("ls", "--json");
  return json.checkpoints.map(({ uuid }: { uuid: string }) => uuid);
}

describe("gc", () => {
  test("only says what it would do with --dry-run", () =>
    withCheckpoints(3, async (job) => {
      const { of, uuids } = job;
      await of("retention", "--min-count", "1");
      const look = await of("gc", "--dry-run", "--now");
      assert.equal(look.code, 0, look.stderr);
      assert.match(look.stdout, new RegExp(`\n${uuids[0]} +goes +is beyond the newest 1\n`));
      assert.match(look.stdout, new RegExp(`\n${uuids[2]} +stays +is one of the newest 1\n`));
      assert.match(look.stdout, /\ndelete jobs\/j\/checkpoints\/.*: nothing needs it\n/);
      assert.match(look.stdout, /\nJob j: would remove 2 checkpoints, put 0 to rest, delete 2 of/);
      const { json } = await of("gc", "--dry-run", "--yes", "--json");
      assert.deepEqual([json.isDryRun, json.removed, json.quarantined.length], [true, [], 2]);
      assert.deepEqual(await listed(job), uuids);
    }));

  test("does it with --yes: lets what goes rest, or removes it --now", () =>
    withCheckpoints(4, async (job) => {
      const { of, uuids: [first, second, third, fourth] } = job;
      await of("retention", "--min-count", "1");
      const rests = await of("gc", "--yes", "--except", `${first},${second.toUpperCase()}`);
      assert.match(rests.stdout, new RegExp(`\n${first} +stays +is excepted\n`));
      assert.match(rests.stdout, new RegExp(`\n${second} +stays +is excepted\n`));
      assert.match(rests.stdout, new RegExp(`\n${third} +goes to rest +is beyond`));
      assert.match((await of("ls")).stdout, new RegExp(`\n${third} .* resting\n`));
      assert.match((await of("gc", "--dry-run")).stdout, new RegExp(`\n${third} +rests +`));
      const done = await of("gc", "--yes", "--now");
      assert.match(done.stdout, /\nJob j: removed 3 checkpoints, put 0 to rest, deleted [\d.]+ /);
      assert.deepEqual(await listed(job), [fourth]);
    }));

  test("shows its plan and asks on a terminal", () =>
    withCheckpoints(2, async (job) => {
      const { on, of, uuids } = job;
      await of("retention", "--min-count", "1");
      for (const stdin of ["n\n", "\n", "yep\n", ""]) {
        const no = await on({ ...TERMINAL, stdin }, "gc", "--now");
        assert.deepEqual([no.code, no.stdout], [6, ""]);
        assert.match(no.stderr, new RegExp(`${uuids[0]} +goes `));
        assert.match(
          no.stderr,
          /would remove 1 checkpoint, .*\nDo it\? \[y\/N\] error: Did nothing/,
        );
      }
      assert.deepEqual(await listed(job), uuids);
      const yes = await on({ ...TERMINAL, stdin: "Yes\nmore" }, "gc", "--now");
      assert.equal(yes.code, 0, yes.stderr);
      assert.match(yes.stdout, /\nJob j: removed 1 checkpoint, /);
      assert.deepEqual(await listed(job), [uuids[1]]);
    }));

  test("refuses, and opens nothing, where nobody can be asked", () =>
    withCheckpoints(1, async ({ on, store }) => {
      const owners = (await readdir(join(store, "jobs/j/owners"))).sort();
      for (const only of ["isErrorTerminal", "isInputTerminal"]) {
        const { code, stdout, stderr } = await on({ [only]: true, stdin: "y\n" }, "gc");
        assert.deepEqual([code, stdout], [2, ""]);
        assert.match(stderr, /^error: Cannot gc: it destroys, and there is no terminal to ask at/);
      }
      assert.deepEqual((await readdir(join(store, "jobs/j/owners"))).sort(), owners);
    }));

  test("explains an object and a checkpoint", () =>
    withCheckpoints(2, async ({ of, uuids }) => {
      const { json } = await of("gc", "--dry-run", "--json");
      const [{ key }] = json.objects;
      const object = await of("gc", "--explain", key);
      assert.equal(object.code, 0, object.stderr);
      assert.match(object.stdout, /^jobs\/j\/.* stays, [\d.]+ \w+: .* needs it\n$/);
      assert.equal((await of("gc", "--explain", key, "--json")).json.action, "keep");
      const checkpoint = await of("gc", "--explain", uuids[0].toUpperCase());
      assert.match(checkpoint.stdout, / stays: checkpoint \S+ is one of the newest 100\n$/);
      const marker = await of("gc", "--explain", "TIDEMARK");
      assert.match(marker.stdout, /^TIDEMARK stays, .*: it makes the folder a store\n$/);
      const none = await of("gc", "--explain", "jobs/j/nothing");
      assert.equal(none.code, 3);
      assert.match(none.stderr, /code: object-not-found/);
    }));
});

describe("checkpoint", () => {
  test("takes a uuid of the caller's, once", () =>
    withCheckpoints(0, async ({ of }) => {
      assert.equal((await of("checkpoint", "--uuid", NOBODY, "--json")).json.uuid, NOBODY);
      const again = await of("checkpoint", "--uuid", NOBODY);
      assert.deepEqual([again.code, again.stdout], [4, ""]);
      assert.match(again.stderr, /code: checkpoint-exists/);
      assert.equal((await of("checkpoint", "--uuid", "1")).code, 2);
    }));
});

describe("delete", () => {
  test("shows what would go, then deletes one checkpoint", () =>
    withCheckpoints(3, async (job) => {
      const { of, on, uuids: [first, second, third] } = job;
      const look = await of("delete", second, "--dry-run");
      assert.match(
        look.stdout,
        new RegExp(`^Deletes checkpoint ${second} of job j, made 20.* are its `),
      );
      assert.equal((await of("delete", second)).code, 2);
      const no = await on({ ...TERMINAL, stdin: "n\n" }, "delete", second);
      assert.match(no.stderr, /^Deletes checkpoint .*\nDo it\?/);
      assert.deepEqual(await listed(job), [first, second, third]);
      const done = await of("delete", second.toUpperCase(), "--yes");
      assert.equal(done.code, 0, done.stderr);
      assert.deepEqual(await listed(job), [first, third]);
      const head = await of("delete", third, "--yes");
      assert.deepEqual([head.code, head.stdout], [4, ""]);
      assert.match(head.stderr, /code: checkpoint-in-use/);
      assert.equal((await of("delete", NOBODY, "--yes")).code, 3);
    }));
});

describe("retire", () => {
  test("ends a writer with a checkpoint that it makes, with the metadata of the newest one", () =>
    withCheckpoints(1, async ({ of, on }) => {
      await on({ stdin: "more\n" }, "append", "--writer", "w");
      await of("checkpoint", "--metadata", '{"line":2}', "--steps", "7");
      const look = await of("retire", "--writer", "w", "--dry-run");
      assert.match(look.stdout, /ends at offset 5: a checkpoint that is made now is the last /);
      const done = await of("retire", "--writer", "w", "--yes", "--json");
      assert.equal(done.code, 0, done.stderr);
      const { json } = await of("show", "--json");
      assert.deepEqual([json.uuid, json.metadata, json.steps], [
        done.json.checkpoint,
        { line: 2 },
        "7",
      ]);
      assert.equal(json.writers[0].isClosed, true);
      await of("checkpoint");
      assert.deepEqual((await of("show", "--json")).json.writers, []);
      const again = await on({ stdin: "new\n" }, "append", "--writer", "w");
      assert.match(again.stdout, /next offset 1\n/);
    }));

  test("wants --metadata where the newest checkpoint's would not fit", () =>
    withCheckpoints(1, async ({ of, on }) => {
      await on({ stdin: "more\n" }, "append", "--writer", "w");
      const refused = await of("retire", "--writer", "w", "--yes");
      assert.equal(refused.code, 2);
      assert.match(refused.stderr, /writer w has changes that no checkpoint holds/);
      const done = await of("retire", "--writer", "w", "--yes", "--metadata", '{"line":2}');
      assert.equal(done.code, 0, done.stderr);
      assert.deepEqual((await of("show", "--json")).json.metadata, { line: 2 });
      assert.equal((await of("retire", "--writer", "none", "--yes")).code, 3);
    }));
});

describe("pin and unpin", () => {
  test("keep a checkpoint, and let it go again", () =>
    withCheckpoints(3, async (job) => {
      const { of, uuids: [first, second, third] } = job;
      await of("retention", "--min-count", "1");
      const pinned = await of("pin", first.toUpperCase(), "--reason", "before the upgrade");
      assert.equal(pinned.stdout, `Pinned checkpoint ${first} of job j: before the upgrade\n`);
      assert.equal((await of("pin", second, "--json")).json.reason, "pinned");
      const plain = await of("pin", second);
      assert.equal(plain.stdout, `Pinned checkpoint ${second} of job j\n`);
      assert.match((await of("ls")).stdout, new RegExp(`\n${first} .* pinned\n`));
      assert.match((await of("show", "--at", first)).stdout, / pinned +before the upgrade\n/);
      await of("gc", "--yes", "--now");
      assert.deepEqual(await listed(job), [first, second, third]);
      assert.equal((await of("unpin", first)).stdout, `Unpinned checkpoint ${first} of job j\n`);
      assert.deepEqual((await of("unpin", second, "--json")).json, { job: "j", uuid: second });
      await of("gc", "--yes", "--now");
      assert.deepEqual(await listed(job), [third]);
    }));

  test("find no checkpoint that is not there", () =>
    withCheckpoints(1, async ({ of }) => {
      for (const command of ["pin", "unpin"]) {
        const { code, stderr } = await of(command, NOBODY);
        assert.equal(code, 3);
        assert.match(stderr, /code: checkpoint-not-found/);
      }
    }));
});

describe("retention", () => {
  test("is shown, and changed in part", () =>
    withStore(async (store) => {
      const retention = async (...args: string[]) => {
        const { json, stderr } = await run([
          ...["retention", "--store", store, "--job", "j", "--json"],
          ...args,
        ]);
        return json?.retention ?? stderr;
      };
      assert.deepEqual(await retention(), { minCount: 2 });
      assert.deepEqual(await retention("--min-count", "3", "--max-age", "36h"), {
        minCount: 3,
        maxAgeMs: 129_600_000,
      });
      const whole = { minCount: 3, maxCount: 10, maxAgeMs: 129_600_000 };
      assert.deepEqual(await retention("--max-count", "10"), whole);
      assert.match(await retention("--min-count", "11"), /not below minCount 11/);
      assert.match(await retention("--min-count", "0"), /"exitCode":2/);
      assert.deepEqual(await retention(), whole);
      assert.deepEqual(await retention("--max-age", "none", "--max-count", "none"), {
        minCount: 3,
      });
    }));

  test("is told in words", () =>
    withStore(async (store) => {
      const told = async (...args: string[]) =>
        (await run(["retention", "--store", store, "--job", "j", ...args])).stdout;
      assert.equal(await told(), "Job j keeps the newest 2 checkpoints\n");
      assert.equal(
        await told("--max-age", "14d", "--max-count", "9"),
        "Job j keeps the newest 2 checkpoints, and older ones: no older than 2w, at most 9 in all\n",
      );
      assert.equal(
        await told("--max-age", "90s", "--max-count", "none", "--min-count", "1"),
        "Job j keeps the newest 1 checkpoint, and older ones: no older than 90s\n",
      );
    }));
});

describe("--fallback", () => {
  test("takes the next older checkpoint when the wanted one is damaged", () =>
    withCheckpoints(2, async ({ of, on, store, uuids: [older, newer] }) => {
      const manifest = join(store, "jobs/j/checkpoints", `${newer}.json`);
      const bytes = await readFile(manifest);
      bytes[200] ^= 0x10;
      await writeFile(manifest, bytes);
      const plain = await of("restore", "--writer", "w");
      assert.deepEqual([plain.code, plain.stdout], [8, ""]);
      const restored = await of("restore", "--writer", "w", "--fallback");
      assert.equal(restored.code, 0, restored.stderr);
      assert.equal(restored.stdout, "one\ntwo\nthree\nchange 0\n");
      const watched = await on(TERMINAL, "restore", "--writer", "w", "--fallback");
      assert.deepEqual([watched.code, watched.stdout], [0, restored.stdout], watched.stderr);
      assert.equal(older < newer, true);
    }));
});
