/**
 * What a job goes on from whose catalog can't be relied on.
 * Owns: which checkpoints count, which of them is `head`, where the tail begins. Does not own: reading any of it.
 *
 * An older generation is better evidence than manifests: it says what was published, pinned and abandoned.
 * @module
 */
import { compareFiles } from "../changelog/file_order.ts";
import type { AdoptedBody } from "../format/adopted.ts";
import type { GenerationBody, TailFrom } from "../format/generation.ts";
import type { ManifestBody } from "../format/manifest.ts";
import type { JobKeys } from "../paths.ts";
import { timeOfUuid } from "../uuid.ts";
import type { Evidence, FirstSet, FoundManifest } from "./salvage_evidence.ts";

/** The newest run of which there is anything. */
export interface NewestRun {
  readonly run: number;
  /** Its first epoch, as far as that is known. */
  readonly sinceEpoch: number;
  /** Where what was appended in it begins, by writer. */
  readonly firstSets: ReadonlyMap<string, FirstSet>;
}

/** The checkpoint to go on from. */
export interface HeadChoice {
  readonly head: FoundManifest | undefined;
  readonly reason: string;
  /** Newer ones of its line that can't be restored. */
  readonly passedOver: readonly FoundManifest[];
  /** Whether what the newest run appended goes on from no checkpoint that is left. */
  readonly leavesNewestRun: boolean;
}

/** Where the tail begins. */
export interface TailChoice {
  readonly tailFrom: TailFrom;
  readonly adopted: AdoptedBody | undefined;
  /** Whether change sets of older runs are left out, since a resume gave them up. */
  readonly leavesOlderRuns: boolean;
}

/** Uuids of the checkpoints that count, whether they can be restored or not. */
export function countedUuids(
  { state, base, manifests, badManifests }: Evidence,
): ReadonlySet<string> {
  const all = [...manifests.keys(), ...badManifests.keys()];
  if (base === undefined) return new Set(all);
  const listed = base.checkpoints.map(({ uuid }) => uuid);
  if (state === "whole") return new Set(listed);
  const isNewer = (uuid: string): boolean => {
    const found = manifests.get(uuid)?.manifest;
    if (found === undefined) return timeOfUuid(uuid) >= base.createdAtMs;
    if (found.epoch !== base.epoch) return found.epoch > base.epoch;
    // A clock may have been set back.
    return found.createdAtMs >= base.createdAtMs || found.parent === base.head;
  };
  return new Set([...listed, ...all.filter(isNewer)]);
}

/** Orders checkpoints as they were made: a writer never goes back within an epoch, but a clock may. */
export function compareManifests(
  { manifest: a }: FoundManifest,
  { manifest: b }: FoundManifest,
): number {
  return a.run - b.run || a.epoch - b.epoch || comparePositions(a, b) ||
    a.createdAtMs - b.createdAtMs || compareParents(a, b) || (a.uuid < b.uuid ? -1 : 1);
}

function comparePositions(a: ManifestBody, b: ManifestBody): number {
  const ends = new Map(b.writers.map(({ writer, nextOffset }) => [writer, nextOffset]));
  let order = 0;
  for (const { writer, nextOffset } of a.writers) {
    order ||= nextOffset - (ends.get(writer) ?? nextOffset);
  }
  return order;
}

function compareParents(a: ManifestBody, b: ManifestBody): number {
  return b.parent === a.uuid ? -1 : a.parent === b.uuid ? 1 : 0;
}

/**
 * Finds the newest run.
 *
 * @param readFirstSets Reads what was appended from an epoch on.
 */
