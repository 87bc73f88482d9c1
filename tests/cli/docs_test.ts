import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { COMMANDS } from "../../src/cli/cli.ts";
import { EXIT_CODE_OF, EXIT_CODE_OF_SIGNAL } from "../../src/cli/exit_codes.ts";

const text = await readFile(new URL("../../docs/CLI.md", import.meta.url), "utf8");

function section(title: string): string {
  const found = text.split(/^## /m).find((part) => part.startsWith(`${title}\n`));
  assert.notEqual(found, undefined, `docs/CLI.md has no section ${title}`);
  return found!;
}

test("docs/CLI.md lists every command", () => {
  const listed = [...text.split("## Which store")[0].matchAll(/^\| `([\w-]+)` +\|/gm)].map((
    [, name],
  ) => name);
  assert.deepEqual(listed, COMMANDS.map(({ name }) => name));
});

for (const { name, options } of COMMANDS) {
  test(`docs/CLI.md explains every option of ${name}`, () => {
    const rows = section(name).split("\n").filter((line) => line.startsWith("| `-"));
    const listed = rows.flatMap((row) => [...row.split(" | ")[0].matchAll(/--([a-z-]+)/g)]);
    const names = listed.map(([, option]) => option);
    const settings = Object.keys(options).filter((option) => options[option].setting !== undefined);
    // Where a command takes all settings, docs/SETTINGS.md lists them.
    const elsewhere = settings.length > 4
      ? settings.filter((option) => !names.includes(option))
      : [];
    assert.deepEqual([...names, ...elsewhere].sort(), Object.keys(options).sort());
  });
}

test("docs/CLI.md lists every exit code", () => {
  const rows = section("Exit codes").split("\n").filter((line) => /^\| \d/.test(line));
  const kinds = Object.entries(EXIT_CODE_OF).sort(([, a], [, b]) => a - b);
  assert.deepEqual(rows.slice(1, -1).map((row) => row.split(":")[0].replace(/ +/g, " ")), [
    ...kinds.map(([kind, code]) => `| ${code} | \`${kind}\``),
  ]);
  assert.match(rows.at(-1) ?? "", new RegExp(`${Object.values(EXIT_CODE_OF_SIGNAL).join(", ")}`));
});
