import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { type Export, exportsOf, gapsOf } from "./_api.ts";

const manifest = await readFile(new URL("../../deno.json", import.meta.url), "utf8");
const entries: string[] = Object.values(JSON.parse(manifest).exports);

for (const entry of entries.map((path) => path.slice("./".length))) {
  test(`every export of ${entry} says what it does, takes and gives, with an example`, async () => {
    const found = await exportsOf(entry);
    assert.notEqual(found.length, 0);
    assert.deepEqual(found.flatMap(gapsOf), []);
  });
}

describe("gapsOf finds", () => {
  const doc = "Adds.";
  const example = {
    kind: "example",
    doc: '```ts\nimport { add } from "@tidemark/tidemark";\n\nadd(1);\n```',
  };
  const add = (tags: { kind: string; name?: string; doc?: string }[]): Export => ({
    name: "add",
    declarations: [{
      kind: "function",
      jsDoc: { doc, tags },
      def: {
        params: [{ kind: "identifier", name: "by" }],
        returnType: { repr: "Promise", value: { typeParams: [{ repr: "number" }] } },
      },
    }],
  });
  const whole = [{ kind: "param", name: "by" }, { kind: "return" }, example];

  test("nothing where nothing is missing", () => {
    assert.deepEqual(gapsOf(add(whole)), []);
  });

  test("a missing example, parameter and result", () => {
    assert.deepEqual(gapsOf(add([])), [
      "add: no @example that imports it",
      "add: no @param by",
      "add: no @returns",
    ]);
  });

  test("an example that does not import from the package", () => {
    const [gap] = gapsOf(add([{ ...example, doc: "```ts\nadd(1);\n```" }, ...whole.slice(0, 2)]));
    assert.equal(gap, "add: no @example that imports it");
  });

  test("an option without a default", () => {
    const options = (tags: { kind: string; value: string }[]): Export => ({
      name: "AddOptions",
      declarations: [{
        kind: "interface",
        jsDoc: { doc, tags: [example] },
        def: { properties: [{ name: "by", optional: true, jsDoc: { doc: "How much.", tags } }] },
      }],
    });
    assert.deepEqual(gapsOf(options([{ kind: "unsupported", value: "@default 1" }])), []);
    assert.deepEqual(gapsOf(options([])), ["AddOptions.by: no @default"]);
  });
});
