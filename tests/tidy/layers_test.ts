import assert from "node:assert/strict";
import { test } from "node:test";
import { readSources, sourceFile } from "./_files.ts";
import { checkLayers, findCircle } from "./_layers.ts";

/** Checks a planted file beside files that break no rule. */
function check(path: string, text: string): string[] {
  return checkLayers([
    sourceFile("src/engine/errors.ts", "export class TidemarkError extends Error {}"),
    sourceFile("src/engine/job.ts", 'import { TidemarkError } from "./errors.ts";'),
    sourceFile(path, text),
  ]);
}

test("the sources import only what their layer may", () => {
  assert.deepEqual(checkLayers(readSources()), []);
});

test("checkLayers accepts an import of a lower layer", () => {
  assert.deepEqual(check("src/http/app.ts", 'import { Job } from "../engine/job.ts";'), []);
});

test("checkLayers finds an import of a higher layer, with its line", () => {
  assert.deepEqual(
    check("src/engine/format/frame.ts", '\nimport { app } from "../../http/app.ts";'),
    ["src/engine/format/frame.ts:2: format may not import http (src/http/app.ts)"],
  );
});

test("checkLayers finds each way to import", () => {
  const ways = [
    'import "../upload/task.ts";',
    'import type { Task } from "../upload/task.ts";',
    'import {\n  type Task,\n  run,\n} from "../upload/task.ts";',
    'import * as task from "../upload/task.ts";',
    'export { run } from "../upload/task.ts";',
    'export * from "../upload/task.ts";',
    'const task = await import("../upload/task.ts");',
  ];
  for (const way of ways) {
    assert.deepEqual(
      check("src/engine/storage/backend.ts", way),
      ["src/engine/storage/backend.ts:1: storage may not import upload (src/engine/upload/task.ts)"],
      way,
    );
  }
});

test("checkLayers sees no import in comments and strings", () => {
  const text = [
    '// import "../upload/task.ts";',
    '/** import { run } from "../upload/task.ts"; */',
    "const text = 'import \"../upload/task.ts\";';",
    'const more = `import "../upload/task.ts";`;',
  ].join("\n");
  assert.deepEqual(check("src/engine/storage/backend.ts", text), []);
});

test("checkLayers lets nobody ship an import of tests", () => {
  assert.deepEqual(check("src/cli/main.ts", 'import "../../tests/doubles/disk.ts";'), [
    "src/cli/main.ts:1: tests/doubles/disk.ts does not ship with the package",
  ]);
});

test("checkLayers keeps private files in their folder", () => {
  assert.deepEqual(check("src/http/app.ts", 'import "../engine/upload/_queue.ts";'), [
    "src/http/app.ts:1: src/engine/upload/_queue.ts is private to its folder",
  ]);
  assert.deepEqual(check("src/engine/upload/task.ts", 'import "./_queue.ts";'), []);
});

test("checkLayers asks for the layer of a folder that it does not know", () => {
  assert.deepEqual(check("src/extra/thing.ts", ""), [
    "src/extra/thing.ts: no layer is known for it; add one to _layers.ts",
  ]);
});

test("findCircle finds the circle and only it", () => {
  const imports = new Map([["a", ["b"]], ["b", ["c", "d"]], ["c", []], ["d", ["b"]]]);
  assert.deepEqual(findCircle(imports), ["b", "d", "b"]);
  imports.set("d", ["c"]);
  assert.equal(findCircle(imports), undefined);
});
