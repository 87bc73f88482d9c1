import assert from "node:assert/strict";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { encodeChanges } from "../../src/engine/format/change_input.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { run, withFolder, withStore } from "./_run.ts";

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

async function checkpoint(store: string, ...more: string[]): Promise<string> {
  const { code, json, stderr } = await run([
    "checkpoint",
    ...["--store", store, "--job", "j", "--json"],
    ...more,
  ]);
  assert.equal(code, 0, stderr);
  return json.uuid;
}

async function change(path: string, at: number): Promise<void> {
  const bytes = await readFile(path);
  bytes[at] ^= 0x10;
  await writeFile(path, bytes);
}

async function onlyFile(...parts: string[]): Promise<string> {
  const [name] = await readdir(join(...parts));
  return join(...parts, name);
}

describe("checkpoint and ls", () => {
  test("show what was made", () =>
    withStore(async (store) => {
      const made = await run([
        "checkpoint",
        ...["--store", store, "--job", "j", "--identifier", "first", "--steps", "7"],
        ...["--processed-records", "18446744073709551615", "--metadata", '{"line":3}'],
      ]);
      assert.match(made.stdout, /^Checkpoint [0-9a-f-]{36} \(first\) of job j, .*\n$/);
      const [uuid] = UUID.exec(made.stdout) ?? [];
      const text = await run(["ls", "--store", store, "--job", "j"]);
      assert.match(text.stdout, new RegExp(`${uuid}.* head +first\n`));
      assert.match(text.stdout, /\nw +3 +3 +/);
      const { json } = await run(["ls", "--store", store, "--job", "j", "--json"]);
      assert.equal(json.checkpoints[0].uuid, uuid);
      assert.equal(json.checkpoints[0].processedRecords, "18446744073709551615");
      assert.equal(json.writers[0].nextOffset, 3);
    }));

  test("list the jobs of a store", () =>
    withStore(async (store) => {
      const text = await run(["ls", "--store", store]);
      assert.deepEqual([text.code, text.stdout], [0, "j\n"]);
      const { json } = await run(["ls", "--store", store, "--json"]);
      assert.deepEqual(json, { jobs: [{ job: "j" }] });
      const missing = await run(["ls", "--store", store, "--job", "nope"]);
      assert.equal(missing.code, 3);
    }));
});

describe("resume", () => {
  test("answers where the pipeline starts again", () =>
    withStore(async (store) => {
      const uuid = await checkpoint(store);
      await run(["append", "--store", store, "--job", "j", "--writer", "w"], { stdin: "four\n" });
      const where = ["--store", store, "--job", "j"];
      const tail = await run(["resume", ...where, "--at", "tail"]);
      assert.match(tail.stdout, /starts again from its tail, run 2\n.*\nw +4\n/);
      const latest = await run(["resume", ...where, "--json"]);
      assert.deepEqual([latest.json.run, latest.json.checkpoint.uuid], [3, uuid]);
      assert.equal(latest.json.writers[0].nextOffset, 3);
    }));

  test("takes a checkpoint of another fingerprint when that is accepted by name", () =>
    withStore(async (store) => {
      const uuid = await checkpoint(store);
      {
        await using opened = await openStore(store);
        await opened.job("j", { fingerprint: 7n });
      }
      const resume = ["resume", "--store", store, "--job", "j", "--json"];
      const refused = await run(resume);
      assert.deepEqual([refused.code, refused.stdout], [4, ""]);
      assert.match(refused.stderr, /fingerprint-mismatch/);
      const accepted = await run([...resume, "--accept-fingerprint", "5,0"]);
      assert.equal(accepted.json.checkpoint.uuid, uuid);
    }));
});

