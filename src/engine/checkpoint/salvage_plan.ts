/**
 * What salvaging a job would make of it, and what is lost. Reads everything, and writes nothing.
 * Owns: naming every loss, and the plan's identity. Does not own: doing it (`job_salvage.ts`).
 * @module
 */
import { xxh64 } from "../../../wasm/mod.ts";
import { furthest } from "../changelog/offset_ranges.ts";
import { scanTail, type TailScanOptions } from "../changelog/tail_scan.ts";
import type { Tail } from "../changelog/tail.ts";
import type { TidemarkError } from "../errors.ts";
import type { CatalogEntry } from "../format/generation.ts";
import { formatHash } from "../format/hash_text.ts";
import { CHECKPOINTS_MAX } from "../limits.ts";
import type { LostChanges, LostCheckpoint, Problem, SalvageReport } from "../types.ts";
import type { JobPlace } from "./catalog_read.ts";
import { checkThere as checkJob, jobNotFound } from "./deleted_job.ts";
import {
  chooseHead,
  chooseTail,
  compareManifests,
  countedUuids,
  findNewestRun,
  type HeadChoice,
  type NewestRun,
} from "./salvage_choice.ts";
import {
  type Evidence,
  findEvidence,
  findFirstSets,
  type FoundManifest,
  problemOf,
} from "./salvage_evidence.ts";
import { notesOf } from "./salvage_notes.ts";
import { verifyCheckpoint } from "./verify.ts";

/** Why a checkpoint stays until somebody unpins it. */
export const SALVAGED_PIN = "salvaged";

/** A plan, and what is needed to carry it out. */
export interface SalvagePlan {
  readonly report: SalvageReport;
  readonly evidence: Evidence;
  readonly tail: Tail;
  /** What the catalog lists from now on, oldest first. */
  readonly entries: readonly CatalogEntry[];
  readonly head: FoundManifest | undefined;
  readonly newest: NewestRun;
  readonly fingerprint: bigint;
  /** Whether nothing of the tail is missing or bad. */
  readonly isTailWhole: boolean;
}

/** Checkpoints, told apart. */
interface Judged {
  /** Can be restored, oldest first. */
  readonly whole: readonly FoundManifest[];
  readonly lost: readonly LostCheckpoint[];
}

/**
 * Makes the plan for a job.
 *
 * @throws {TidemarkError} `job-not-found`, `unsupported-format`, `storage-unavailable`, `storage-denied`
 */
export async function planSalvage(place: JobPlace, signal?: AbortSignal): Promise<SalvagePlan> {
  const { backend, keys, store } = place;
  const evidence = await findEvidence(place, signal);
  checkThere(place, evidence);
  const counted = countedUuids(evidence);
  const judged = await judge(place, evidence, counted, signal);
  const newest = await findNewestRun(
    evidence,
    counted,
    (sinceEpoch) => findFirstSets(place, evidence.files, sinceEpoch, signal),
  );
  const isWhole = (uuid: string) => judged.whole.some(({ manifest }) => manifest.uuid === uuid);
  const choice = chooseHead(evidence, counted, newest, { keys, isWhole });
  const { head } = choice;
  const { tailFrom, adopted, leavesOlderRuns } = chooseTail(evidence, choice, newest, keys);
  const problems: Problem[] = [];
  let isTailWhole = true;
  const onLoss = (loss: TidemarkError): void => {
    isTailWhole = false;
    // What is lost of a writer is named by its offsets.
    if (typeof loss.details.key === "string") problems.push(problemOf(loss.details.key, loss));
  };
  const tail = await scanNames({
    ...{ backend, keys, store, tailFrom, adopted, onLoss, signal },
    head: head?.manifest,
    doomed: evidence.base?.doomed ?? [],
  });
  const lostAdopted = missingAdopted(evidence);
  isTailWhole &&= lostAdopted.length === 0;
  problems.push(...lostAdopted);
  const lost = {
    checkpoints: judged.lost,
    changes: lostChanges(tail, choice, newest),
    objects: joinProblems(
      evidence.problems,
      judged.lost.flatMap((one) => one.problems),
      problems,
    ),
  };
  const entries = entriesOf(evidence, judged.whole, head);
  const notes = notesOf({
    ...{ evidence, counted, judged, lost, leavesOlderRuns, tail, problems },
    choice,
    newest,
  });
  const report = reportOf(place, evidence, { choice, entries, lost, notes, tail, isTailWhole });
  const fingerprint = evidence.base?.fingerprint ??
    (head ?? judged.whole.at(-1))?.manifest.fingerprint ?? 0n;
  return { report, evidence, tail, entries, head, newest, fingerprint, isTailWhole };
}

