import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { barAtLeast, type Bench } from "./_bench.ts";
import { barsTable, medianResult, replaceMarked } from "./_report.ts";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const benches = readdirSync(HERE).filter((file) =>
  /^[a-z].*\.ts$/.test(file) && !/^main\.ts$|_(?:test|soak)\.ts$/.test(file)
);

for (const file of benches) {
  test(`bench ${file} runs at tiny size`, async () => {
    const { run } = await import(`./${file}`) as { run: Bench };
    const { rows, bars } = await run({ check: false, smoke: true });
    assert.ok(rows.length > 0, "it has rows");
    for (const bar of bars) assert.ok(Number.isFinite(bar.measured), `${bar.name} is measured`);
  });
}

test("barsTable puts the runtimes side by side and marks what is missed", () => {
  const result = (
    measured: number,
  ): { title: string; rows: []; bars: ReturnType<typeof barAtLeast>[] } => ({
    title: "codec",
    rows: [],
    bars: [barAtLeast("compress", 1.35, measured)],
  });
  const table = barsTable([
    { runtime: "Deno", result: result(1.5) },
    { runtime: "Bun", result: result(1.2) },
  ]);
  assert.match(table, /bar +\| wanted +\| Deno +\| Bun/);
  assert.match(table, /compress +\| 1\.35 +\| 1\.50 +\| 1\.20 \(missed\)/);
});

test("medianResult takes each figure and each bar from the run in the middle", () => {
  const run = (speed: number, ratio: number) => ({
    title: "codec",
    rows: [{ what: "compress", speed }],
    bars: [barAtLeast("compress", 1.35, ratio)],
  });
  const { rows, bars } = medianResult([run(30, 1.5), run(10, 1.2), run(20, 1.1)]);
  assert.deepEqual(rows, [{ what: "compress", speed: 20 }]);
  assert.deepEqual([bars[0].measured, bars[0].met], [1.2, false]);
});

test("replaceMarked replaces what is between the markers", () => {
  const page = "before\n<!-- bench:a -->\nold\n<!-- /bench:a -->\nafter\n";
  assert.equal(
    replaceMarked(page, "a", "new"),
    "before\n<!-- bench:a -->\n\nnew\n\n<!-- /bench:a -->\nafter\n",
  );
  assert.throws(() => replaceMarked(page, "b", "new"), /bench b/);
});
