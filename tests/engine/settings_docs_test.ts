import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { SETTINGS } from "../../src/cli/settings/table.ts";
import { DEFAULT_SETTINGS } from "../../src/engine/settings.ts";

/** Options of the changelog storage that the upload system comes from, with the defaults that it had. */
const OPTIONS: Readonly<Record<string, unknown>> = {
  "dstl.dfs.base-path": undefined,
  "dstl.dfs.compression.enabled": false,
  "dstl.dfs.preemptive-persist-threshold": 5 * 1024 * 1024,
  "dstl.dfs.batch.persist-delay": 10,
  "dstl.dfs.batch.persist-size-threshold": 10 * 1024 * 1024,
  "dstl.dfs.upload.buffer-size": 1024 * 1024,
  "dstl.dfs.upload.num-threads": 5,
  "dstl.dfs.upload.max-in-flight": 100 * 1024 * 1024,
  "dstl.dfs.upload.retry-policy": "fixed",
  "dstl.dfs.upload.timeout": 1000,
  "dstl.dfs.upload.max-attempts": 3,
  "dstl.dfs.upload.next-attempt-delay": 500,
  "dstl.dfs.discard.num-threads": 1,
  "dstl.dfs.download.local-cache.idle-timeout-ms": 600_000,
  "enabled": false,
  "storage": "memory",
  "periodic-materialize.enabled": true,
  "periodic-materialize.interval": 600_000,
  "max-failures-allowed": 3,
};

const page = readFileSync(new URL("../../docs/SETTINGS.md", import.meta.url), "utf8");

/** Rows of the page's tables, each as its cells, without the code marks. */
function rowsOf(text: string): string[][] {
  return text.split("\n").filter((line) => line.startsWith("|")).map((line) =>
    line.split("|").slice(1, -1).map((cell) => cell.trim().replace(/^`(.*)`$/, "$1"))
  );
}

interface Row {
  readonly option: string | undefined;
  readonly setting: string;
  readonly value: string;
  readonly reason: string;
}

const rows = rowsOf(page).flatMap((cells): Row[] => {
  const [first, second, third, last] = cells;
  if (cells.length === 4 && Object.hasOwn(OPTIONS, first)) {
    return [{ option: first, setting: second, value: third, reason: last }];
  }
  if (cells.length === 3 && Object.hasOwn(DEFAULT_SETTINGS, first)) {
    return [{ option: undefined, setting: first, value: second, reason: third }];
  }
  return [];
});

describe("docs/SETTINGS.md", () => {
  test("maps every option, once", () => {
    const options = rows.flatMap(({ option }) => option ?? []);
    assert.deepEqual(options, Object.keys(OPTIONS));
  });

  test("lists every setting, once, with its default", () => {
    const listed = rows.filter(({ setting }) => setting !== "none");
    assert.deepEqual(
      Object.fromEntries(listed.map(({ setting, value }) => [setting, JSON.parse(value)])),
      { ...DEFAULT_SETTINGS },
    );
    assert.equal(listed.length, Object.keys(DEFAULT_SETTINGS).length);
  });

  test("says that a default is the same exactly where it is, and else why not", () => {
    for (const { option, setting, value, reason } of rows) {
      assert.ok(reason.length > 3, `${option ?? setting} has no reason`);
      if (option === undefined || setting === "none") continue;
      const isSame = JSON.parse(value) === OPTIONS[option];
      assert.equal(/^same\b/.test(reason), isSame, `${option}: ${reason}`);
    }
  });

  test("names no setting in passing that there is none of", () => {
    const names = page.match(/`[a-z]+(?:[A-Z][a-z]+)+`/g) ?? [];
    const known = new Set([...Object.keys({ ...DEFAULT_SETTINGS, ...SETTINGS }), "openStore"]);
    assert.deepEqual(names.filter((name) => !known.has(name.slice(1, -1))), []);
  });
});
