/**
 * How far the log model is explored: settings that the rules hold in, and for each rule a small
 * setting that shows what goes wrong without it.
 * @module
 */
import type { LogRules } from "./rules.ts";
import type { Bounds } from "./state.ts";

export interface Setting {
  readonly writers?: number;
  readonly bounds: Partial<Bounds>;
  /** Steps before the exploration begins, for what lies too deep. */
  readonly script?: readonly string[];
}

export interface SettingThatHolds extends Setting {
  /** A smaller exploration would be hollow. */
  readonly statesMin: number;
}

export interface Fault extends Setting {
  /** The invariant that is broken. */
  readonly finds: string;
}

/** Explored to the end in the suite. */
export const LOG_SETTINGS: readonly SettingThatHolds[] = [
  { bounds: { appends: 2, opens: 1, cuts: 1, failures: 1 }, statesMin: 4_000 },
  { bounds: { appends: 2, opens: 2, cuts: 1 }, statesMin: 4_000 },
  { bounds: { appends: 1, opens: 2, kills: 1, cuts: 1, failures: 1 }, statesMin: 10_000 },
  { bounds: { appends: 1, opens: 1, cuts: 1, failures: 3 }, statesMin: 8_000 },
  { bounds: { appends: 2, opens: 2, kills: 1 }, statesMin: 7_000 },
  { bounds: { appends: 3, opens: 2 }, statesMin: 10_000 },
  { bounds: { appends: 2, opens: 2, slowScans: 1, failures: 1 }, statesMin: 20_000 },
  { bounds: { appends: 3, opens: 1, slowScans: 1, seals: 1 }, statesMin: 15_000 },
  { bounds: { appends: 2, opens: 1, slowScans: 1, cuts: 1, failures: 1 }, statesMin: 10_000 },
  { bounds: { appends: 2, checkpoints: 1, opens: 1, cuts: 1, failures: 1 }, statesMin: 20_000 },
  { bounds: { appends: 2, resumes: 1, tailResumes: 1, opens: 1, cuts: 1 }, statesMin: 4_000 },
  { bounds: { appends: 1, sweeps: 1, opens: 1, cuts: 1, failures: 2 }, statesMin: 7_000 },
  {
    bounds: { appends: 2, checkpoints: 2, materialised: 1, collections: 1, sweeps: 1 },
    statesMin: 2_000,
  },
  { bounds: { appends: 2, opens: 1, cuts: 1, failures: 1, rots: 1 }, statesMin: 4_000 },
  { bounds: { appends: 3, resumes: 1, reads: 1 }, statesMin: 5_000 },
  { bounds: { appends: 3, seals: 1, reads: 1 }, statesMin: 4_000 },
  { writers: 2, bounds: { appends: 2, opens: 1, cuts: 1, failures: 1 }, statesMin: 10_000 },
  { writers: 2, bounds: { appends: 2, opens: 2, cuts: 1 }, statesMin: 10_000 },
];

/** Larger ones, for the soak. */
export const LOG_SETTINGS_LARGE: readonly SettingThatHolds[] = [
  { bounds: { appends: 3, opens: 1, slowScans: 1, failures: 1 }, statesMin: 50_000 },
  { bounds: { appends: 2, checkpoints: 1, resumes: 1, opens: 1, failures: 1 }, statesMin: 50_000 },
  {
    bounds: { appends: 2, seals: 1, checkpoints: 1, materialised: 1, sweeps: 1, opens: 1 },
    statesMin: 40_000,
  },
  { bounds: { appends: 2, opens: 1, failures: 1, reads: 1 }, statesMin: 70_000 },
  { writers: 2, bounds: { appends: 3, opens: 1, failures: 1 }, statesMin: 100_000 },
];

/** A set of the second writer lies, unadopted, in the batch that a take-over copies. */
const STALE_SET_IN_A_COPY = [
  "1 appends w0s0",
  "1 appends w1s0",
  "1 appends w1s1",
  "1 writes w0s0 w1s1 to (1,1)",
  "1: the sync of (1,1) returns",
  "epoch 2 is claimed",
  "2 publishes its fence",
  "2 scans",
  "2 copies batch 0 of (1,1) to (2,1)",
  "2: the sync of the copy returns",
  '2 publishes "recovered"',
];

