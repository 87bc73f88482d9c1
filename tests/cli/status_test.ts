import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { JobState } from "../../src/cli/commands/_job_state.ts";
import { warningsOf } from "../../src/cli/commands/_warnings.ts";
import type { StoreSummary } from "../../src/cli/target/target.ts";
import { createApp } from "../../src/http/mod.ts";
import { lines, Place } from "./_place.ts";
import { run, TestIo, withFolder } from "./_run.ts";

const HOUR_MS = 3_600_000;
const MIB = 1024 * 1024;

describe("status", () => {
  test("shows jobs with run, owner, offsets, checkpoint and size, and owns none", async () => {
    const place = new Place();
    const uuid = await place.fill({ w: lines("one", "two") });
    await using store = await place.open("", {});
    const job = await store.job("j");
    await job.resume();
    await place.open("", {}).then((other) => other.close());
    const { json } = await place.run(["status", "--json"]);
    const [found] = json.jobs;
    assert.deepEqual([found.job, found.run, found.epoch, found.checkpoints], [
      "j",
      2,
      job.epoch,
      1,
    ]);
    assert.equal(found.newestCheckpoint.uuid, uuid);
    assert.deepEqual([found.sinceCheckpoint, found.writers[0].durableOffset], [0, 2]);
    assert.equal(found.owner.isAlive, true);
    assert.equal(found.bytes > 0 && found.objects > 0, true);
    const io = { nowMs: () => found.newestCheckpoint.createdAtMs + 2 * HOUR_MS };
    const { stdout } = await place.run(["status"], { io });
    assert.match(stdout, /^Store \/disk\/store \(01[-0-9a-f]+\), format 1, looked at by Tidemark /);
    assert.match(
      stdout,
      /\nj +2 +\d +node 20.0.0, process \d+ on test-host +1 +2 h 0 min ago +0 +/,
    );
    assert.match(stdout, /\nj +w +2 +2\n$/);
    await job.checkpoint();
    await store.close();
    const after = await place.run(["status", "--job", "j"], { io });
    assert.match(after.stdout, / none for .* \(node 20.0.0, process \d+ on test-host\) /);
  });

  test("tells what is wrong with a job, beside the others", () =>
    withFolder(async (folder) => {
      const store = ["--store", join(folder, "store")];
      for (const job of ["bad", "good"]) {
        await run(["append", ...store, "--job", job, "--writer", "w"], { stdin: "one\n" });
      }
      const catalog = join(folder, "store/jobs/bad/catalog");
      for (const name of await readdir(catalog)) await writeFile(join(catalog, name), "damaged");
      const { code, json } = await run(["status", ...store, "--json"]);
      assert.equal(code, 0);
      assert.deepEqual(json.jobs.map((job: JobState) => [job.job, job.problem?.code]), [
        ["bad", "catalog-lost"],
        ["good", undefined],
      ]);
      assert.deepEqual(json.warnings.map(({ code }: { code: string }) => code), [
        "catalog-lost",
        "no-checkpoint",
      ]);
      const { stdout } = await run(["status", ...store]);
      assert.match(stdout, /\nbad +\? +\? +not known +\? +\? +\? +\?\ngood +1 /);
      assert.match(stdout, /\nwarning: job bad: Cannot .*\nwarning: job good has 1 change and no /);
      assert.equal((await run(["status", ...store, "--job", "none"])).code, 3);
    }));

  test("opens no job at a sidecar that has not opened it", async () => {
    const place = new Place();
    await place.fill({ w: lines("one") });
    await using store = await place.open("", {});
    const app = createApp(store);
    const io = () => new TestIo({ io: { fetch: (request) => app.fetch(request) } });
    const url = ["status", "--url", "http://127.0.0.1:7460"];
    const before = await io().run(url);
    assert.match(before.stdout, /\nj +not open here/);
    assert.deepEqual((await store.status()).jobs, []);
    const asked = await io().run([...url, "--job", "j"]);
    assert.match(asked.stdout, /^Store \/disk\/store .* served by Tidemark \S+ for 0 s\n/);
    assert.match(asked.stdout, /\nj +1 /);
    assert.match((await io().run(url)).stdout, /\nj +1 +\d +this sidecar +1 /);
  });

  test("says that a store is empty, or not there", async () => {
    const place = new Place();
    await (await place.open("", {})).close();
    assert.match((await place.run(["status"])).stdout, /\n\nNo jobs\n$/);
    assert.equal((await run(["status", "--store", "/none"])).code, 3);
  });
});

describe("warnings of status", () => {
  const store: StoreSummary = {
    id: "i",
    location: "here",
    version: "1",
    formatVersion: 1,
    isFull: false,
    bytesFree: 50 * MIB,
    bytesTotal: 100 * MIB,
  };
  const newestCheckpoint = { uuid: "u", createdAtMs: 0 };
  const job: JobState = { job: "j", newestCheckpoint, sinceCheckpoint: 5 };

  const cases: [string, Partial<StoreSummary>, Partial<JobState>, number, string[]][] = [
    ["nothing", {}, {}, HOUR_MS, []],
    ["an old checkpoint", {}, {}, HOUR_MS + 1, ["checkpoint-old"]],
    ["an old checkpoint that holds all", {}, { sinceCheckpoint: 0 }, 9 * HOUR_MS, []],
    ["no checkpoint", {}, { newestCheckpoint: null }, 0, ["no-checkpoint"]],
    ["a job without anything", {}, { newestCheckpoint: null, sinceCheckpoint: 0 }, 0, []],
    ["a long tail", {}, { sinceCheckpoint: 1_000_001 }, 0, ["tail-long"]],
    ["a tail that is not", {}, { sinceCheckpoint: 1_000_000 }, 0, []],
    ["little room", { bytesFree: 9 * MIB }, {}, 0, ["disk-low"]],
    ["some room", { bytesFree: 10 * MIB }, {}, 0, []],
    ["room of unknown size", { bytesFree: 1, bytesTotal: undefined }, {}, 0, []],
    ["a limit that is near", { bytesUsed: 81, bytesMax: 100 }, {}, 0, ["limit-near"]],
    ["a limit that is not", { bytesUsed: 80, bytesMax: 100 }, {}, 0, []],
    ["a full store", { isFull: true }, {}, 0, ["storage-full"]],
    [
      "a store that can't be written",
      { isFull: true, problem: { code: "storage-full", message: "no room" } },
      {},
      0,
      ["storage-full"],
    ],
    [
      "a job that is fenced",
      {},
      { problem: { code: "fenced", message: "taken over" } },
      0,
      ["fenced"],
    ],
    [
      "a job that nobody opened",
      {},
      { newestCheckpoint: undefined, sinceCheckpoint: undefined },
      0,
      [],
    ],
  ];
  for (const [name, ofStore, ofJob, nowMs, codes] of cases) {
    test(`for ${name}: ${codes.join() || "none"}`, () => {
      const found = warningsOf({ ...store, ...ofStore }, [{ ...job, ...ofJob }], nowMs);
      assert.deepEqual(found.map(({ code }) => code), codes);
    });
  }
});