export async function findNewestRun(
  { state, base, manifests, files }: Evidence,
  counted: ReadonlySet<string>,
  readFirstSets: (sinceEpoch: number) => Promise<Map<string, FirstSet>>,
): Promise<NewestRun> {
  const known = [...manifests.values()].map(({ manifest }) => manifest)
    .filter(({ uuid }) => counted.has(uuid));
  const headers = files.map(({ header }) => header);
  const told = [...known, ...(base === undefined ? [] : [base])];
  const sinceOf = (run: number): number =>
    [...told, ...headers].filter((one) => one.run === run)
      .reduce((min, { epoch }) => Math.min(min, epoch), Infinity);
  const toldRun = told.reduce((max, { run }) => Math.max(max, run), 1);
  const later = state === "whole"
    ? []
    : [...new Set(headers.map(({ run }) => run).filter((run) => run > toldRun))];
  for (const run of later.sort((a, b) => b - a)) {
    const firstSets = await readFirstSets(sinceOf(run));
    // A file may hold nothing but copies of what an older run appended.
    if (firstSets.size > 0) return { run, sinceEpoch: sinceOf(run), firstSets };
  }
  const run = state === "whole" ? base!.run : toldRun;
  const since = sinceOf(run);
  const sinceEpoch = since === Infinity ? 0 : since;
  return { run, sinceEpoch, firstSets: await readFirstSets(sinceEpoch) };
}

/**
 * Chooses `head`: the newest checkpoint that can be restored, and from which the newest run can have gone on.
 *
 * @param isWhole Whether a checkpoint can be restored.
 */
export function chooseHead(
  evidence: Evidence,
  counted: ReadonlySet<string>,
  newest: NewestRun,
  options: { readonly keys: JobKeys; readonly isWhole: (uuid: string) => boolean },
): HeadChoice {
  const { base } = evidence;
  const passedOver: FoundManifest[] = [];
  const skipped: string[] = [];
  const whole: FoundManifest[] = [];
  for (const { uuid, found } of candidates(evidence, counted)) {
    if (found !== undefined && options.isWhole(uuid)) {
      whole.push(found);
    } else if (whole.length === 0) {
      skipped.push(`${uuid} can't be restored`);
      if (found !== undefined) passedOver.push(found);
    }
  }
  const isKnownHead = ({ manifest }: FoundManifest): boolean =>
    manifest.run === newest.run || (manifest.uuid === base?.head && newest.run === base.run);
  const isFromTail = adoptsOlderRuns(evidence, newest, options.keys);
  const head = whole.find((found, at) => at === 0 && isKnownHead(found)) ??
    (isFromTail ? undefined : whole.find((found) => isWhereBegan(found, newest))) ??
    whole.find((found) => isKnownHead(found) || canPrecede(found, newest));
  if (head !== undefined) {
    return { head, reason: reasonFor(head, base, skipped), passedOver, leavesNewestRun: false };
  }
  const [last] = whole;
  const reason = last !== undefined
    ? `it is the newest one that is left, though run ${newest.run} did not begin at it`
    : skipped.length === 0
    ? "there is no checkpoint"
    : `no checkpoint is left to go on from: ${skipped.join("; ")}`;
  return { head: last, reason, passedOver, leavesNewestRun: last !== undefined };
}

function reasonFor(
  { manifest: { uuid, run } }: FoundManifest,
  base: GenerationBody | undefined,
  skipped: readonly string[],
): string {
  const why = uuid === base?.head
    ? `generation ${base.number} goes on from it`
    : base !== undefined && base.checkpoints.some((entry) => entry.uuid === uuid)
    ? `it is the next older one in the line of generation ${base.number}`
    : `it is the newest one of run ${run}`;
  return skipped.length === 0 ? why : `${why}; ${skipped.join("; ")}`;
}

/** Checkpoints that may be `head`, the likeliest first. */
function* candidates(
  { base, manifests }: Evidence,
  counted: ReadonlySet<string>,
): Generator<{ uuid: string; found: FoundManifest | undefined }> {
  const listed = new Map(base?.checkpoints.map((entry) => [entry.uuid, entry]));
  const others = [...manifests.values()]
    .filter(({ manifest: { uuid } }) => counted.has(uuid) && !listed.has(uuid))
    .sort((a, b) => compareManifests(b, a));
  for (const found of others) yield { uuid: found.manifest.uuid, found };
  for (let uuid = base?.head ?? null; uuid !== null;) {
    yield { uuid, found: manifests.get(uuid) };
    uuid = listed.get(uuid)?.parent ?? null;
  }
}

/** Whether what a run appended can have begun at a checkpoint, or after it. */
function canPrecede({ manifest }: FoundManifest, { run, firstSets }: NewestRun): boolean {
  if (manifest.run === run) return true;
  return [...firstSets].every(([writer, first]) => {
    const { sequenceNumber, nextOffset } = positionIn(manifest, writer);
    return sequenceNumber <= first.sequenceNumber && nextOffset <= first.firstOffset;
  });
}

