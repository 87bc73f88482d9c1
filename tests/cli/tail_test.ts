import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { OpenStore } from "../../src/cli/command.ts";
import type { EncodedChanges, Job } from "../../src/engine/types.ts";
import { changesFromLines } from "../../src/engine/format/change_input.ts";
import { createApp } from "../../src/http/mod.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { ForgettingDisk } from "../doubles/forgetting_file_system.ts";
import { posixOn } from "../doubles/posix_on_double.ts";
import { lines, Place } from "./_place.ts";
import { type Ran, run, TestIo } from "./_run.ts";

/** The job that is followed, and its owner. */
interface Followed {
  job: Job;
  /** Makes lines durable. */
  append(writer: string, ...lines: string[]): Promise<void>;
  /** Ends the owner and begins another. */
  restart(): Promise<void>;
  /** Whether a sidecar answers. */
  isAway: boolean;
}

type Step = (followed: Followed) => Promise<unknown> | unknown;

function linesOf(lines: readonly string[]): EncodedChanges {
  return changesFromLines(new TextEncoder().encode(lines.map((line) => `${line}\n`).join("")));
}

/** Runs tail on a job with lines `one` and `two` of writer w; each wait of it is one step of the owner. */
async function follow(
  side: "store" | "url",
  args: readonly string[],
  steps: readonly Step[],
): Promise<Ran> {
  const disk = new ForgettingDisk();
  const open: OpenStore = (_, given) =>
    openStore(posixOn(disk), { ...given, persistDelayMs: 0, codecThreads: 0 });
  let store = await open("/disk/store", {});
  const followed: Followed = {
    job: await store.job("j"),
    isAway: false,
    async append(writer, ...lines) {
      await this.job.writer(writer).appendAt(undefined, linesOf(lines));
    },
    async restart() {
      await store.close();
      store = await open("/disk/store", {});
      this.job = await store.job("j");
    },
  };
  await followed.append("w", "one", "two");
  const left = [...steps];
  const io: TestIo = new TestIo({
    openStore: open,
    io: {
      fetch: (request) =>
        followed.isAway
          ? Promise.reject(new TypeError("connection refused"))
          : createApp(store).fetch(request),
      // The last step is followed by one more look.
      sleep: async () => {
        const step = left.shift();
        if (step === undefined) io.signal("SIGTERM");
        else await step(followed);
      },
    },
  });
  const place = side === "store" ? "/disk/store" : "http://127.0.0.1:7460";
  const ran = await io.run(["tail", `--${side}`, place, "--job", "j", ...args]);
  await store.close();
  return ran;
}

