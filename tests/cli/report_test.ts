import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { UUID } from "../../src/engine/uuid.ts";
import { main } from "../../src/cli/cli.ts";
import { TidemarkError } from "../../src/engine/errors.ts";
import { createCliIo } from "../../src/runtime/cli_io.ts";
import { run, TestIo, withFolder, withStore } from "./_run.ts";

const TO_W = ["--job", "j", "--writer", "w"];
const noRoom = () =>
  Promise.reject(new TidemarkError("storage-full", "Cannot write to stdout: no space"));

async function filesOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name).sort();
}

describe("where stdout takes nothing", () => {
  test("append says that the changes are durable", () =>
    withFolder(async (folder) => {
      const args = ["append", "--store", join(folder, "store"), ...TO_W];
      const { code, stderr } = await run(args, { stdin: "a\nb\n", io: { writeOutput: noRoom } });
      assert.equal(code, 7);
      assert.match(stderr, /2 changes of this input durable, offsets 0 to 1; continue at 2/);
      assert.match(stderr, /Cannot write to stdout: no space; what was asked for is done/);
      assert.match(stderr, /outcome: applied/);
    }));

  test("restore says so", () =>
    withStore(async (store) => {
      const args = ["restore", "--store", store, ...TO_W, "--at", "tail"];
      const { code, stderr } = await run(args, { io: { writeOutput: noRoom } });
      assert.equal(code, 7);
      assert.match(stderr, /^error: Cannot write to stdout: no space\n/);
    }));
});

test("a busy job offers to take it over", async () => {
  const busy = () => Promise.reject(new TidemarkError("job-busy", "Cannot open job j: busy"));
  const io = new TestIo();
  assert.equal(await main(["checkpoint", "--job", "j"], io.io, busy), 4);
  assert.match(io.stderr, /next: .*\(--url\), or take the job from it with --take-over\n/);
});

describe("restore that a signal interrupts", () => {
  for (const json of [[], ["--json"]]) {
    test(`leaves no file and no lease behind, and says so ${json.join("")}`, () =>
      withStore(async (store, folder) => {
        const before = await filesOf(folder);
        const io: TestIo = new TestIo({
          io: {
            // The lease is let go in time, however busy the disk is.
            sleep: () => new Promise(() => {}),
            createFile: async (path) => {
              const file = await createCliIo().createFile(path);
              const write = (bytes: Uint8Array): Promise<void> => {
                io.signal("SIGINT");
                return file.write(bytes);
              };
              return { ...file, write };
            },
          },
        });
        const output = join(folder, "out");
        const args = ["restore", "--store", store, ...TO_W, "--at", "tail", "-o", output];
        const { code, stdout, stderr } = await io.run([...args, ...json]);
        assert.deepEqual([code, stdout], [130, ""]);
        assert.equal(
          stderr,
          json.length > 0
            ? `{"interrupted":"SIGINT","output":${JSON.stringify(output)}}\n`
            : `Interrupted: ${output} was not written\n`,
        );
        assert.deepEqual(await filesOf(folder), before);
      }));
  }

  test("says that stdout is not whole, although nobody reads it any more", () =>
    withStore(async (store) => {
      const io: TestIo = new TestIo({
        io: {
          writeOutput: () => {
            io.signal("SIGTERM");
            return new Promise(() => {});
          },
        },
      });
      const { code, stderr } = await io.run(["restore", "--store", store, ...TO_W, "--at", "tail"]);
      assert.deepEqual([code, stderr], [
        143,
        "Interrupted: what was written to stdout is not whole\n",
      ]);
    }));
});

describe("with --json", () => {
  test("misuse has the fields of every error", async () => {
    const { code, stderr } = await run(["append", "--jbo=1", "--json"]);
    const { error } = JSON.parse(stderr);
    assert.deepEqual([code, error.exitCode], [2, 2]);
    assert.deepEqual([error.code, error.kind, error.outcome, error.retryable], [
      "usage",
      "invalid",
      "not-applied",
      false,
    ]);
    assert.match(error.nextStep, /^tidemark append --help/);
  });

  test("append that fails writes only JSON, with how far it came", () =>
    withStore(async (store, folder) => {
      const args = ["append", "--store", store, ...TO_W, "--format", "ndjson", "--json"];
      const { stderr } = await run(args, { stdin: "{bad}\n" });
      const { error } = JSON.parse(stderr);
      assert.equal(error.code, "invalid-change");
      assert.deepEqual([error.details.appended.count, error.details.appended.nextOffset], [
        0,
        null,
      ]);
      const fresh = ["append", "--store", join(folder, "new"), ...TO_W, "--json"];
      const made = await run(fresh, { stdin: "a\n" });
      const { created, id } = JSON.parse(made.stderr);
      assert.deepEqual([created, UUID.test(id)], [join(folder, "new"), true]);
    }));

  test("what the engine warns of is a line of JSON", async () => {
    const io = new TestIo();
    await main(["checkpoint", "--job", "j", "--json"], io.io, (_folder, options) => {
      options?.logger?.log("warning", "Something is odd", { error: new Error("why"), count: 1n });
      options?.logger?.log("info", "Something is there");
      return Promise.reject(new TidemarkError("store-not-found", "none"));
    });
    const [warning, error, ...rest] = io.stderr.trimEnd().split("\n").map((line) =>
      JSON.parse(line)
    );
    assert.deepEqual(warning, {
      level: "warning",
      message: "Something is odd",
      fields: { error: "Error: why", count: "1" },
    });
    assert.deepEqual([error.error.code, rest], ["store-not-found", []]);
  });

  test("restore to stdout keeps count and hash", () =>
    withStore(async (store) => {
      const args = ["restore", "--store", store, ...TO_W, "--at", "tail", "--json"];
      const { stdout, stderr } = await run(args);
      assert.equal(stdout, "one\ntwo\nthree\n");
      const { job, writer, count, hash } = JSON.parse(stderr);
      assert.deepEqual([job, writer, count], ["j", "w", 3]);
      assert.match(hash, /^[0-9a-f]{16}$/);
    }));

  test("serve tells its end as lines of JSON", () =>
    withFolder(async (folder) => {
      const listening = { hostname: "127.0.0.1", port: 1, url: "http://127.0.0.1:1" };
      const io: TestIo = new TestIo({
        io: {
          serve: () => Promise.resolve({ ...listening, close: () => Promise.resolve() }),
          writeOutput: () => Promise.resolve(io.signal("SIGTERM")),
        },
      });
      const { code, stderr } = await io.run(["serve", "--store", join(folder, "s"), "--json"]);
      assert.equal(code, 0, stderr);
      const records = stderr.trimEnd().split("\n").map((line) => JSON.parse(line));
      assert.deepEqual(records.map(({ logger, message }) => [logger, message.split(":")[0]]), [
        ["tidemark.serve", "New store"],
        ["tidemark.serve", "Closing"],
        ["tidemark.serve", "Closed"],
      ]);
      const [made, closing] = records.map(({ properties }) => properties);
      assert.deepEqual([made.store, UUID.test(made.id)], [join(folder, "s"), true]);
      assert.equal(closing.signal, "SIGTERM");
    }));
});
