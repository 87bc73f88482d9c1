import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { pathsMatching, readSources, readText, sourceFile } from "./_files.ts";
import {
  checkComments,
  checkEntry,
  checkHabits,
  checkImports,
  checkPlaces,
  checkShape,
  HABITS,
} from "./_habits.ts";

const everySource = readSources();
const sources = everySource.filter((file) => !file.path.startsWith("wasm/assembly/"));
const manifest = JSON.parse(readText("package.json"));
const dependencies = new Set<string>(Object.keys(manifest.dependencies));

describe("the sources", () => {
  test("keep the habits", () => {
    assert.deepEqual(sources.flatMap((file) => checkHabits(file)), []);
  });

  test("import only what they may", () => {
    assert.deepEqual(sources.flatMap((file) => checkImports(file, dependencies)), []);
  });

  test("have good names, lengths and headers", () => {
    assert.deepEqual(sources.flatMap(checkShape), []);
  });

  test("have comments that stay whole, and with what they are about", () => {
    assert.deepEqual(everySource.flatMap(checkComments), []);
  });

  test("export by name what is public, and nothing else", () => {
    const entries = sources.filter(({ path }) => path === "mod.ts" || path === "src/http/mod.ts");
    assert.deepEqual(entries.flatMap(checkEntry), []);
  });
});

test("no text names a registry's host or a place of one machine", () => {
  const paths = pathsMatching(
    /(?:\.(?:ts|mjs|js|json|toml|md|sh|yml|yaml|txt)|\/run|\.npmrc|\.gitignore)$/,
  );
  const found = paths.flatMap((path) => checkPlaces({ path, text: readText(path) }));
  assert.deepEqual(found, []);
});

/** Text that breaks a rule, and the path where it does. */
const PLANTED: readonly [path: string, text: string][] = [
  ["src/http/app.ts", 'const home = Deno.env.get("HOME");'],
  ["src/cli/main.ts", "const file = Bun.file(path);"],
  ["src/engine/format/frame.ts", "const bytes = Buffer.from(text);"],
  ["src/cli/main.ts", "process.exitCode = 1;"],
  ["src/engine/job.ts", "const host = globalThis.location;"],
  ["src/engine/job.ts", "const start = Date.now();"],
  ["src/engine/job.ts", "const start = new Date();"],
  ["src/engine/job.ts", "const start = performance.now();"],
  ["src/engine/job.ts", "setTimeout(run, 5);"],
  ["src/engine/job.ts", "const id = crypto.randomUUID();"],
  ["src/engine/job.ts", "const chance = Math.random();"],
  ["src/engine/job.ts", 'console.log("here");'],
  ["src/engine/job.ts", "const answer = await fetch(url);"],
  ["src/engine/job.ts", "const { promise } = Promise.withResolvers();"],
  ["tests/a_test.ts", "const all = await Array.fromAsync(stream);"],
  ["tests/a_test.ts", "const bytes = Uint8Array.fromBase64(text);"],
  ["src/http/app.ts", "const names = map.values().map((one) => one.name);"],
  ["src/http/app.ts", "const both = one.union(other);"],
  ["src/http/app.ts", "const groups = Map.groupBy(all, kindOf);"],
  ["tests/a_test.ts", "const bytes = Uint8Array.fromHex(text);"],
  ["tests/a_test.ts", "if (import.meta.main) main();"],
  ["tests/a_test.ts", "const url = URL.parse(text);"],
  ["tests/a_test.ts", "const socket = new WebSocket(url);"],
  ["src/http/app.ts", "await using stack = new AsyncDisposableStack();"],
  ["tests/a_test.ts", `t.${"skip"}("no lz4");`],
  ["tests/a_test.ts", `test.${"only"}("this", run);`],
  ["tests/a_test.ts", `it.${"todo"}("that");`],
  ["tests/a_test.ts", 'test("that", { skip: true }, run);'],
  ["tests/a_test.ts", 'Deno.test("that", run);'],
  ["src/cli/main.ts", `// ${"TO" + "DO"}: more`],
  ["src/cli/main.ts", "export default main;"],
  ["src/cli/main.ts", 'const folder = "/tmp/tidemark";'],
];

