/**
 * How far the publish model is explored.
 * @module
 */
import type { PublishRules } from "./rules.ts";
import type { Bounds } from "./state.ts";

export interface Setting {
  readonly bounds: Partial<Bounds>;
  /** A smaller exploration would be hollow. */
  readonly statesMin: number;
}

/** Explored to the end in the suite. */
export const PUBLISH_SETTINGS: readonly Setting[] = [
  { bounds: { publishes: 2, cuts: 1, failures: 1 }, statesMin: 100 },
  { bounds: { publishes: 2, opens: 1, cuts: 1, failures: 2 }, statesMin: 2_000 },
  { bounds: { publishes: 2, opens: 2, kills: 1, cuts: 1, failures: 1 }, statesMin: 20_000 },
];

/** Larger ones, for the soak. */
export const PUBLISH_SETTINGS_LARGE: readonly Setting[] = [
  { bounds: { publishes: 3, opens: 1, cuts: 1, failures: 2 }, statesMin: 30_000 },
  { bounds: { publishes: 3, opens: 2, cuts: 1, failures: 1 }, statesMin: 30_000 },
];

export interface Fault {
  readonly bounds: Partial<Bounds>;
  /** The invariant that is broken. */
  readonly finds: string;
}

/** What is found when one rule is turned off. */
export const PUBLISH_FAULTS: { readonly [Rule in keyof PublishRules]: Fault } = {
  finalName: { bounds: { publishes: 2, opens: 1 }, finds: "confirmed stays" },
  temporaryName: { bounds: { publishes: 2, opens: 1, cuts: 1 }, finds: "newest is readable" },
  bodySync: { bounds: { publishes: 1, cuts: 1 }, finds: "newest is readable" },
  directorySync: { bounds: { publishes: 1, cuts: 1 }, finds: "confirmed stays" },
  failedDirectorySync: {
    bounds: { publishes: 1, cuts: 1, failures: 1 },
    finds: "confirmed stays",
  },
  directoryHandle: {
    bounds: { publishes: 2, opens: 1, cuts: 1, failures: 1 },
    finds: "confirmed stays",
  },
  manifestSync: { bounds: { publishes: 1, cuts: 1 }, finds: "published is restorable" },
  manifestDirectorySync: { bounds: { publishes: 1, cuts: 1 }, finds: "published is restorable" },
  parentSync: { bounds: { publishes: 1, cuts: 1 }, finds: "confirmed stays" },
  newestIs: { bounds: { publishes: 2, cuts: 1, failures: 1, opens: 1 }, finds: "confirmed stays" },
};
