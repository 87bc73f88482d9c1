import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { EXIT_CODE_OF } from "../../src/cli/exit_codes.ts";
import { ERROR_KINDS, type ErrorCode, TidemarkError } from "../../src/engine/errors.ts";
import { ROUTES } from "../../src/http/_routes.ts";
import { ERROR_GUIDE } from "../../src/http/error_guide.ts";
import { STATUS_OF } from "../../src/http/problem.ts";
import { readDocument } from "./_document.ts";

function readDoc(name: string): Promise<string> {
  return readFile(new URL(`../../docs/${name}`, import.meta.url), "utf8");
}

/** Cells of the table rows that begin with a code word. */
function rowsOf(text: string): string[][] {
  const rows = text.split("\n").filter((line) => line.startsWith("| `"));
  return rows.map((row) => row.slice(2, -2).split(" | ").map((cell) => cell.trim()));
}

test("docs/ERRORS.md lists every error code with what to do about it", async () => {
  const [, codes] = (await readDoc("ERRORS.md")).split("## Codes");
  const expected = Object.entries(ERROR_KINDS).map(([code, kind]) => {
    const { title, nextStep } = ERROR_GUIDE[code as ErrorCode];
    const { retryable } = new TidemarkError(code as ErrorCode, "Cannot do it");
    return [`\`${code}\``, kind, retryable ? "yes" : "no", title, nextStep];
  });
  assert.deepEqual(rowsOf(codes), expected);
});

test("docs/ERRORS.md lists every kind with its status and exit code", async () => {
  const [, after] = (await readDoc("ERRORS.md")).split("## Kinds");
  const rows = rowsOf(after.split("## Codes")[0]).map((cells) => cells.slice(0, 3));
  const expected = Object.entries(STATUS_OF).map(([kind, status]) => [
    `\`${kind}\``,
    String(status),
    String(EXIT_CODE_OF[kind as keyof typeof EXIT_CODE_OF]),
  ]);
  assert.deepEqual(rows, expected);
});

test("docs/HTTP.md lists every route with the right that it wants", async () => {
  const [, after] = (await readDoc("HTTP.md")).split("## Routes");
  const rows = rowsOf(after.split("###")[0]).map(([route, right]) => [route, right]);
  const expected = ROUTES.map(({ method, path, right }) => [
    `\`${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}\``,
    right === "none" ? "" : right,
  ]);
  assert.deepEqual(rows.sort(), expected.sort());
});

/** Every name of a parameter, and of a field of a body, that the document has. */
function namesOf(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  const { properties, name } = value as { properties?: object; name?: unknown };
  const own = typeof name === "string" ? [name] : Object.keys(properties ?? {});
  return [...own, ...Object.values(value).flatMap(namesOf)];
}

test("docs/HTTP.md names every parameter and every field", async () => {
  const text = (await readDoc("HTTP.md")).toLowerCase();
  const { paths, components: { schemas } } = await readDocument();
  const names = new Set(namesOf([paths, schemas]));
  const missing = [...names].filter((name) =>
    !new RegExp(`(?<![a-z])${name.toLowerCase()}(?![a-z])`).test(text)
  );
  assert.ok(names.size > 100);
  assert.deepEqual(missing, []);
});
