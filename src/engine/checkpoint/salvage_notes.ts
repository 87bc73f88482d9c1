/** What whoever accepts a plan of salvage should know besides what is lost, in words. @module */
import type { Tail } from "../changelog/tail.ts";
import type { Problem, SalvageReport } from "../types.ts";
import type { Evidence, FoundManifest } from "./salvage_evidence.ts";

/** What notes are made from. */
export interface NotesOptions {
  readonly evidence: Evidence;
  /** Uuids of the checkpoints that count. */
  readonly counted: ReadonlySet<string>;
  readonly judged: { readonly whole: readonly FoundManifest[] };
  readonly lost: SalvageReport["lost"];
  readonly leavesOlderRuns: boolean;
  readonly choice: { readonly leavesNewestRun: boolean };
  readonly newest: { readonly run: number };
  readonly tail: Tail;
  /** What is wrong with the tail. */
  readonly problems: readonly Problem[];
}

/** Writes them. */
export function notesOf(options: NotesOptions): string[] {
  const { leavesOlderRuns, tail, problems, lost, choice, newest } = options;
  return [
    ...ofCatalog(options),
    ...ofCheckpoints(options),
    ...(leavesOlderRuns
      ? ["what older runs appended after the head is left out, as a resume gave it up"]
      : []),
    ...(choice.leavesNewestRun
      ? [`what run ${newest.run} appended goes on from no checkpoint that is left: it is given up`]
      : []),
    ...tail.torn.map(({ key, from, to }) =>
      `bytes ${from} to ${to} of ${key} were never acknowledged: they are dropped, as an open does`
    ),
    ...(problems.length === 0 ? [] : [
      "what a missing or bad object held of the tail beyond the offsets that are named can't be told",
    ]),
    ...(lost.checkpoints.length === 0 ? [] : [
      "nothing is deleted now, but a later collection removes what is left of lost checkpoints: copy the job's folder first if you still hope for them",
    ]),
  ];
}

function ofCatalog({ evidence: { state, base }, judged }: NotesOptions): string[] {
  if (state === "whole") return [];
  const unseen =
    "a resume after which nothing was appended can't be told from none: pipelines resume once more";
  if (base !== undefined) {
    return [
      unseen,
      `pins and retention are those of generation ${base.number}: what was changed after it is gone`,
    ];
  }
  const notes = [
    unseen,
    "retention is the default again, and every checkpoint is pinned, since its own pin is not known: set retention and unpin what need not stay",
  ];
  if (judged.whole.length > 0) return notes;
  return [...notes, "the job's fingerprint is not known: open the job with it"];
}

function ofCheckpoints({ evidence, counted, lost }: NotesOptions): string[] {
  const { base, manifests } = evidence;
  const resting = lost.checkpoints.filter(({ uuid }) =>
    base?.checkpoints.some((entry) => entry.uuid === uuid && entry.quarantinedAtMs !== null)
  );
  const unlisted = [...manifests.keys()].filter((uuid) => !counted.has(uuid));
  return [
    ...resting.map(({ uuid }) =>
      `checkpoint ${uuid} was resting before it was to be removed: it was most likely removed in order`
    ),
    ...(evidence.state === "unreadable" ? unlisted : []).map((uuid) =>
      `checkpoint ${uuid} has a manifest, but generation ${
        base!.number
      } does not list it: it was removed before, or failed`
    ),
  ];
}
