/** Tables that say which test of ours stands for what, held against the tests that there are. @module */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

/** One row of a table, cell by cell. */
export type Row = readonly string[];

/** A test of ours, as a row names it. */
const OURS = /^`([\w/.-]+\.ts)` > (.+)$/;
/** What a test's name follows: the call, or the key of a suite that many backends have. */
const PLACES = (literal: string): readonly string[] => [`test(${literal}`, `${literal}: async`];

/** Rows of every table of a page, without their heads. */
export function readRows(page: URL): Row[] {
  const lines = readFileSync(page, "utf8").split("\n");
  return lines
    .filter((line, at) => line.startsWith("| ") && !isRule(line) && !isRule(lines[at + 1] ?? ""))
    .map((line) => line.slice(1, -1).split(" | ").map((cell) => cell.trim()));
}

/** Names of a file's tests, as far as they are written out. */
export function readTests(file: URL): string[] {
  return [...readFileSync(file, "utf8").matchAll(/test\(\s*"([^"]+)"/g)].map(([, name]) => name);
}

function isRule(line: string): boolean {
  return /^\| -+ \|/.test(line);
}

/** Checks that a row names a test that there is, below `folder`, and a mutation. */
export function checkRow(row: Row, folder: URL): void {
  assert.equal(row.length, 3, row.join(" | "));
  const [reference, ours, mutation] = row;
  const [, file, name] = OURS.exec(ours) ?? [];
  assert.ok(name !== undefined, `${reference} names no test: ${ours}`);
  const text = readFileSync(new URL(file, folder), "utf8");
  const literals = [`"${name}"`, `'${name}'`, `\`${name}\``];
  const isThere = literals.some((literal) => PLACES(literal).some((place) => text.includes(place)));
  assert.ok(isThere, `${file} has no test ${JSON.stringify(name)}`);
  assert.ok(mutation.length > 10, `${reference} names no mutation`);
}
