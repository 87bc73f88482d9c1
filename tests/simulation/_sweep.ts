/**
 * The fault sweep: every storage call of every life goes wrong, in every way that it can.
 * Owns: the points, running one, the table. Does not own: lives, faults, what must hold.
 * @module
 */
import type { CrashMode } from "../doubles/forgetting_file_system.ts";
import { checkAfterLife } from "./_after_life.ts";
import { DiskGround, type Fault, FAULTS, type Ground, MemoryGround } from "./_ground.ts";
import { Life } from "./_life.ts";
import { LIVES } from "./_lives.ts";

const GROUNDS: Readonly<Record<string, (seed: number) => Ground>> = {
  disk: (seed) => new DiskGround(seed),
  memory: () => new MemoryGround(),
};

const FIRST_LIFE = Object.keys(LIVES)[0];

const CRASHES: readonly CrashMode[] = ["power-cut", "kill", "random-power-cut"];

/** One call of one life, and what goes wrong with it. */
export interface Point {
  readonly ground: string;
  readonly life: string;
  /** Counts the life's calls, from 1. */
  readonly number: number;
  readonly fault: Fault;
  /** What the call is. */
  readonly kind: string;
  readonly path: string;
  /** What the job was asked for when it came. */
  readonly verb: string;
}

/** Counts the calls of every life, and lists what can go wrong with each. */
export async function allPoints(): Promise<Point[]> {
  const all: Point[] = [];
  for (const [ground, make] of Object.entries(GROUNDS)) {
    for (const life of Object.keys(LIVES)) {
      const counted = make(1);
      const lived = new Life(counted);
      await lived.live(LIVES[life]);
      // Every life begins with the same open: it is swept once.
      const begin = life === FIRST_LIFE ? 0 : lived.verbs.findIndex((verb) => verb !== "open");
      const points = pointsOf(counted, lived.verbs, { ground, life });
      all.push(...points.filter(({ number }) => number > begin));
    }
  }
  return all;
}

function pointsOf(
  counted: Ground,
  verbs: readonly string[],
  where: Pick<Point, "ground" | "life">,
): Point[] {
  const calls = counted.calls.slice(0, verbs.length);
  return FAULTS.flatMap((fault) => {
    const kinds = counted.kindsOf(fault);
    return calls.flatMap(({ kind, path }, at) =>
      kinds === undefined || kinds.has(kind)
        ? [{ ...where, number: at + 1, fault, kind, path, verb: verbs[at] }]
        : []
    );
  });
}

/** Of points alike, the suite takes the first three of every five; the soak takes them all. */
export function suitePoints(points: readonly Point[]): Point[] {
  const seen = new Map<string, number>();
  return points.filter(({ ground, verb, kind, fault }) => {
    const alike = [ground, verb, kind, fault].join();
    const before = seen.get(alike) ?? 0;
    seen.set(alike, before + 1);
    return before % 5 < 3;
  });
}

/** @throws {Error} Names the point at which something does not hold. */
export async function runPoint(point: Point): Promise<void> {
  const ground = GROUNDS[point.ground](point.number);
  ground.plan(point.fault, point.number);
  const life = new Life(ground);
  try {
    await life.live(LIVES[point.life]);
    if (!ground.hasStruck) throw new Error("the fault did not strike");
    const isCrash = point.fault.startsWith("crash");
    await checkAfterLife(ground, life.oracle, CRASHES[isCrash ? point.number % 3 : 0]);
  } catch (error) {
    throw new Error(`${nameOf(point)}: ${(error as Error).message}`, { cause: error });
  }
}

function nameOf({ ground, life, number, fault, kind, path, verb }: Point): string {
  return `"${life}" on ${ground}, ${fault} at call ${number} (${kind} ${path}, in ${verb})`;
}