/**
 * Scans the tail as far as every name stands for the writer that `head` knows: a restore would take the sets of a later
 * one for its.
 */
async function scanNames(options: TailScanOptions): Promise<Tail> {
  const tail = await scanTail(options);
  const { reusedSince: beforeEpoch } = tail;
  if (beforeEpoch === undefined) return tail;
  const { adopted } = options;
  const isOlder = adopted !== undefined && adopted.number < beforeEpoch;
  const older = await scanTail(
    { ...options, beforeEpoch, adopted: isOlder ? adopted : undefined },
  );
  return { ...older, known: furthest(tail.known, older.known) };
}

/** @throws {TidemarkError} `job-not-found`: there is nothing of the job but what an open leaves that died, or it was deleted; `import-unfinished`. */
function checkThere(place: JobPlace, evidence: Evidence): void {
  if (evidence.state === "whole") checkJob(place, evidence.base);
  if (evidence.state === "missing" && evidence.objects === 0) throw jobNotFound(place);
}

/** Reads everything that the checkpoints need, the newest first, each file once as far as it is whole. */
async function judge(
  place: JobPlace,
  { manifests, badManifests, base }: Evidence,
  counted: ReadonlySet<string>,
  signal: AbortSignal | undefined,
): Promise<Judged> {
  const whole: FoundManifest[] = [];
  const lost: LostCheckpoint[] = [];
  const files = new Map<string, number>();
  const found = [...manifests.values()].filter(({ manifest }) => counted.has(manifest.uuid));
  for (const one of found.sort((a, b) => compareManifests(b, a))) {
    const { uuid, identifier } = one.manifest;
    const problems = await verifyCheckpoint(place, one.entry, { whole: files, signal });
    if (problems.length === 0) whole.push(one);
    else lost.push({ uuid, identifier: identifier ?? undefined, problems });
  }
  lost.reverse();
  const listed = new Map(base?.checkpoints.map((entry) => [entry.uuid, entry.identifier]));
  for (const [uuid, problem] of badManifests) {
    if (!counted.has(uuid)) continue;
    lost.push({ uuid, identifier: listed.get(uuid) ?? undefined, problems: [problem] });
  }
  return { whole: whole.reverse(), lost };
}

/** What a recovery took over is named by a generation, and is not there or can't be read. */
function missingAdopted({ state, base, adopted, badAdopted }: Evidence): Problem[] {
  const named = base?.adopted?.key;
  if (state !== "whole" || named === undefined) return [...state === "whole" ? [] : badAdopted];
  if (adopted.some(({ key }) => key === named)) return [];
  const bad = badAdopted.find(({ key }) => key === named);
  return [bad ?? { key: named, reason: `${named} is missing` }];
}

/** What is known to have been appended after where each writer goes on. */
function lostChanges(
  { writers, known }: Tail,
  { passedOver, leavesNewestRun }: HeadChoice,
  { firstSets }: NewestRun,
): LostChanges[] {
  const ends = new Map(known);
  if (leavesNewestRun) { for (const [writer, { end }] of firstSets) ends.set(writer, end); }
  for (const { manifest } of passedOver) {
    for (const { writer, nextOffset } of manifest.writers) {
      ends.set(writer, Math.max(nextOffset, ends.get(writer) ?? 0));
    }
  }
  const lost: LostChanges[] = [];
  for (const [writer, to] of ends) {
    const from = writers.get(writer)?.nextOffset ?? 0;
    if (to > from) lost.push({ writer, from, to });
  }
  return lost.sort((a, b) => a.writer < b.writer ? -1 : 1);
}

