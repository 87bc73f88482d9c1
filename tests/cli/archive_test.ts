import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { createApp } from "../../src/http/mod.ts";
import { lines, Place } from "./_place.ts";
import { run, TestIo, withFolder } from "./_run.ts";

const J = ["--job", "j"];
const ONE_TWO = [[0, "one"], [0, "two"]];

/** A job with two checkpoints and a change after them. */
async function filled(place: Place): Promise<string[]> {
  const uuids = [await place.fill({ w: lines("one") }), await place.fill({ w: lines("two") })];
  await place.run(["append", ...J, "--writer", "w"], { stdin: "three\n" });
  return uuids;
}

async function checkpointsOf(place: Place, job = "j"): Promise<string[]> {
  const { json } = await place.run(["ls", "--job", job, "--json"]);
  return json.checkpoints.map(({ uuid }: { uuid: string }) => uuid);
}

for (const side of ["store", "url"] as const) {
  test(`a whole job goes through an archive, with --${side}`, () =>
    withFolder(async (folder) => {
      const from = new Place(side);
      const uuids = await filled(from);
      const output = join(folder, "j.tar");
      const out = await from.run(["export", ...J, "--format", "archive", "-o", output]);
      assert.match(out.stdout, /^Exported job j as one archive, /, out.stderr);
      const to = new Place(side);
      const into = await to.run(["import", ...J, output]);
      assert.equal(into.code, 0, into.stderr);
      assert.match(into.stdout, /^Imported job j into .*: 2 checkpoints, \d+ objects, /);
      assert.deepEqual(await checkpointsOf(to), uuids);
      assert.deepEqual(await to.tailOf("w"), [...ONE_TWO, [0, "three"]]);
      const again = await to.run(["import", ...J, output]);
      assert.equal(again.code, 4);
      assert.match(
        again.stderr,
        /code: job-exists\n {2}next: Import under another name, or delete/,
      );
      const renamed = await to.run(["import", "--job", "copy", "--json"], {
        stdin: await readFile(output),
      });
      assert.deepEqual([renamed.json.job, renamed.json.from.job], ["copy", "j"]);
    }));

  test(`of one checkpoint that one alone, with --${side}`, async () => {
    const from = new Place(side);
    const [first] = await filled(from);
    const out = await from.run(["export", ...J, "--format", "archive", "--at", first]);
    assert.equal(out.code, 0, out.stderr);
    const to = new Place(side);
    await to.run(["import", ...J], { stdin: out.stdoutBytes });
    assert.deepEqual(await checkpointsOf(to), [first]);
    assert.deepEqual(await to.tailOf("w"), [[0, "one"]]);
  });

  test(`a job goes straight into another folder, and to another sidecar, with --${side}`, async () => {
    const from = new Place(side);
    const uuids = await filled(from);
    const toFolder = ["--to-store", "/disk/other", "--to-job", "copy"];
    const there = await from.run(["export", ...J, ...toFolder, "--json"]);
    assert.equal(there.code, 0, there.stderr);
    assert.deepEqual([there.json.job, there.json.from.job, there.json.checkpoints], [
      "copy",
      "j",
      2,
    ]);
    assert.match(there.stderr, /^\{"created":"\/disk\/other",/);
    assert.equal((await from.run(["export", ...J, ...toFolder])).code, 4);
    const none = ["export", "--job", "none", "--to-store", "/disk/none"];
    assert.equal((await from.run(none)).code, 3);
    await assert.rejects(from.open("/disk/none", { mode: "read" }), { code: "store-not-found" });
    const other = new Place();
    await using store = await other.open("", {});
    const app = createApp(store);
    const io = new TestIo({
      openStore: from.open,
      io: { fetch: (request) => app.fetch(request) },
    });
    const sent = await io.run(
      ["export", "--store", "/disk/store", ...J, "--to-url", "http://127.0.0.1:7461"],
    );
    assert.match(sent.stdout, /^Imported job j into http:\/\/127.0.0.1:7461: 2 checkpoints/);
    assert.deepEqual((await (await store.job("j")).checkpoints()).map(({ uuid }) => uuid), uuids);
  });
}

describe("an archive", () => {
  test("that is cut, or no archive of a job, leaves nothing", async () => {
    const from = new Place();
    await filled(from);
    const { stdoutBytes } = await from.run(["export", ...J, "--format", "archive"]);
    const changed = stdoutBytes.slice();
    changed[changed.length >> 1] ^= 1;
    for (const stdin of [stdoutBytes.slice(0, 3000), stdoutBytes.slice(0, -1024), changed]) {
      const to = new Place();
      const { code, stderr } = await to.run(["import", ...J], { stdin });
      assert.equal(code, 2, stderr);
      assert.match(stderr, /code: invalid-archive/);
      assert.deepEqual((await to.run(["ls", "--json"])).json.jobs, []);
    }
  });

  test("that a signal interrupts is not imported, and says so", async () => {
    const from = new Place();
    await filled(from);
    const { stdoutBytes } = await from.run(["export", ...J, "--format", "archive"]);
    const to = new Place();
    async function* interrupted(): AsyncGenerator<Uint8Array> {
      yield await Promise.resolve(stdoutBytes.slice(0, 2000));
      io.signal("SIGTERM");
      yield stdoutBytes.slice(2000);
    }
    const io: TestIo = new TestIo({ openStore: to.open, stdin: interrupted() });
    const { code, stderr } = await io.run(["import", "--store", "/disk/store", ...J]);
    assert.equal(code, 143, stderr);
    assert.match(stderr, /Interrupted: job j was not imported\n/);
    assert.deepEqual((await to.run(["ls", "--json"])).json.jobs, []);
  });

  test("shows how far it is", () =>
    withFolder(async (folder) => {
      const place = new Place();
      await filled(place);
      let seconds = 0;
      const watched = { isErrorTerminal: true, io: { monotonicMs: () => ++seconds * 1000 } };
      const output = join(folder, "j.tar");
      const out = await place.run(["export", ...J, "--format", "archive", "-o", output], watched);
      assert.match(out.stderr, /\rexporting job j 100% \[#+\] ([\d.]+ KiB) of \1/);
      const into = await new Place().run(["import", ...J, output], watched);
      assert.match(into.stderr, /\rimporting job j 100% \[#+\] ([\d.]+ KiB) of \1/);
    }));

  const wrong: [string[], RegExp][] = [
    [["export", "--format", "archive", "--writer", "w"], /--writer with an archive: it holds the/],
    [["export", "--to-store", "o", "--format", "ndjson"], /--format ndjson with --to-store or/],
    [["export", "--to-store", "o", "--to-url", "http://x"], /--to-store with --to-url/],
    [["export", "--to-store", "o", "-o", "f"], /--output with --to-store or --to-url/],
    [["export", "--to-job", "k"], /--to-job without --to-store or --to-url/],
    [["export", "--to-store", "o", "--to-job", "../k"], /job name/],
    [["export", "--format", "zip"], /wants ndjson, cborseq, archive/],
    [["import", "--writer", "w"], /--writer with an archive: it holds the whole job/],
  ];
  for (const [[name, ...args], message] of wrong) {
    test(`refuses ${name} ${args.join(" ")}`, () =>
      withFolder(async (folder) => {
        // What is looked at to tell an archive is its first block alone.
        const stdin = new Uint8Array(512);
        stdin.set(new TextEncoder().encode("ustar"), 257);
        const store = ["--store", join(folder, "store")];
        const { code, stderr } = await run([name, ...store, ...J, ...args], { stdin });
        assert.equal(code, 2, stderr);
        assert.match(stderr, message);
        assert.deepEqual(await readdir(folder), []);
      }));
  }
});

describe("delete-job", () => {
  const TERMINAL = { isErrorTerminal: true, isInputTerminal: true };

  test("says what goes, and wants the job's name typed", async () => {
    const place = new Place();
    const [first] = await filled(place);
    await place.run(["pin", ...J, first]);
    for (const stdin of ["y\n", "yes\n", "\n", ""]) {
      const no = await place.run(["delete-job", ...J], { ...TERMINAL, stdin });
      assert.deepEqual([no.code, no.stdout], [6, ""]);
      assert.match(
        no.stderr,
        /^Deletes job j: 2 checkpoints \(1 pinned\), \d+ objects, .*\nType j /,
      );
    }
    assert.deepEqual((await place.run(["ls"])).stdout, "j\n");
    const done = await place.run(["delete-job", ...J], { ...TERMINAL, stdin: "j\n" });
    assert.match(done.stdout, /^Deleted job j: 2 checkpoints, \d+ objects, .* freed\n$/);
    assert.deepEqual((await place.run(["ls", "--json"])).json.jobs, []);
  });

  test("only looks with --dry-run, and wants --yes where nobody can be asked", async () => {
    const place = new Place();
    await filled(place);
    const look = await place.run(["delete-job", ...J, "--dry-run", "--json"]);
    assert.deepEqual([look.json.isDryRun, look.json.checkpoints, look.json.pinned], [true, 2, 0]);
    const refused = await place.run(["delete-job", ...J]);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /there is no terminal to ask at; .* --dry-run, then give --yes/);
    assert.deepEqual((await place.run(["ls"])).stdout, "j\n");
  });

  for (const side of ["store", "url"] as const) {
    test(`says that there is none, with --${side}`, async () => {
      const place = new Place(side);
      await place.fill({});
      const { code, stderr } = await place.run(["delete-job", "--job", "k", "--yes"]);
      assert.equal(code, 3, stderr);
      assert.match(stderr, /code: job-not-found/);
    });
  }

  test("deletes a job of which a checkpoint can't be read", () =>
    withFolder(async (folder) => {
      const store = ["--store", join(folder, "store")];
      await run(["append", ...store, ...J, "--writer", "w"], { stdin: "one\n" });
      await run(["checkpoint", ...store, ...J]);
      const manifests = join(folder, "store/jobs/j/checkpoints");
      for (const name of await readdir(manifests)) await writeFile(join(manifests, name), "bad");
      const look = await run(["delete-job", ...store, ...J, "--dry-run"]);
      assert.match(look.stdout, /^Deletes job j, which can't be read: /, look.stderr);
      const done = await run(["delete-job", ...store, ...J, "--yes"]);
      assert.equal(done.code, 0, done.stderr);
      assert.deepEqual((await run(["ls", ...store, "--json"])).json.jobs, []);
    }));
});