for (const side of ["store", "url"] as const) {
  describe(`tail --${side}`, () => {
    test("prints what becomes durable from then on, until a signal", async () => {
      const { code, stdout, stderr } = await follow(side, ["--writer", "w"], [
        () => {},
        (followed) => followed.append("w", "three"),
        () => {},
        (followed) => followed.append("w", "four", "five"),
      ]);
      assert.deepEqual([code, stdout], [143, "three\nfour\nfive\n"]);
      assert.equal(stderr, "Next offsets: w 5\n");
    });

    test("begins at an offset, in the formats of restore", async () => {
      const lines = await follow(side, ["--writer", "w", "--from", "1"], [() => {}]);
      assert.equal(lines.stdout, "two\n");
      const json = await follow(side, ["--writer", "w", "--from", "0", "--format", "ndjson"], [
        () => {},
      ]);
      assert.equal(json.stdout, '{"keyGroup":0,"data":"one"}\n{"keyGroup":0,"data":"two"}\n');
      const cbor = await follow(side, ["--writer", "w", "--from", "0", "--format", "cborseq"], [
        () => {},
      ]);
      assert.deepEqual(cbor.stdoutBytes, linesOf(["one", "two"]).bytes);
      const later = await follow(side, ["--writer", "w", "--from", "3"], [
        (followed) => followed.append("w", "three"),
        (followed) => followed.append("w", "four"),
      ]);
      assert.equal(later.stdout, "four\n");
    });

    test("says whose each line is, of all writers and those that come", async () => {
      const steps: Step[] = [
        (followed) => followed.append("v", "new"),
        (followed) => followed.append("w", "three"),
      ];
      assert.equal((await follow(side, [], steps)).stdout, "v: new\nw: three\n");
      assert.equal(
        (await follow(side, ["--format", "ndjson"], steps)).stdout,
        '{"writer":"v","offset":0,"keyGroup":0,"data":"new"}\n' +
          '{"writer":"w","offset":2,"keyGroup":0,"data":"three"}\n',
      );
    });

    test("waits for a writer that is not there yet, and says so", async () => {
      const { stdout, stderr } = await follow(side, ["--writer", "v"], [
        (followed) => followed.append("w", "other"),
        (followed) => followed.append("v", "mine"),
      ]);
      assert.equal(stdout, "mine\n");
      assert.match(stderr, /^Writer v of job j is not there yet: waiting for it\n/);
    });

    test("goes on when its owner restarts", async () => {
      const { stdout } = await follow(side, ["--writer", "w"], [
        (followed) => followed.append("w", "three"),
        (followed) => followed.restart(),
        (followed) => followed.append("w", "four"),
      ]);
      assert.equal(stdout, "three\nfour\n");
    });

    test("says what a resume took back, also where as much has come in its place", async () => {
      const { stdout, stderr } = await follow(side, ["--writer", "w"], [
        ({ job }) => job.checkpoint(),
        (followed) => followed.append("w", "lost", "lost too"),
        async (followed) => {
          await followed.job.resume();
          await followed.append("w", "better", "and", "more");
        },
        async ({ job }) => void await job.resume(),
      ]);
      assert.equal(stdout, "lost\nlost too\nbetter\nand\nmore\n");
      assert.match(
        stderr,
        /^Writer w was rewound from offset 4 to 2: job j was resumed, run 2\n.* 5 to 2: .* run 3\n/,
      );
      assert.match(stderr, /\nNext offsets: w 2\n$/);
    });
  });
}

test("tail waits for a sidecar that is away, and says so once", async () => {
  const { stdout, stderr } = await follow("url", ["--writer", "w", "--json"], [
    (followed) => void (followed.isAway = true),
    (followed) => followed.append("w", "three"),
    async (followed) => {
      await followed.restart();
      followed.isAway = false;
    },
  ]);
  assert.equal(stdout, "three\n");
  const told = stderr.trimEnd().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(told, [{ job: "j", isAway: true }, { job: "j", isAway: false }, {
    job: "j",
    writers: [{ writer: "w", nextOffset: 3 }],
  }]);
});

test("tail refuses what can't be", async () => {
  const wrong: [string[], RegExp][] = [
    [["--format", "cborseq"], /Cannot use --format cborseq without --writer/],
    [["--interval", "1ms"], /wants at least 10ms/],
    [["--interval", "soon"], /wants a time such as/],
  ];
  for (const [args, message] of wrong) {
    const { code, stderr } = await run(["tail", "--job", "j", "--store", "/none", ...args]);
    assert.equal(code, 2);
    assert.match(stderr, message);
  }
  const missing = await run(["tail", "--job", "j", "--store", "/none"]);
  assert.equal(missing.code, 3, missing.stderr);
});

test("tail reads a folder only when its files have changed, and rests longer where that is slow", async () => {
  const place = new Place();
  await place.fill({ w: lines("one") });
  let [opened, looks] = [0, 0];
  const open: OpenStore = async (root, given) => {
    const store = await place.open(root, given);
    const reader = store.reader.bind(store);
    return Object.assign(store, { reader: (id: string) => (opened++, reader(id)) });
  };
  const waits: number[] = [];
  let nowMs = 0;
  const io: TestIo = new TestIo({
    openStore: open,
    io: {
      monotonicMs: () => nowMs += 500,
      sleep: async (delayMs) => {
        waits.push(delayMs);
        if (looks === 2) await place.fill({ w: lines("two") });
        if (++looks === 5) io.signal("SIGTERM");
      },
    },
  });
  const { stdout } = await io.run(["tail", "--store", "/disk/store", "--job", "j"]);
  assert.equal(stdout, "w: two\n");
  // At the start, at the first look, and when something had come; what its owner did comes on top.
  assert.equal(opened, 3);
  assert.deepEqual(waits, [1000, 2000, 2000, 2000, 2000]);
});