describe("restore", () => {
  test("writes each format, and takes part of it", () =>
    withStore(async (store) => {
      const uuid = await checkpoint(store);
      const where = ["restore", "--store", store, "--job", "j", "--writer", "w"];
      const lines = await run(where);
      assert.deepEqual([lines.code, lines.stdout], [0, "one\ntwo\nthree\n"]);
      assert.match(lines.stderr, /^Restored 3 changes of j\/w, 3 confirmed, hash [0-9a-f]{16}\n$/);
      const json = await run([...where, "--format", "ndjson", "--at", uuid, "--from", "2"]);
      assert.equal(json.stdout, '{"keyGroup":0,"data":"three"}\n');
      const cbor = await run([...where, "--format", "cborseq"]);
      const data = ["one", "two", "three"].map((text) => new TextEncoder().encode(text));
      const { bytes } = encodeChanges(data.map((item) => ({ keyGroup: 0, data: item })));
      assert.deepEqual(cbor.stdoutBytes, bytes);
      const none = await run([...where, "--key-groups", "1-5"]);
      assert.deepEqual([none.code, none.stdout], [0, ""]);
    }));

  test("into a file gives it its name when it is whole", () =>
    withStore(async (store, folder) => {
      const output = join(folder, "out", "restored.txt");
      const where = ["restore", "--store", store, "--job", "j", "--writer", "w", "--at", "tail"];
      const missing = await run([...where, "-o", output]);
      assert.equal(missing.code, 2);
      assert.match(missing.stderr, /Cannot write .*restored.txt: there is no such file or folder/);
      await mkdir(join(folder, "out"));
      await writeFile(output, "before");
      const { code, json } = await run([...where, "-o", output, "--json"]);
      assert.deepEqual([code, json.count, json.output], [0, 3, output]);
      assert.equal(await readFile(output, "utf8"), "one\ntwo\nthree\n");
      assert.deepEqual(await readdir(join(folder, "out")), ["restored.txt"]);
      await symlink(output, join(folder, "link"));
      const linked = await run([...where, "-o", join(folder, "link"), "--from", "2"]);
      assert.equal(linked.code, 0, linked.stderr);
      assert.equal(await readFile(output, "utf8"), "three\n");
    }));

  test("that fails leaves a file as it was, and nothing else", () =>
    withStore(async (store, folder) => {
      await checkpoint(store);
      const output = join(folder, "restored.txt");
      await writeFile(output, "before");
      await change(await onlyFile(store, "jobs/j/changelog/main"), 240);
      const where = ["restore", "--store", store, "--job", "j", "--writer", "w"];
      const { code, stderr } = await run([...where, "-o", output]);
      assert.equal(code, 8, stderr);
      assert.equal(await readFile(output, "utf8"), "before");
      assert.deepEqual((await readdir(folder)).sort(), ["restored.txt", "store"]);
    }));

  test("writes to what is no file as it is", () =>
    withStore(async (store) => {
      const where = ["restore", "--store", store, "--job", "j", "--writer", "w", "--at", "tail"];
      const { code, stderr } = await run([...where, "-o", "/dev/null"]);
      assert.equal(code, 0, stderr);
    }));
});

describe("verify", () => {
  test("tells whole from damaged", () =>
    withStore(async (store) => {
      await checkpoint(store);
      const where = ["verify", "--store", store, "--job", "j", "--full"];
      const whole = await run(where);
      assert.equal(whole.code, 0, whole.stderr);
      assert.match(whole.stdout, /^Job j is whole: 1 checkpoint, 1 file, 3 changes/);
      await change(await onlyFile(store, "jobs/j/changelog/main"), 240);
      const damaged = await run(where);
      assert.equal(damaged.code, 8);
      assert.match(damaged.stdout, /^bad: jobs\/j\/changelog\/main\/.*\nJob j is damaged/);
      const asJson = await run([...where, "--json"]);
      assert.deepEqual([asJson.code, asJson.json.ok, asJson.json.problems.length > 0], [
        8,
        false,
        true,
      ]);
    }));
});

describe("verify without --full", () => {
  test("looks only at what is there, and at sizes", () =>
    withStore(async (store) => {
      const older = await checkpoint(store);
      await checkpoint(store);
      const where = ["verify", "--store", store, "--job", "j"];
      await change(await onlyFile(store, "jobs/j/changelog/main"), 240);
      const whole = await run(where);
      assert.equal(whole.code, 0, whole.stderr);
      assert.match(whole.stdout, /^Job j has all it needs: 2 checkpoints, 1 file; --full checks/);
      const manifest = join(store, "jobs/j/checkpoints", `${older}.json`);
      await writeFile(manifest, (await readFile(manifest)).subarray(0, 100));
      const cut = await run([...where, "--json"]);
      assert.deepEqual([cut.code, cut.json.level, cut.json.ok], [8, "quick", false], cut.stderr);
    }));
});

describe("show", () => {
  test("shows the newest checkpoint, or another one, with all that it holds", () =>
    withStore(async (store) => {
      const first = await checkpoint(store, "--identifier", "noon", "--metadata", '{"line":3}');
      const where = ["show", "--store", store, "--job", "j"];
      const text = await run(where);
      assert.equal(text.code, 0, text.stderr);
      assert.match(text.stdout, new RegExp(`^Checkpoint ${first} of job j\n`));
      for (
        const line of [
          / identifier +noon\n/,
          / size +[\d.]+ KiB, shared ones included\n/,
          / state +head\n/,
          / metadata +\{"line":3\}\n/,
          /\nw +3 +0 to 2147483647\n/,
          /\njobs\/j\/changelog\/main\/.* +\d+ bytes\n$/,
        ]
      ) assert.match(text.stdout, line);
      const second = await checkpoint(store);
      const { json } = await run([...where, "--at", first.toUpperCase(), "--json"]);
      assert.deepEqual([json.job, json.uuid, json.metadata.line], ["j", first, 3]);
      assert.equal((await run([...where, "--json"])).json.uuid, second);
    }));

  test("finds no checkpoint where there is none", () =>
    withStore(async (store) => {
      const where = ["show", "--store", store, "--job", "j"];
      assert.equal((await run(where)).code, 3);
      const tail = await run([...where, "--at", "tail"]);
      assert.deepEqual([tail.code, tail.stdout], [2, ""]);
      assert.match(tail.stderr, /a tail is no checkpoint/);
    }));
});