/** Each object once, at each of its places. */
function joinProblems(...lists: readonly (readonly Problem[])[]): Problem[] {
  const joined = new Map<string, Problem>();
  for (const problem of lists.flat()) {
    const place = `${problem.key} ${problem.from}`;
    if (!joined.has(place)) joined.set(place, problem);
  }
  return [...joined.values()];
}

/** What the catalog lists: a parent that is gone is taken over from it, or is none where nothing tells of it. */
function entriesOf(
  { base, manifests }: Evidence,
  whole: readonly FoundManifest[],
  head: FoundManifest | undefined,
): CatalogEntry[] {
  const listed = new Set(base?.checkpoints.map(({ uuid }) => uuid));
  const parents = new Map(base?.checkpoints.map(({ uuid, parent }) => [uuid, parent]));
  for (const { manifest: { uuid, parent } } of manifests.values()) {
    if (!parents.has(uuid)) parents.set(uuid, parent);
  }
  const newest = whole.slice(-CHECKPOINTS_MAX);
  const kept = head === undefined || newest.includes(head) ? newest : [head, ...newest.slice(1)];
  const there = new Set(kept.map(({ manifest }) => manifest.uuid));
  const parentOf = (uuid: string): string | null => {
    const passed = new Set<string>([uuid]);
    for (let parent = parents.get(uuid) ?? null; parent !== null && !passed.has(parent);) {
      if (there.has(parent)) return parent;
      passed.add(parent);
      parent = parents.get(parent) ?? null;
    }
    return null;
  };
  return kept.map(({ entry }) => ({
    ...entry,
    parent: parentOf(entry.uuid),
    pin: listed.has(entry.uuid) ? entry.pin : SALVAGED_PIN,
    quarantinedAtMs: null,
  }));
}

function reportOf(
  { keys }: JobPlace,
  { state, base }: Evidence,
  found: {
    readonly choice: HeadChoice;
    readonly entries: readonly CatalogEntry[];
    readonly lost: SalvageReport["lost"];
    readonly notes: readonly string[];
    readonly tail: Tail;
    readonly isTailWhole: boolean;
  },
): SalvageReport {
  const { choice, entries, lost, notes, tail, isTailWhole } = found;
  const head = choice.head?.manifest.uuid ?? null;
  const writers = [...tail.writers.values()].map(({ writer, nextOffset }) => (
    { writer, nextOffset }
  ));
  const isNeeded = state !== "whole" || lost.checkpoints.length > 0 || lost.objects.length > 0 ||
    !isTailWhole;
  const plan = {
    job: keys.job,
    isNeeded,
    isDone: false,
    catalog: { state, generation: base?.number },
    head,
    headReason: choice.reason,
    checkpoints: entries.map(({ uuid, identifier, createdAtMs, run, pin }) => ({
      uuid,
      identifier: identifier ?? undefined,
      createdAtMs,
      run,
      isHead: uuid === head,
      isPinned: pin !== null,
    })),
    writers: writers.sort((a, b) => a.writer < b.writer ? -1 : 1),
    lost,
    notes,
  };
  return { ...plan, id: idOf(plan) };
}

/** What is accepted: what is gone, and what the job goes on from. Changes that come on top are no other plan. */
function idOf({ job, catalog, head, checkpoints, lost }: Omit<SalvageReport, "id">): string {
  const accepted = {
    job,
    catalog,
    head,
    checkpoints: checkpoints.map(({ uuid }) => uuid),
    lost,
  };
  return formatHash(xxh64(new TextEncoder().encode(JSON.stringify(accepted))));
}
