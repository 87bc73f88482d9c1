import assert from "node:assert/strict";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { type BenchFigures, describeFigures } from "../../src/cli/commands/_bench_text.ts";
import { measureAppends, percentile } from "../../src/cli/commands/_measure.ts";
import type { Target } from "../../src/cli/target/target.ts";
import type { EncodedChanges } from "../../src/engine/types.ts";
import { createApp } from "../../src/http/mod.ts";
import { makeTemporaryFolder } from "../../src/runtime/temporary_folder.ts";
import { Place } from "./_place.ts";
import { run, TestIo, withFolder } from "./_run.ts";

const SMALL = ["--time", "20ms", "--bytes-max", "65536"];
const URL = ["--url", "http://127.0.0.1:7460"];
const TERMINAL = { isErrorTerminal: true, isInputTerminal: true };

describe("bench of a folder", () => {
  test("measures, says what it means, and leaves nothing, whether the folder was there or not", () =>
    withFolder(async (folder) => {
      const missing = join(folder, "a", "b");
      const { code, stdout, stderr } = await run(["bench", "--store", missing, ...SMALL]);
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^Measured .*\/a\/b: appends that are durable when they are answered\n/);
      assert.match(
        stdout,
        /\nsync of the disk +[\d.]+ ms +[\d.]+ ms\n1 client, 1.0 KiB each +\d+ app/,
      );
      assert.match(
        stdout,
        /\nA pipeline that waits for each append makes \d+ a second; 32 at once /,
      );
      const there = join(folder, "there");
      await mkdir(there);
      await writeFile(join(there, "something"), "else");
      assert.equal((await run(["bench", "--store", there, ...SMALL])).code, 0);
      assert.deepEqual(await readdir(there), ["something"]);
      assert.deepEqual((await readdir(folder)).sort(), ["a", "there"]);
      assert.deepEqual(await readdir(join(folder, "a")), []);
    }));

  test("leaves nothing when a signal ends it, and says so", () =>
    withFolder(async (folder) => {
      const io: TestIo = new TestIo({
        io: {
          measureSyncs: () => {
            io.signal("SIGINT");
            return Promise.resolve([1]);
          },
        },
      });
      const { code, stdout } = await io.run(["bench", "--store", folder, "--json", "--time", "9s"]);
      assert.equal(code, 130);
      assert.equal(JSON.parse(stdout).interrupted, "SIGINT");
      assert.deepEqual(await readdir(folder), []);
    }));
});

describe("bench of a sidecar", () => {
  test("asks first, measures a job of its own, and deletes it", async () => {
    await using store = await new Place().open("", {});
    const app = createApp(store);
    const fetch = (request: Request): Promise<Response> => app.fetch(request);
    const bench = (args: string[], options = {}) =>
      run(["bench", ...URL, ...SMALL, ...args], { ...options, io: { fetch } });
    const refused = await bench([]);
    assert.equal(refused.code, 2);
    assert.match(
      refused.stderr,
      /it writes to a sidecar in use, and there is no terminal to ask at/,
    );
    const no = await bench([], { ...TERMINAL, stdin: "n\n" });
    assert.equal(no.code, 6);
    assert.match(
      no.stderr,
      /^Writes up to 64.0 KiB to job bench-\S+ of http:\S+, and deletes it\n/,
    );
    assert.deepEqual(await store.jobs(), []);
    const done = await bench(["--yes", "--json"]);
    assert.equal(done.code, 0, done.stderr);
    assert.deepEqual([done.json.place, done.json.sync], ["http://127.0.0.1:7460", undefined]);
    assert.equal(done.json.one.appends > 0 && done.json.restore.bytes > 0, true);
    assert.deepEqual(await store.jobs(), []);
  });
});

