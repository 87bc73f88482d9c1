/**
 * The rules of the log on a disk as switches.
 * @module
 */
import type { RuleTable } from "../rules.ts";

export interface LogRules {
  readonly batches: "one at a time" | "overlapping";
  readonly endFrame: "after the sync" | "at any time";
  readonly afterFailedSync: "new file" | "syncs again";
  readonly lateSync: "counts for nothing" | "counts";
  readonly directorySync: "with the first sync" | "at the acknowledgement";
  readonly headerNames: "all not yet named" | "the file before";
  readonly headerSays: "synced length" | "acknowledged length";
  readonly bytesAfterSyncedLength: "do not exist" | "are read";
  readonly badBelowSyncedLength: "corruption" | "torn end";
  readonly tornEnd: "no later whole header" | "last file only";
  readonly emptyPredecessor: "ignored" | "must be there";
  readonly lastBatch: "copied" | "adopted as read";
  readonly copyIsSynced: "with its directory" | "without its directory";
  readonly ofDifferentEpochs: "highest" | "lowest";
  readonly setsOfLowerEpochs: "below the adopted end" | "all";
  readonly endWithoutEntry: "position of head" | "none";
  readonly tailFromIsTaken: "at the roll-over" | "at the publish";
  readonly keepSet: "with chains" | "without chains";
  readonly doomedIsAdopted: "never" | "if found";
  readonly doomedLeaves: "deleted and passed" | "deleted";
  readonly filesAreListed: "before the first is read" | "as they are read";
  readonly readerAfterScan: "reads again" | "ends";
}

export const LOG_RULES: RuleTable<LogRules> = {
  batches: {
    text: "A batch is not written before the sync of the batch before it has returned",
    default: "one at a time",
    literal: "overlapping",
  },
  endFrame: {
    text: "An end frame is not written before the sync of the last batch has returned",
    default: "after the sync",
    literal: "at any time",
  },
  afterFailedSync: {
    text:
      "After a failed sync a file gets no further byte and no sync; the batch goes to a new one",
    default: "new file",
    literal: "syncs again",
  },
  lateSync: {
    text: "The late success of a write or sync that was given up counts for nothing",
    default: "counts for nothing",
    literal: "counts",
  },
  directorySync: {
    text: "The first sync of a new file has returned only when that of its directory has",
    default: "with the first sync",
    literal: "at the acknowledgement",
  },
  headerNames: {
    text: "A header names every earlier file of the epoch that no header on disk names yet",
    default: "all not yet named",
    literal: "the file before",
  },
  headerSays: {
    text: "A header says up to where the syncs of its predecessors had returned",
    default: "synced length",
    literal: "acknowledged length",
  },
  bytesAfterSyncedLength: {
    text: "Bytes after the synced length that a header names do not exist",
    default: "do not exist",
    literal: "are read",
  },
  badBelowSyncedLength: {
    text: "Bad bytes before the synced length that a header names are corruption",
    default: "corruption",
    literal: "torn end",
  },
  tornEnd: {
    text: "A torn end is dropped if no later file of the epoch has a whole header",
    default: "no later whole header",
    literal: "last file only",
  },
  emptyPredecessor: {
    text: "A file with synced length 0 is not read, not even its header, and may be missing",
    default: "ignored",
    literal: "must be there",
  },
  lastBatch: {
    text: "The last batch of a file without successor and end frame is copied and synced",
    default: "copied",
    literal: "adopted as read",
  },
  copyIsSynced: {
    text: "The first sync of a file with copies counts only with the sync of its directory",
    default: "with its directory",
    literal: "without its directory",
  },
  ofDifferentEpochs: {
    text: "Of sets of different epochs in one place the highest counts",
    default: "highest",
    literal: "lowest",
  },
  setsOfLowerEpochs: {
    text: "A set of an epoch below that of `tailFrom` counts only below its writer's adopted end",
    default: "below the adopted end",
    literal: "all",
  },
  endWithoutEntry: {
    text:
      "A writer without an adopted end ends at `head`, also when a checkpoint emptied `adopted`",
    default: "position of head",
    literal: "none",
  },
  tailFromIsTaken: {
    text: "A checkpoint sets `tailFrom` to the file open at its roll-over, or else to the next",
    default: "at the roll-over",
    literal: "at the publish",
  },
  keepSet: {
    text: "Files whose header names a file of the tail that is not doomed are kept",
    default: "with chains",
    literal: "without chains",
  },
  doomedIsAdopted: {
    text: "Recovery never adopts a doomed key, nor misses it",
    default: "never",
    literal: "if found",
  },
  doomedLeaves: {
    text: "A key leaves `doomed` when its delete is confirmed and `tailFrom` has passed it",
    default: "deleted and passed",
    literal: "deleted",
  },
  filesAreListed: {
    text: "A scan lists the files before it reads the first, as their owner may go on writing",
    default: "before the first is read",
    literal: "as they are read",
  },
  readerAfterScan: {
    text: "A reader of the tail reads the generation again after its scan, and starts over if " +
      "`head` or `tailFrom` changed",
    default: "reads again",
    literal: "ends",
  },
};
