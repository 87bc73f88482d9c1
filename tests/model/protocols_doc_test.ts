import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { CATALOG_RULES } from "./catalog/rules.ts";
import { LOG_RULES } from "./log/rules.ts";
import { PUBLISH_RULES } from "./publish/rules.ts";

test("docs/PROTOCOLS.md names exactly the switches of the models", () => {
  const text = readFileSync(new URL("../../docs/PROTOCOLS.md", import.meta.url), "utf8");
  const named = [...text.matchAll(/`((?:catalog|log|publish)\.\w+)`/g)].map(([, name]) => name);
  const switches = Object.entries({
    catalog: CATALOG_RULES,
    log: LOG_RULES,
    publish: PUBLISH_RULES,
  })
    .flatMap(([model, rules]) => Object.keys(rules).map((rule) => `${model}.${rule}`));
  assert.deepEqual([...named].sort(), switches.sort());
});