describe("checkHabits", () => {
  for (const [path, text] of PLANTED) {
    test(`finds ${text}`, () => {
      assert.equal(checkHabits(sourceFile(path, text)).length, 1);
    });
  }

  test("has a planted fault for each kind of rule", () => {
    const unused = HABITS.filter((habit) =>
      !PLANTED.some(([path, text]) => checkHabits(sourceFile(path, text), [habit]).length > 0)
    );
    assert.deepEqual(unused.map((habit) => habit.banned.source), []);
  });

  test("sees nothing in comments and strings", () => {
    const text = [
      "// Date.now() is banned",
      "/** Not Math.random(), nor Deno.open */",
      'throw new Error("Deno.open failed");',
      "const pattern = /console\\.log/;",
      "const more = `setTimeout ${name} Date.now()`;",
    ].join("\n");
    assert.deepEqual(checkHabits(sourceFile("src/engine/job.ts", text)), []);
  });

  test("sees code inside a template literal", () => {
    const found = checkHabits(
      sourceFile("src/engine/job.ts", "const a = `x ${`${Date.now()}`} y`;"),
    );
    assert.equal(found.length, 1);
  });

  test("takes a parameter named process for the port that it is", () => {
    const text = "export function hostOf(process: ProcessInfo): string { return process.host; }";
    assert.deepEqual(checkHabits(sourceFile("src/engine/job.ts", text)), []);
  });

  test("lets each runtime's own files use it", () => {
    assert.deepEqual(checkHabits(sourceFile("src/runtime/deno_io.ts", "Deno.openSync(path);")), []);
    assert.deepEqual(checkHabits(sourceFile("tests/tool.ts", "process.exit(Date.now());")), []);
  });
});

describe("checkImports", () => {
  const check = (path: string, specifier: string): number =>
    checkImports(sourceFile(path, `import "${specifier}";`), new Set(["cbor-x", "hono"])).length;

  test("finds what may not be imported", () => {
    assert.equal(check("tests/a_test.ts", "jsr" + ":@std/fs"), 1);
    assert.equal(check("tests/a_test.ts", "https://example.org/mod.ts"), 1);
    assert.equal(check("tests/a_test.ts", "bun:test"), 1);
    assert.equal(check("src/http/app.ts", "node:fs"), 1);
    assert.equal(check("src/engine/format/json.ts", "cbor-x"), 1);
    assert.equal(check("src/http/app.ts", "fast-check"), 1);
  });

  test("accepts the rest", () => {
    assert.equal(check("src/runtime/node_io.ts", "node:fs"), 0);
    assert.equal(check("src/engine/format/json.ts", "cbor-x/index-no-eval"), 0);
    assert.equal(check("src/http/app.ts", "hono/streaming"), 0);
    assert.equal(check("tests/a_test.ts", "fast-check"), 0);
  });
});

test("checkShape finds bad names, long files and missing headers", () => {
  const check = (path: string, text: string): number => checkShape(sourceFile(path, text)).length;
  assert.equal(check("src/http/app.ts", "/** The app. */\nexport const app = 1;\n"), 0);
  assert.equal(check("src/http/myApp.ts", "/** The app. */\n"), 1);
  assert.equal(check("src/http/app.ts", "export class App {}\n"), 1);
  assert.equal(check("src/http/app.ts", "/** The app. */\nexport class App {}\n"), 1);
  assert.equal(check("src/http/app.ts", "/** The app. @module */\nexport class App {}\n"), 0);
  assert.equal(check("src/http/_app.ts", "export class App {}\n"), 0);
  assert.equal(check("tests/a_test.ts", "\n".repeat(501)), 1);
});

test("checkComments finds doc comments that stand apart, and broken code spans", () => {
  const check = (text: string): number => checkComments(sourceFile("src/a.ts", text)).length;
  assert.equal(check("/** A module. */\n\n/** One. */\nfunction one() {}\n"), 0);
  assert.equal(check("const a = 1;\n/** One. */\n\nfunction one() {}\n"), 1);
  assert.equal(check("const a = 1;\n/**\n * One.\n */\n\nexport class One {}\n"), 1);
  assert.equal(check("/**\n * Throws `storage-\n * unavailable`.\n */\n"), 2);
  assert.equal(check("/**\n * ```ts\n * const a = `${1}\n * `;\n * ```\n */\n"), 0);
  assert.equal(check("const text = `\n/** One. */\n\nfunction`;\n"), 0);
});

test("checkEntry finds everything but re-exports by name", () => {
  const check = (text: string): number => checkEntry(sourceFile("mod.ts", text)).length;
  assert.equal(
    check('/** Doc. */\nexport { a, b as c } from "./a.ts";\nexport type { D } from "./d.ts";\n'),
    0,
  );
  assert.equal(check('export * from "./a.ts";'), 1);
  assert.equal(check("export const a = 1;"), 1);
});

test("checkPlaces finds hosts and folders", () => {
  const check = (text: string): number => checkPlaces({ path: "README.md", text }).length;
  assert.equal(check(`see ${"https://registry"}.example/x`), 1);
  assert.equal(check(`in ${"/wo"}rk/main`), 1);
  assert.equal(check(`in src${"/wo"}rk/main`), 0);
});
