/**
 * Tables of the fault sweep's points, and which of their cells may not be empty.
 * @module
 */
import { type Fault, FAULTS } from "./_ground.ts";
import type { Point } from "./_sweep.ts";

type Table = ReadonlyMap<string, ReadonlyMap<Fault, number>>;

/** Steps of protocols that change the store. */
const CHANGING_VERBS = [
  "open",
  "persist",
  "checkpoint",
  "snapshot",
  "resume",
  "retain",
  "pin",
  "unpin",
  "collect",
  "close",
];
const READING_VERBS = ["restore", "verify", "usage"];
const WRITING_CHANGES = new Set(["persist", "checkpoint", "snapshot"]);

/** Counts points by step of protocol and fault. */
export function tableOfSteps(points: readonly Point[]): Table {
  return tableOf(points, ({ ground, verb }) => `${ground}: ${verb}`);
}

/** Counts points by kind of call and fault. */
export function tableOfKinds(points: readonly Point[]): Table {
  return tableOf(points, ({ ground, kind }) => `${ground}: ${kind}`);
}

function tableOf(points: readonly Point[], rowOf: (point: Point) => string): Table {
  const rows = new Map<string, Map<Fault, number>>();
  for (const point of points) {
    const row = rows.get(rowOf(point)) ?? new Map<Fault, number>();
    row.set(point.fault, (row.get(point.fault) ?? 0) + 1);
    rows.set(rowOf(point), row);
  }
  return rows;
}

/** Writes a table; a dash stands where the fault makes no sense of the call. */
export function printed(table: Table): string {
  const widths = FAULTS.map((fault) => Math.max(fault.length, 6));
  const line = (name: string, cells: readonly string[]): string =>
    name.padEnd(24) + cells.map((cell, i) => cell.padStart(widths[i] + 2)).join("");
  const body = [...table].sort(([one], [other]) => one < other ? -1 : 1).map(([name, row]) =>
    line(name, FAULTS.map((fault) => String(row.get(fault) ?? "-")))
  );
  return [line("", FAULTS), ...body].join("\n");
}

/** Cells that have no point, and should have some. */
export function emptyCells(table: Table): string[] {
  const wanted: [row: string, fault: Fault][] = [];
  for (const verb of CHANGING_VERBS) {
    for (const fault of FAULTS) {
      wanted.push([`disk: ${verb}`, fault]);
      const needsAppender = fault === "cut short" && !WRITING_CHANGES.has(verb);
      if (fault !== "sync lies" && !needsAppender) wanted.push([`memory: ${verb}`, fault]);
    }
  }
  for (const verb of READING_VERBS) wanted.push([`disk: ${verb}`, "fails"]);
  for (const verb of READING_VERBS) wanted.push([`memory: ${verb}`, "fails"]);
  return wanted.filter(([row, fault]) => (table.get(row)?.get(fault) ?? 0) === 0)
    .map(([row, fault]) => `${row}, ${fault}`);
}