describe("du", () => {
  test("counts a job by kind and by checkpoint", () =>
    withStore(async (store) => {
      const uuid = await checkpoint(store);
      const where = ["du", "--store", store, "--job", "j"];
      const text = await run(where);
      assert.equal(text.code, 0, text.stderr);
      assert.match(text.stdout, /^KIND +SIZE +OBJECTS\n/);
      assert.match(text.stdout, /\nchangelog +\d+ bytes +1\n/);
      assert.match(text.stdout, new RegExp(`\nCHECKPOINT .*\n${uuid} +.*\n$`));
      const { json } = await run([...where, "--json"]);
      assert.deepEqual([json.job, json.kinds.checkpoints.objects], ["j", 1]);
      assert.equal(json.checkpoints[0].uuid, uuid);
    }));

  test("counts all jobs of a store", () =>
    withStore(async (store) => {
      const more = ["append", "--store", store, "--job", "k", "--writer", "w"];
      await run(more, { stdin: "x\n" });
      const text = await run(["du", "--store", store]);
      assert.match(text.stdout, /^JOB .*\nj .*\nk .*\n\(all\) .*\n$/);
      const { json } = await run(["du", "--store", store, "--json"]);
      const sum = json.jobs.reduce((all: number, { bytes }: { bytes: number }) => all + bytes, 0);
      assert.deepEqual([json.jobs.length, json.bytes], [2, sum]);
    }));
});

describe("inspect", () => {
  test("shows a change file", () =>
    withStore(async (store) => {
      const path = await onlyFile(store, "jobs/j/changelog/main");
      const { code, stdout } = await run(["inspect", path]);
      assert.equal(code, 0);
      assert.match(stdout, /^Change file 1 of epoch 1, job j, log main, run 1\n/);
      assert.match(stdout, /w epoch 1 set 0: 3 changes from offset 0, key groups 0 to 0\n/);
      assert.match(stdout, /Sealed at byte \d+\n$/);
      const { json } = await run(["inspect", path, "--json"]);
      assert.deepEqual([json.kind, json.header.job, json.batches.length], ["change-file", "j", 1]);
      assert.equal(json.end.kind, "end-frame");
    }));

  test("says how far a change file is good", () =>
    withStore(async (store, folder) => {
      const path = await onlyFile(store, "jobs/j/changelog/main");
      const cut = join(folder, "cut");
      await writeFile(cut, (await readFile(path)).subarray(0, 300));
      const { code, stdout } = await run(["inspect", cut]);
      assert.equal(code, 8);
      assert.match(stdout, /Good to byte \d+ of 300; after that: /);
    }));

  test("shows small facts, and finds a wrong checksum", () =>
    withStore(async (store, folder) => {
      const { stdout, code } = await run(["inspect", join(store, "TIDEMARK")]);
      assert.equal(code, 0);
      assert.match(stdout, /^[a-z]+, \d+ bytes, checksum good\n\{/);
      const owner = await onlyFile(store, "jobs/j/owners");
      assert.equal((await run(["inspect", owner])).code, 0);
      const wrong = join(folder, "wrong");
      await writeFile(wrong, await readFile(owner));
      await change(wrong, 120);
      assert.equal((await run(["inspect", wrong])).code, 8);
    }));

  test("refuses what is neither", () =>
    withFolder(async (folder) => {
      const path = join(folder, "text");
      await writeFile(path, "hello");
      const { code, stderr } = await run(["inspect", path]);
      assert.equal(code, 2);
      assert.match(stderr, /begins neither like a change file nor like a small fact/);
      assert.match(stderr, /code: invalid-request/);
      await writeFile(path, "");
      assert.equal((await run(["inspect", path])).code, 2);
    }));
});

test("reading verbs leave a store as it is", () =>
  withStore(async (store) => {
    await checkpoint(store);
    // Readers hold a lease while they read; the folder of leases stays, and is empty.
    const list = async () =>
      (await readdir(store, { recursive: true })).filter((path) => path !== "jobs/j/readers")
        .sort();
    const before = await list();
    const ofJob = ["--job", "j"];
    const verbs = [
      ["ls"],
      ["ls", ...ofJob],
      ["show", ...ofJob],
      ["verify", ...ofJob],
      ["verify", ...ofJob, "--full"],
      ["du"],
      ["du", ...ofJob],
      ["restore", ...ofJob, "--writer", "w"],
    ];
    for (const verb of verbs) assert.equal((await run([...verb, "--store", store])).code, 0);
    assert.deepEqual(await list(), before);
  }));
