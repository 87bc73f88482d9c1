import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { resolve } from "node:path";
import { describe, test } from "node:test";
import { COMMANDS, main } from "../../src/cli/cli.ts";
import { EXIT_CODE_OF, EXIT_CODE_OF_SIGNAL } from "../../src/cli/exit_codes.ts";
import { ERROR_KINDS, TidemarkError } from "../../src/engine/errors.ts";
import type { StoreSettings } from "../../src/engine/settings.ts";
import type { Store } from "../../src/engine/types.ts";
import { VERSION } from "../../src/engine/version.ts";
import { BrokenPipeError } from "../../src/runtime/cli_io.ts";
import { run, TestIo, withFolder, withStore } from "./_run.ts";

const UUID = "01a22a92-1ae8-748b-b347-2026a263a87f";

describe("tidemark", () => {
  test("prints its version", async () => {
    const { code, stdout } = await run(["--version"]);
    const [first, ...facts] = stdout.split("\n");
    assert.deepEqual([code, first], [0, `tidemark ${VERSION}`]);
    assert.match(
      facts.join(),
      /commit +none: it runs from its sources,.*target .*runtime .*format +1/,
    );
    const { json } = await run(["--version", "--json"]);
    assert.deepEqual([json.version, json.formatVersion, json.build], [VERSION, 1, null]);
    assert.match(`${json.runtime} ${json.platform}`, /^(deno|bun|node) [0-9.]+ \w+-\w+$/);
  });

  test("lists its commands for --help, help and -h", async () => {
    for (const args of [["--help"], ["help"], ["-h"]]) {
      const { code, stdout, stderr } = await run(args);
      assert.deepEqual([code, stderr], [0, ""]);
      for (const { name, about } of COMMANDS) {
        assert.match(stdout, new RegExp(`  ${name} +${about}`));
      }
    }
  });

  test("explains each command for --help", async () => {
    for (const { name, options } of COMMANDS) {
      for (const args of [[name, "--help"], [name, "-h"], ["help", name]]) {
        const { code, stdout } = await run(args);
        assert.equal(code, 0, name);
        assert.match(stdout, new RegExp(`Usage: tidemark ${name}`));
        for (const option of Object.keys(options)) {
          assert.match(stdout, new RegExp(`--${option}\\b`));
        }
        assert.match(stdout, /--json/);
      }
    }
  });

  test("keeps its help within 100 columns", async () => {
    const texts = [await run(["--help"])];
    for (const { name } of COMMANDS) texts.push(await run([name, "--help"]));
    for (const { stdout } of texts) {
      for (const line of stdout.split("\n")) assert.equal(line.length <= 100, true, line);
    }
  });

  const misuses: [string[], RegExp][] = [
    [[], /no command is given/],
    [["aped"], /there is no such command; did you mean append\?/],
    [["restroe"], /did you mean restore\?/],
    [["frobnicate"], /Cannot frobnicate: there is no such command$/m],
    [["append", "--jbo", "x"], /Cannot use --jbo: append has no such option; did you mean --job\?/],
    [["append", "--job", "j"], /--writer WRITER is missing/],
    [["append", "--job"], /Cannot use --job: it needs a value: --job JOB/],
    [["append", "--job", "a", "--job", "b", "--writer", "w"], /it is given twice/],
    [["append", "--job", "j", "--writer", "w", "a", "b"], /Cannot use "b": append takes one FILE/],
    [["ls", "--json=yes"], /Cannot use --json: it takes no value/],
    [["ls", "extra"], /Cannot use "extra": ls takes options only/],
    [["inspect"], /FILE is missing/],
    [["restore", "--job", "j", "--writer", "w", "--at", "now"], /wants latest, tail/],
    [["restore", "--job", "j", "--writer", "w", "--format", "xml"], /wants lines, ndjson, cborseq/],
    [["restore", "--job", "j", "--writer", "w", "--from", "-1"], /needs a value|whole number/],
    [["restore", "--job", "j", "--writer", "w", "--key-groups", "9-1"], /wants a range/],
    [["checkpoint", "--job", "j", "--steps", "18446744073709551616"], /2\^64 - 1/],
    [["checkpoint", "--job", "j", "--metadata", "{"], /it is not JSON/],
    [["resume", "--job", "j", "--store", "s", "--url", "http://x"], /--store with --url/],
    [["resume", "--job", "j", "--take-over", "--url", "http://x"], /--take-over with --url/],
    [["resume", "--job", "j", "--url", "ftp://x"], /wants an address such as/],
    [["resume", "--job", "j", "--url", "x"], /wants an address such as/],
    [["show", "--job", "j", "--at", "tail"], /a tail is no checkpoint, .*wants latest, or a/],
    [["show", "--job", "j", "--at", "now"], /wants latest, or a checkpoint's uuid/],
    [["pin", "--job", "j"], /UUID is missing/],
    [["unpin", "--job", "j", "latest"], /wants a checkpoint's uuid/],
    [["retention", "--job", "j", "--max-age", "7"], /wants a time such as 90s/],
    [["retention", "--job", "j", "--min-count", "none"], /wants a whole number/],
    [["gc", "--job", "j"], /there is no terminal to ask at; .* --dry-run, then give --yes/],
    [["gc", "--job", "j", "--dry-run", "--except", "1,2"], /wants a checkpoint's uuid/],
    [["du", "--store", "s", "--url", "http://x"], /--store with --url/],
    [["serve", "--listen", "somewhere"], /wants HOST:PORT/],
    [["serve", "--listen", "127.0.0.1:65536"], /wants HOST:PORT/],
    [["serve", "--body-bytes-max", "0"], /bytes from 1 to/],
    [["serve", "--persist-delay-ms", "soon"], /wants a whole number/],
  ];
  for (const [args, message] of misuses) {
    test(`refuses: ${args.join(" ")}`, () =>
      withFolder(async (folder) => {
        const env = { TIDEMARK_STORE: `${folder}/store` };
        const { code, stdout, stderr } = await run(args, { env });
        assert.equal(code, 2, stderr);
        assert.equal(stdout, "");
        assert.match(stderr, message);
        const command = COMMANDS.find(({ name }) => name === args[0])?.name;
        assert.match(stderr, command === undefined ? /--help/ : new RegExp(`${command} --help`));
        assert.deepEqual(await readdir(folder), []);
      }));
  }

  test("tells misuse as JSON where asked", async () => {
    const { code, stderr } = await run(["append", "--jbo=1", "--json"]);
    assert.equal(code, 2);
    const { error } = JSON.parse(stderr);
    assert.deepEqual([error.code, error.exitCode], ["usage", 2]);
  });

  test("tells an error with its code, the next step and an exit code", () =>
    withFolder(async (folder) => {
      const args = ["ls", "--store", `${folder}/none`];
      const { code, stdout, stderr } = await run(args);
      assert.deepEqual([code, stdout], [3, ""]);
      assert.match(stderr, /^error: .*none/);
      assert.match(stderr, /code: store-not-found/);
      assert.match(stderr, /next: /);
      const asJson = await run([...args, "--json"]);
      const { error } = JSON.parse(asJson.stderr);
      assert.deepEqual([error.code, error.kind, error.exitCode], [
        "store-not-found",
        "not-found",
        3,
      ]);
    }));

  test("tells what happened before what happened while it closed", async () => {
    const reader = {
      verify: () => Promise.reject(new TidemarkError("corrupt", "Cannot verify: bad")),
      close: () => Promise.resolve(),
      [Symbol.asyncDispose]: () => Promise.reject(new Error("Cannot close: also bad")),
    };
    const store = {
      location: "here",
      isNew: false,
      reader: () => Promise.resolve(reader),
      [Symbol.asyncDispose]: () => Promise.reject(new Error("Cannot close: bad again")),
    } as unknown as Store;
    const io = new TestIo();
    const code = await main(["verify", "--job", "j"], io.io, () => Promise.resolve(store));
    assert.equal(code, 8);
    assert.match(
      io.stderr,
      /^error while closing: .*\nerror: Cannot verify: bad\n {2}code: corrupt/,
    );
  });

  test("ls lists the checkpoints of a job whose tail can't be read, then tells the error", async () => {
    const store = storeOf({
      checkpoints: () => Promise.resolve([]),
      writers: () => Promise.reject(new TidemarkError("corrupt", "Cannot read the tail: bad")),
    });
    for (const json of [[], ["--json"]]) {
      const io = new TestIo();
      assert.equal(
        await main(["ls", "--job", "j", ...json], io.io, () => Promise.resolve(store)),
        8,
      );
      assert.match(
        io.stdout,
        json.length > 0 ? /"writers":null/ : /^No checkpoints\n\nWriters unknown/,
      );
      assert.match(io.stderr, /Cannot read the tail: bad/);
    }
  });

  test("takes an empty variable of the environment for an unset one", async () => {
    const env = { TIDEMARK_STORE: "", TIDEMARK_LISTEN: "" };
    const places: string[] = [];
    const io = new TestIo({ env, io: { absolutePath: (path: string) => path } });
    await main(["ls"], io.io, (folder) => {
      places.push(folder);
      return Promise.reject(new TidemarkError("store-not-found", "none"));
    });
    assert.deepEqual(places, ["./tidemark-data"]);
    const listen: unknown[] = [];
    const serving = new TestIo({
      env,
      io: {
        serve: (_handler, { hostname, port }) => {
          listen.push({ hostname, port });
          return Promise.reject(new TidemarkError("listen-failed", "taken"));
        },
      },
    });
    await main(["serve"], serving.io, () => Promise.resolve(storeOf({})));
    assert.deepEqual(listen, [{ hostname: "127.0.0.1", port: 7460 }]);
  });

  test("serves with the settings that it was given", async () => {
    const given: Partial<StoreSettings>[] = [];
    const listening = { hostname: "", port: 1, url: "", close: () => Promise.resolve() };
    const serving = new TestIo({ io: { serve: () => Promise.resolve(listening) } });
    const flags = [
      "--persist-delay-ms",
      "3",
      "--local-recovery-path",
      "near",
      "--job-bytes-max",
      "7",
    ];
    for (const args of [flags, []]) {
      await main(["serve", ...args], serving.io, (_place, options = {}) => {
        given.push(options);
        return Promise.reject(new TidemarkError("storage-denied", "not now"));
      });
    }
    const [set, none] = given.map((
      { persistDelayMs, localRecoveryPath, jobBytesMax },
    ) => [persistDelayMs, localRecoveryPath, jobBytesMax]);
    assert.deepEqual(set, [3, resolve("near"), 7]);
    assert.deepEqual(none, [0, undefined, 0]);
  });

  test("has an exit code for each kind, all different", () => {
    const kinds = new Set(Object.values(ERROR_KINDS));
    assert.deepEqual(new Set(Object.keys(EXIT_CODE_OF)), kinds);
    const codes = [0, ...Object.values(EXIT_CODE_OF), ...Object.values(EXIT_CODE_OF_SIGNAL)];
    assert.equal(new Set(codes).size, codes.length);
  });

  test("ends quietly when nobody reads its output any more", () =>
    withStore(async (store) => {
      const args = ["restore", "--store", store, "--job", "j", "--writer", "w", "--at", "tail"];
      const writeOutput = () => Promise.reject(new BrokenPipeError("gone"));
      const { code, stderr } = await run(args, { io: { writeOutput } });
      assert.deepEqual([code, stderr], [0, ""]);
    }));

  test("creates nothing but by append and serve", () =>
    withFolder(async (folder) => {
      const where = ["--store", `${folder}/store`, "--job", "j"];
      const verbs = [
        ["checkpoint"],
        ["resume"],
        ["ls"],
        ["show"],
        ["verify"],
        ["du"],
        ["retention", "--min-count", "1"],
        ["pin", UUID],
        ["unpin", UUID],
        ["gc", "--yes"],
        ["restore", "--writer", "w"],
      ];
      for (const args of verbs) {
        const { code, stderr } = await run([...args, ...where]);
        assert.equal(code, 3, stderr);
        assert.deepEqual(await readdir(folder), []);
      }
    }));
});

/** A store that has only a reader of jobs. */
function storeOf(reader: object): Store {
  const close = (): Promise<void> => Promise.resolve();
  return {
    location: "here",
    isNew: false,
    close,
    reader: () => Promise.resolve({ close, ...reader }),
    [Symbol.asyncDispose]: close,
  } as unknown as Store;
}
