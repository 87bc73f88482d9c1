/**
 * How far the catalog model is explored: settings that the rules hold in, and for each rule the
 * smallest setting that shows what goes wrong without it.
 * @module
 */
import type { CatalogRules } from "./rules.ts";
import type { Bounds } from "./state.ts";

export interface Setting {
  readonly bounds: Partial<Bounds>;
  /** A smaller exploration would be hollow. */
  readonly statesMin: number;
}

/** Explored to the end in the suite. */
export const CATALOG_SETTINGS: readonly Setting[] = [
  { bounds: { appends: 4, opens: 2 }, statesMin: 15_000 },
  { bounds: { appends: 1, opens: 3 }, statesMin: 15_000 },
  { bounds: { appends: 1, hedges: 1, opens: 2 }, statesMin: 5_000 },
  { bounds: { appends: 3, pairs: 1, checkpoints: 1, opens: 1 }, statesMin: 3_000 },
  { bounds: { appends: 2, checkpoints: 1, opens: 2 }, statesMin: 10_000 },
  { bounds: { appends: 3, checkpoints: 1, resumes: 1, opens: 1 }, statesMin: 10_000 },
  { bounds: { appends: 2, checkpoints: 2, resumes: 1, opens: 1 }, statesMin: 5_000 },
  { bounds: { appends: 3, checkpoints: 1, resumes: 2 }, statesMin: 1_000 },
  { bounds: { appends: 2, sweeps: 1, opens: 2 }, statesMin: 15_000 },
  { bounds: { appends: 2, checkpoints: 2, collections: 1, opens: 1 }, statesMin: 1_000 },
  {
    bounds: { appends: 2, checkpoints: 1, giveUps: 1, lostAnswers: 1, opens: 1 },
    statesMin: 4_000,
  },
  { bounds: { appends: 3, resumes: 1, reads: 1 }, statesMin: 1_000 },
  { bounds: { appends: 2, opens: 1, reads: 1 }, statesMin: 2_000 },
  { bounds: { appends: 1, opens: 1, removals: 1 }, statesMin: 100 },
  { bounds: { appends: 2, checkpoints: 1, rots: 1, opens: 1 }, statesMin: 2_000 },
  { bounds: { appends: 2, catalogLosses: 1, opens: 2 }, statesMin: 5_000 },
  { bounds: { appends: 2, checkpoints: 1, deletions: 1, opens: 1 }, statesMin: 20_000 },
  { bounds: { appends: 1, deletions: 2, opens: 1 }, statesMin: 15_000 },
  { bounds: { appends: 1, deletions: 1, opens: 1, reads: 1 }, statesMin: 10_000 },
  { bounds: { appends: 1, deletions: 1, opens: 1, giveUps: 1, lostAnswers: 1 }, statesMin: 7_000 },
];

/** Larger ones, for the soak. */
export const CATALOG_SETTINGS_LARGE: readonly Setting[] = [
  { bounds: { appends: 2, hedges: 1, opens: 2 }, statesMin: 50_000 },
  { bounds: { appends: 3, hedges: 1, checkpoints: 1, opens: 1 }, statesMin: 50_000 },
  { bounds: { appends: 3, checkpoints: 2, resumes: 1, opens: 1 }, statesMin: 30_000 },
  { bounds: { appends: 3, checkpoints: 1, opens: 2 }, statesMin: 50_000 },
  {
    bounds: { appends: 3, checkpoints: 2, collections: 1, resumes: 1, opens: 1 },
    statesMin: 50_000,
  },
  {
    bounds: { appends: 2, checkpoints: 1, giveUps: 1, lostAnswers: 1, resumes: 1, opens: 1 },
    statesMin: 40_000,
  },
  { bounds: { appends: 3, resumes: 1, reads: 1, opens: 1 }, statesMin: 50_000 },
  { bounds: { appends: 2, opens: 2, reads: 1 }, statesMin: 50_000 },
  { bounds: { appends: 3, checkpoints: 1, resumes: 1, rots: 1, opens: 1 }, statesMin: 50_000 },
  { bounds: { appends: 2, checkpoints: 1, deletions: 1, opens: 2 }, statesMin: 50_000 },
  { bounds: { appends: 2, deletions: 2, opens: 2 }, statesMin: 50_000 },
];

export interface Fault {
  readonly bounds: Partial<Bounds>;
  /** The invariant that is broken. */
  readonly finds: string;
}