/** Whether a run can have begun at this very checkpoint. */
function isWhereBegan({ manifest }: FoundManifest, { firstSets }: NewestRun): boolean {
  return [...firstSets].every(([writer, first]) => {
    const { sequenceNumber, nextOffset } = positionIn(manifest, writer);
    return sequenceNumber === first.sequenceNumber && nextOffset === first.firstOffset;
  });
}

/** Whether the newest run is known to have begun at the tail: a recovery took over what older ones appended. */
function adoptsOlderRuns({ adopted }: Evidence, { sinceEpoch }: NewestRun, keys: JobKeys): boolean {
  const isOlder = (key: string): boolean => (keys.parseChangeFile(key)?.epoch ?? 0) < sinceEpoch;
  return adopted.some(({ number, files }) => (
    number >= sinceEpoch && files.some(({ key }) => isOlder(key))
  ));
}

function positionIn(
  manifest: FoundManifest["manifest"] | undefined,
  writer: string,
): { sequenceNumber: number; nextOffset: number } {
  return manifest?.writers.find((one) => one.writer === writer) ??
    { sequenceNumber: 0, nextOffset: 0 };
}

/** Chooses where the tail begins that goes on from a head. */
export function chooseTail(
  evidence: Evidence,
  { head, leavesNewestRun }: HeadChoice,
  newest: NewestRun,
  keys: JobKeys,
): TailChoice {
  if (leavesNewestRun) {
    const tailFrom = { epoch: evidence.epochMax + 1, number: 0 };
    return { tailFrom, adopted: undefined, leavesOlderRuns: false };
  }
  return exactTail(evidence, head, newest) ?? likelyTail(evidence, head, newest, keys);
}

/** The tail as a generation says, where nothing says that it is not so any more. */
function exactTail(
  { state, base, adopted }: Evidence,
  head: FoundManifest | undefined,
  newest: NewestRun,
): TailChoice | undefined {
  if (base === undefined || newest.run !== base.run) return undefined;
  if ((head?.manifest.uuid ?? null) !== base.head) return undefined;
  const exact = { leavesOlderRuns: false, tailFrom: base.tailFrom };
  const named = adopted.find(({ key }) => key === base.adopted?.key);
  const since = state === "whole"
    ? undefined
    : adopted.find(({ number }) => number > base.tailFrom.epoch);
  if (since !== undefined) {
    return { ...exact, tailFrom: { epoch: since.number, number: 0 }, adopted: since };
  }
  if (named !== undefined || base.adopted === null) return { ...exact, adopted: named };
  return undefined;
}

/**
 * Everything after a head that no resume is known to have given up. What take-overs left out is told by the epochs of
 * the sets.
 */
function likelyTail(
  evidence: Evidence,
  head: FoundManifest | undefined,
  newest: NewestRun,
  keys: JobKeys,
): TailChoice {
  const { run, sinceEpoch, firstSets } = newest;
  const manifest = head?.manifest;
  const adopted = evidence.adopted.find(({ number }) => (
    number > (manifest?.epoch ?? 0) && number >= sinceEpoch
  ));
  const tailFrom = tailFromOf(head);
  if (run === (manifest?.run ?? 1)) return { tailFrom, adopted, leavesOlderRuns: false };
  // A resume to the tail keeps what older runs appended; one to a checkpoint gives it up.
  const isFromTail = adoptsOlderRuns(evidence, newest, keys) ||
    [...firstSets].some(([writer, first]) =>
      first.sequenceNumber > positionIn(manifest, writer).sequenceNumber
    );
  if (isFromTail) return { tailFrom, adopted, leavesOlderRuns: false };
  return { tailFrom: { epoch: sinceEpoch, number: 0 }, adopted, leavesOlderRuns: true };
}

/** Where the tail goes on from a checkpoint; older manifests tell only what files they need. */
function tailFromOf(head: FoundManifest | undefined): TailFrom {
  if (head === undefined) return { epoch: 0, number: 0 };
  const { tailFrom, epoch, files } = head.manifest;
  const [oldest] = files.filter((file) => file.epoch === epoch).sort(compareFiles);
  return tailFrom ?? { epoch, number: oldest?.number ?? 0 };
}