test("bench refuses what can't be", async () => {
  const wrong: [string[], RegExp][] = [
    [["--time", "0s"], /wants more than none, and at most 1m/],
    [["--time", "2m"], /wants more than none, and at most 1m/],
    [["--bytes-max", "0"], /wants at least 1/],
    [["--change-bytes", "0"], /wants 1 to 262144/],
    [["--yes"], /Cannot use --yes without --url: it leaves nothing in a folder/],
    [["--bytes-max", "4503599627370496"], /give a smaller --bytes-max/],
  ];
  for (const [args, message] of wrong) {
    await withFolder(async (folder) => {
      const { code, stderr } = await run(["bench", "--store", folder, ...args]);
      assert.equal(code, 2, stderr);
      assert.match(stderr, message);
      assert.deepEqual(await readdir(folder), []);
    });
  }
});

describe("what bench measures", () => {
  test("ends at its time, at its bytes, or when it is asked to", async () => {
    let nowMs = 0;
    const appended: number[] = [];
    const target = {
      append: (_writer: string, { bytes }: EncodedChanges) => {
        nowMs += 10;
        appended.push(bytes.length);
        return Promise.resolve({});
      },
    } as unknown as Target;
    const load = { clients: 2, changes: 1, changeBytes: 100 };
    const bounds = { timeMs: 100, bytesMax: 1e9, monotonicMs: () => nowMs, isStopped: () => false };
    const timed = await measureAppends(target, load, bounds);
    assert.deepEqual([timed.appends, timed.bytes, timed.p50Ms], [10, 1000, 20]);
    const sized = await measureAppends(target, load, { ...bounds, bytesMax: 300 });
    assert.equal(sized.appends, 3);
    const stopped = await measureAppends(target, load, { ...bounds, isStopped: () => true });
    assert.deepEqual([stopped.appends, stopped.p99Ms], [0, 0]);
  });

  test("takes percentiles of what there is", () => {
    const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
    assert.deepEqual([percentile(hundred, 0.5), percentile(hundred, 0.99)], [51, 100]);
    assert.deepEqual([percentile([7], 0.99), percentile([], 0.5)], [7, 0]);
  });

  test("is told with what to make of it", () => {
    const appends = {
      clients: 1,
      appends: 10,
      bytes: 10,
      seconds: 1,
      appendsPerSecond: 10,
      bytesPerSecond: 10,
      p50Ms: 1,
      p99Ms: 2,
    };
    const restore = { bytes: 2 ** 30, seconds: 2, bytesPerSecond: 2 ** 29, isCut: false };
    const many = { ...appends, clients: 32, appendsPerSecond: 50 };
    const notesOf = (p50Ms: number, p99Ms: number): string => {
      const sync = { syncs: 9, p50Ms, p99Ms };
      const figures: BenchFigures = {
        place: "here",
        changeBytes: 1024,
        sync,
        one: appends,
        many,
        bulk: appends,
        restore,
      };
      return describeFigures(figures).notes.join("\n");
    };
    const usual = notesOf(1, 5);
    assert.match(usual, /makes 10 a second; 32 at once share syncs, and make 5.0 times as many/);
    assert.match(usual, /To restore takes about 2 s for each GiB/);
    assert.doesNotMatch(usual, /[Ss]yncs are|Some syncs/);
    assert.match(notesOf(0.01, 0.02), /quicker than a medium can be/);
    assert.match(notesOf(21, 30), /Syncs are slow/);
    assert.match(notesOf(0.2, 1), /--persist-delay-ms 0 is quicker where one client waits/);
    assert.doesNotMatch(notesOf(0.3, 1), /--persist-delay-ms 0/);
    assert.match(notesOf(1, 21), /Some syncs take far longer than most/);
  });
});

test("a temporary folder leaves its parent where something else came into it", () =>
  withFolder(async (folder) => {
    const parent = join(folder, "new");
    const made = await makeTemporaryFolder(parent, "x-");
    await writeFile(join(parent, "other"), "");
    await made[Symbol.asyncDispose]();
    assert.deepEqual(await readdir(parent), ["other"]);
  }));
