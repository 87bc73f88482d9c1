import assert from "node:assert/strict";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { environmentOf, flagOf, type Setting } from "../../src/cli/settings/setting.ts";
import { SETTING_KEYS, SETTINGS } from "../../src/cli/settings/table.ts";
import { DEFAULT_SETTINGS } from "../../src/engine/settings.ts";
import { run, withFolder } from "./_run.ts";

/** Chosen by each command, or by the runtime. */
const CHOSEN = ["mode", "create", "fileSystem"];

/** What `config` says of one setting. */
// deno-lint-ignore no-explicit-any
function of(json: any, name: string): { value: unknown; from: Record<string, string> } {
  const { value, from } = json.settings.find((row: { name: string }) => row.name === name);
  return { value, from };
}

async function withFile(
  text: string,
  use: (file: string, folder: string) => Promise<void>,
): Promise<void> {
  await withFolder(async (folder) => {
    const file = join(folder, "etc", "tidemark.json");
    await mkdir(join(folder, "etc"));
    await writeFile(file, text);
    await use(file, folder);
  });
}

describe("settings", () => {
  test("has every setting of the engine that commands do not choose themselves", () => {
    const missing = Object.keys(DEFAULT_SETTINGS).filter((name) => !Object.hasOwn(SETTINGS, name));
    assert.deepEqual(missing, CHOSEN);
  });

  test("keeps the names that are fixed", () => {
    const names = ["store", "listen", "config"] as const;
    assert.deepEqual(
      names.map((key) => environmentOf(key)),
      ["TIDEMARK_STORE", "TIDEMARK_LISTEN", "TIDEMARK_CONFIG"],
    );
    assert.deepEqual([SETTINGS.store.fallback, SETTINGS.listen.fallback], [
      "./tidemark-data",
      "127.0.0.1:7460",
    ]);
  });

  test("is as docs/SETTINGS.md lists it", async () => {
    const page = await readFile(new URL("../../docs/SETTINGS.md", import.meta.url), "utf8");
    const rows = page.split("\n").filter((line) => /^\| (`--.*|none) +\| `TIDEMARK/.test(line));
    const expected = SETTING_KEYS.map((key) => {
      const { sources, fallback, about, reader } = SETTINGS[key] as Setting;
      const code = (source: (typeof sources)[number], text: string): string =>
        sources.includes(source) ? `\`${text}\`` : "none";
      const flag = `--${flagOf(key)}${reader.placeholder ? ` ${reader.placeholder}` : ""}`;
      return [
        code("flag", flag).replaceAll("|", "\\|"),
        code("environment", environmentOf(key)),
        code("file", key),
        fallback === undefined ? "none" : `\`${fallback}\``,
        about,
      ].join(" | ");
    });
    const listed = rows.map((row) =>
      row.replaceAll(/ +\| +/g, " | ").replaceAll(/^\| | +\|$/g, "")
    );
    assert.deepEqual(listed, expected);
  });

  test("takes a flag before the environment, and that before the file, and says which", () =>
    withFile(
      '{"persistDelayMs": 1, "compression": "none", "bodyBytesMax": "1MiB"}',
      async (file) => {
        const env = { TIDEMARK_PERSIST_DELAY_MS: "2", TIDEMARK_COMPRESSION: "lz4" };
        const flags = ["--config", file, "--persist-delay-ms", "3", "--json"];
        const { code, json, stderr } = await run(["config", ...flags], { env });
        assert.equal(code, 0, stderr);
        assert.deepEqual(of(json, "persistDelayMs"), {
          value: 3,
          from: { kind: "flag", name: "--persist-delay-ms" },
        });
        assert.deepEqual(of(json, "compression"), {
          value: "lz4",
          from: { kind: "environment", name: "TIDEMARK_COMPRESSION" },
        });
        assert.deepEqual(of(json, "bodyBytesMax"), {
          value: 1048576,
          from: { kind: "file", path: file },
        });
        assert.deepEqual(of(json, "listen"), {
          value: "127.0.0.1:7460",
          from: { kind: "default" },
        });
      },
    ));

  test("shows people the same", () =>
    withFile('{"storeBytesMax": 5}', async (file) => {
      const env = { TIDEMARK_CONFIG: file, TIDEMARK_EXISTING: "1" };
      const { stdout } = await run(["config", "--listen", ":80"], { env });
      const line = (name: string): string =>
        stdout.split("\n").find((text) => text.startsWith(`${name} `))!.replaceAll(/ +/g, " ");
      assert.equal(line("config"), `config ${file} environment TIDEMARK_CONFIG`);
      assert.equal(line("store-bytes-max"), `store-bytes-max 5 file ${file}`);
      assert.equal(line("existing"), "existing true environment TIDEMARK_EXISTING");
      assert.equal(line("listen"), "listen 127.0.0.1:80 flag --listen");
      assert.equal(line("local-recovery-path"), "local-recovery-path none default");
    }));

  test("takes paths of the file from the file's folder, others from the working folder", () =>
    withFile('{"store": "../data", "localRecoveryPath": null}', async (file, folder) => {
      const { json } = await run(["config", "--config", file, "--json"]);
      assert.equal(of(json, "store").value, join(folder, "data"));
      assert.deepEqual(of(json, "localRecoveryPath"), { value: null, from: { kind: "default" } });
    }));

  test("gives every command the file's store and its settings of the engine", () =>
    withFile('{"store": "../data", "storeBytesMax": 1}', async (file, folder) => {
      const append = ["append", "--job", "j", "--writer", "w", "--config", file];
      const refused = await run(append, { stdin: "one\n" });
      assert.equal(refused.code, 7, refused.stderr);
      assert.deepEqual((await readdir(folder)).sort(), ["data", "etc"]);
      const env = { TIDEMARK_STORE_BYTES_MAX: "0" };
      assert.equal((await run(append, { stdin: "one\n", env })).code, 0);
    }));

  const faults: [string, RegExp][] = [
    ["{", /tidemark\.json: it is not JSON: /],
    ["[]", /tidemark\.json: wants one JSON object/],
    [
      '{"persistDelay": 1}',
      /"persistDelay" in .*tidemark\.json: .*did you mean "persistDelayMs"\?/,
    ],
    ['{"persist-delay-ms": 1}', /"persist-delay-ms" in .*did you mean "persistDelayMs"\?/],
    ['{"TIDEMARK_STORE": "x"}', /did you mean "store"\?/],
    ['{"__proto__": 1}', /"__proto__" in .*no such setting; tidemark config lists them/],
    ['{"config": "other.json"}', /"config" in .*can't be set there/],
    [
      '{"persistDelayMs": "soon"}',
      /"persistDelayMs": "soon" in .*tidemark\.json: wants a whole number of milliseconds from 0/,
    ],
    ['{"persistDelayMs": 1.5}', /wants a whole number/],
    ['{"compression": "zip\\u001b[2J"}', /"zip\\u001b\[2J" in .*: wants one of lz4, none/],
    ['{"bodyBytesMax": "1 MB"}', /wants a whole number of bytes from 1 .*KiB/],
    ['{"existing": "yes"}', /"existing": "yes" in .*: wants true or false/],
    ['{"store": 7}', /"store": 7 in .*: wants a folder/],
    ['{"listen": "::1:80"}', /wants HOST:PORT/],
    [`{"store": "${"x".repeat(2 ** 20)}"}`, /above 1 MiB/],
  ];
  for (const [text, message] of faults) {
    test(`refuses a file that says ${text.slice(0, 60)}`, () =>
      withFile(text, async (file, folder) => {
        const { code, stderr, stdout } = await run(["ls", "--config", file]);
        assert.deepEqual([code, stdout], [2, ""], stderr);
        assert.match(stderr, message);
        assert.deepEqual(await readdir(folder), ["etc"]);
      }));
  }

  test("refuses a file that is not there, a wrong variable and a wrong flag, by name", async () => {
    const missing = await run(["ls"], { env: { TIDEMARK_CONFIG: "/nowhere/tidemark.json" } });
    assert.equal(missing.code, 2);
    assert.match(missing.stderr, /\/nowhere\/tidemark\.json/);
    const env = { TIDEMARK_UPLOAD_RETRY_POLICY: "twice" };
    const wrong = await run(["ls"], { env });
    assert.match(wrong.stderr, /TIDEMARK_UPLOAD_RETRY_POLICY "twice" .*: wants one of none, fixed/);
    const flag = await run(["serve", "--block-bytes", "1KiB"]);
    assert.match(flag.stderr, /--block-bytes 1KiB: wants one of 65536, 262144/);
  });

  test("never shows a secret", async () => {
    const env = { TIDEMARK_TOKEN: "this-is-a-secret-of-enough-characters" };
    for (const flags of [[], ["--json"]]) {
      const { stdout, stderr, code } = await run(["config", ...flags], { env });
      assert.equal(code, 0, stderr);
      assert.equal(`${stdout}${stderr}`.includes("this-is-a-secret"), false);
      assert.match(stdout, /\(secret\)/);
    }
  });

  test("makes no store where TIDEMARK_EXISTING says so, whichever command asks", () =>
    withFolder(async (folder) => {
      const env = { TIDEMARK_EXISTING: "true", TIDEMARK_STORE: join(folder, "store") };
      const append = await run(["append", "--job", "j", "--writer", "w"], { env, stdin: "one\n" });
      assert.equal(append.code, 3, append.stderr);
      const serve = await run(["serve", "--listen", "127.0.0.1:0"], { env });
      assert.equal(serve.code, 3, serve.stderr);
      assert.deepEqual(await readdir(folder), []);
    }));

  test("refuses settings that do not go together, and shows them before", async () => {
    const { code, stdout, stderr } = await run(["config", "--in-flight-bytes-max", "1MiB"]);
    assert.equal(code, 2);
    assert.match(stdout, /in-flight-bytes-max +1048576 +flag/);
    assert.match(stderr, /preemptivePersistBytes 5242880 is above inFlightBytesMax 1048576/);
  });

  test("asks the sidecar of TIDEMARK_URL, unless a flag names a folder; never both", async () => {
    const asked: string[] = [];
    const fetch = (request: Request): Promise<Response> => {
      asked.push(request.url);
      return Promise.resolve(Response.json({ jobs: [] }));
    };
    const env = { TIDEMARK_URL: "http://127.0.0.1:9" };
    assert.equal((await run(["ls"], { env, io: { fetch } })).code, 0);
    assert.deepEqual(asked, ["http://127.0.0.1:9/v1/jobs"]);
    const local = await run(["ls", "--store", "/nowhere"], { env, io: { fetch } });
    assert.equal(local.code, 3, local.stderr);
    const both = await run(["ls"], { env: { ...env, TIDEMARK_STORE: "x" } });
    assert.match(both.stderr, /Cannot use TIDEMARK_STORE with TIDEMARK_URL/);
    const takeOver = ["checkpoint", "--job", "j", "--take-over"];
    assert.match((await run(takeOver, { env })).stderr, /Cannot use --take-over with TIDEMARK_URL/);
    assert.equal(asked.length, 1);
  });
});