/** What is found when one rule is turned off. */
export const LOG_FAULTS: { readonly [Rule in keyof LogRules]: Fault } = {
  batches: { bounds: { appends: 2, opens: 2, cuts: 1 }, finds: "no false alarm" },
  endFrame: { bounds: { appends: 1, seals: 1, opens: 2, cuts: 1 }, finds: "no false alarm" },
  afterFailedSync: {
    bounds: { appends: 1, opens: 1, cuts: 1, failures: 1 },
    finds: "acknowledged is safe",
  },
  lateSync: {
    bounds: { appends: 1, opens: 1, cuts: 1, failures: 1 },
    finds: "acknowledged is safe",
  },
  directorySync: {
    bounds: { appends: 2, opens: 1, cuts: 1, failures: 1 },
    finds: "no false alarm",
  },
  headerNames: { bounds: { appends: 1, opens: 1, cuts: 1, failures: 2 }, finds: "no false alarm" },
  headerSays: {
    bounds: { appends: 2, opens: 1, cuts: 1, failures: 1 },
    finds: "acknowledged is safe",
  },
  bytesAfterSyncedLength: {
    bounds: { appends: 1, opens: 2, cuts: 1, failures: 1 },
    finds: "no false alarm",
  },
  badBelowSyncedLength: {
    bounds: { appends: 2, opens: 1, cuts: 1, failures: 1, rots: 1 },
    finds: "acknowledged is safe",
  },
  tornEnd: { bounds: { appends: 1, opens: 1, cuts: 1, failures: 2 }, finds: "no false alarm" },
  emptyPredecessor: {
    bounds: { appends: 1, opens: 1, cuts: 1, failures: 1 },
    finds: "no false alarm",
  },
  lastBatch: { bounds: { appends: 1, opens: 2, cuts: 1 }, finds: "no false alarm" },
  copyIsSynced: { bounds: { appends: 1, opens: 2, cuts: 1 }, finds: "no false alarm" },
  ofDifferentEpochs: {
    writers: 2,
    bounds: { appends: 5, checkpoints: 1, opens: 1 },
    script: STALE_SET_IN_A_COPY,
    finds: "published is restorable",
  },
  setsOfLowerEpochs: {
    writers: 2,
    bounds: { appends: 4, opens: 2 },
    script: STALE_SET_IN_A_COPY,
    finds: "restored is a prefix",
  },
  endWithoutEntry: {
    writers: 2,
    bounds: { appends: 4, checkpoints: 1, opens: 2 },
    script: STALE_SET_IN_A_COPY,
    finds: "restored is a prefix",
  },
  tailFromIsTaken: {
    bounds: { appends: 2, seals: 1, checkpoints: 1, opens: 1 },
    finds: "acknowledged is safe",
  },
  keepSet: {
    bounds: {
      appends: 3,
      seals: 1,
      checkpoints: 1,
      materialised: 1,
      sweeps: 1,
      opens: 1,
      cuts: 1,
      failures: 1,
    },
    script: [
      "1 appends w0s0",
      "1 rolls over",
      "1 appends w0s1",
      "1 writes w0s1 to (1,1)",
      "1: the sync of (1,1) returns",
      "1 writes w0s0 to (1,1)",
      "1: the sync of (1,1) fails",
      "1 writes w0s0 to (1,2)",
      "1: the sync of (1,2) returns",
    ],
    finds: "no false alarm",
  },
  doomedIsAdopted: {
    bounds: { appends: 2, seals: 1, checkpoints: 1, materialised: 1, sweeps: 1, opens: 1 },
    script: ["1 appends w0s0", "1 rolls over", "1 writes w0s0 to (1,1)"],
    finds: "no false alarm",
  },
  doomedLeaves: {
    bounds: {
      appends: 2,
      seals: 1,
      checkpoints: 2,
      materialised: 1,
      collections: 1,
      sweeps: 1,
      opens: 1,
    },
    script: [
      "1 rolls over",
      "1 publishes checkpoint 1",
      "1 appends w0s0",
      "1 rolls over",
      "1 writes w0s0 to (1,1)",
      "1: the sync of (1,1) returns",
    ],
    finds: "no false alarm",
  },
  filesAreListed: { bounds: { appends: 3, seals: 1, reads: 1 }, finds: "no false alarm" },
  readerAfterScan: { bounds: { appends: 3, resumes: 1, reads: 1 }, finds: "read is a prefix" },
};