/** What is found when one rule is turned off. */
export const CATALOG_FAULTS: { readonly [Rule in keyof CatalogRules]: Fault } = {
  generationIsCreated: { bounds: { appends: 2, opens: 2 }, finds: "restored is a prefix" },
  existsOnPublish: {
    bounds: { appends: 1, checkpoints: 1, lostAnswers: 1, giveUps: 2 },
    finds: "published is restorable",
  },
  absentOnReadBack: {
    bounds: { appends: 1, checkpoints: 1, giveUps: 1 },
    finds: "published is restorable",
  },
  unknownPublish: {
    bounds: { appends: 2, checkpoints: 2, giveUps: 1 },
    finds: "confirmed stays",
  },
  newestGeneration: {
    bounds: { appends: 1, checkpoints: 1, rots: 1, opens: 1 },
    finds: "confirmed stays",
  },
  missingCatalog: {
    bounds: { appends: 1, catalogLosses: 1, opens: 1 },
    finds: "acknowledged is safe",
  },
  ownerKeyIsCreated: { bounds: { appends: 2, opens: 2 }, finds: "acknowledged is safe" },
  recovery: { bounds: { appends: 1, opens: 1 }, finds: "acknowledged is safe" },
  service: { bounds: { appends: 3, opens: 2 }, finds: "restored is a prefix" },
  recoveredTailFrom: { bounds: { appends: 3, opens: 2 }, finds: "restored is a prefix" },
  acknowledgeLooksUp: {
    bounds: { appends: 2, checkpoints: 1, opens: 1 },
    finds: "fenced never acknowledges",
  },
  acknowledgeLooksUpWhen: {
    bounds: { appends: 1, opens: 1 },
    finds: "fenced never acknowledges",
  },
  ownOwnerKey: {
    bounds: { appends: 1, opens: 1, removals: 1 },
    finds: "fenced never acknowledges",
  },
  acknowledgeOrder: { bounds: { appends: 2, opens: 1 }, finds: "acknowledged is safe" },
  fencedOwner: {
    bounds: { appends: 1, checkpoints: 1, opens: 1 },
    finds: "published is restorable",
  },
  recoveryTakes: {
    bounds: { appends: 2, pairs: 1, checkpoints: 1, opens: 1 },
    finds: "acknowledged is safe",
  },
  tailGoesOnFrom: {
    bounds: { appends: 3, checkpoints: 1, resumes: 1, opens: 1 },
    finds: "restored is a prefix",
  },
  resumeEpoch: {
    bounds: { appends: 3, checkpoints: 1, resumes: 1, opens: 1 },
    finds: "restored is a prefix",
  },
  resumeAcknowledges: {
    bounds: { appends: 1, resumes: 1 },
    finds: "fenced never acknowledges",
  },
  resumeTailFrom: { bounds: { appends: 2, resumes: 1, opens: 1 }, finds: "restored is a prefix" },
  resumeAdopted: { bounds: { appends: 2, resumes: 1, opens: 2 }, finds: "restored is a prefix" },
  checkpointPosition: { bounds: { appends: 1, checkpoints: 1 }, finds: "published is restorable" },
  manifestIsWritten: { bounds: { appends: 1, checkpoints: 1 }, finds: "published is restorable" },
  collectionKeeps: {
    bounds: { appends: 2, checkpoints: 2, resumes: 1, collections: 1, opens: 1 },
    finds: "acknowledged is safe",
  },
  deletionIsPublished: {
    bounds: { appends: 1, hedges: 1, opens: 1 },
    finds: "published is restorable",
  },
  deletionWaits: {
    bounds: { appends: 1, checkpoints: 1, resumes: 1, collections: 1, opens: 1 },
    finds: "published is restorable",
  },
  sweepTakesFirst: {
    bounds: { appends: 1, sweeps: 1, opens: 1 },
    finds: "acknowledged is safe",
  },
  deleterFences: { bounds: { appends: 1, deletions: 1 }, finds: "fenced never acknowledges" },
  deletedIsPublished: {
    bounds: { appends: 1, checkpoints: 1, deletions: 1 },
    finds: "published is restorable",
  },
  deletedTailFrom: {
    bounds: { appends: 1, deletions: 1, opens: 1 },
    finds: "restored is a prefix",
  },
  deletionLeaves: {
    bounds: { appends: 1, deletions: 1, opens: 1 },
    finds: "restored is a prefix",
  },
  readerAfterScan: {
    bounds: { appends: 3, resumes: 1, reads: 1 },
    finds: "read is a prefix",
  },
  generationVanished: { bounds: { opens: 1, reads: 1 }, finds: "absent is not unreadable" },
};
