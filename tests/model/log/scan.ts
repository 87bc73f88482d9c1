/**
 * Reads the tail of the log model as the design says: which files, how far, which set counts.
 * Pure functions of what a scan sees; recovery and readers share them.
 * @module
 */
import type { LogRules } from "./rules.ts";
import type {
  Adopted,
  ChangeSet,
  Checkpoint,
  FilePart,
  Found,
  Generation,
  LogFile,
} from "./state.ts";
import { checkpointOf, epochOf, fileOf, nameOfFile, positionOf, type Write } from "./state.ts";

/** What a scan sees. */
export interface View {
  readonly generation: Generation;
  readonly files: readonly LogFile[];
  readonly epochBelow: number;
}

export interface Alarm {
  readonly alarm: string;
}

interface Candidate {
  readonly epoch: number;
  readonly part: FilePart;
  /** All of the batch that it lies in. */
  readonly batch: readonly ChangeSet[];
  /** Whether it lies in a last batch that need not be on disk. */
  readonly unsure: boolean;
}

/** How far a file of the tail is read, and whether its last batch need not be on disk. */
interface Extent {
  readonly length: number;
  readonly unsure: boolean;
}

type Candidates = Map<number, Candidate[]>;

/** What counts of the tail of a generation, or why it can't be told. */
export function scanTail(rules: LogRules, view: View, writers: number): Found | Alarm {
  const { generation, files } = view;
  const head = checkpointOf(generation, generation.head, writers);
  const candidates: Candidates = new Map();
  const adoptedParts = generation.adopted?.parts ?? [];
  const gone = adoptedParts.find(({ file }) => fileOf(files, file) === undefined);
  if (gone !== undefined) return { alarm: `${nameOfFile(gone.file)} is adopted and missing` };
  for (const file of files) {
    const adopted = adoptedParts.find((part) => part.file === file.key)?.length ?? 0;
    const inTail = isInTail(rules, view, file);
    if (!inTail && adopted === 0) continue;
    const extent = inTail ? extentOf(rules, view, file) : { length: adopted, unsure: false };
    if ("alarm" in extent) return extent;
    const bad = gather(rules, view, { head, candidates, file, extent, adopted });
    if (bad !== null) return bad;
  }
  return assemble(rules, head, candidates);
}

function isInTail(rules: LogRules, { generation, epochBelow }: View, { key }: LogFile): boolean {
  if (key < generation.tailFrom || epochOf(key) >= epochBelow) return false;
  return !isDoomed(rules, generation, key);
}

function isDoomed(rules: LogRules, { doomed }: Generation, key: number): boolean {
  return rules.doomedIsAdopted === "never" && doomed.includes(key);
}

function extentOf(rules: LogRules, view: View, file: LogFile): Extent | Alarm {
  const missing = missingPredecessor(rules, view, file);
  if (missing !== null) return missing;
  const { key, batches } = file;
  const firstBad = batches.findIndex(({ onDisk }) => onDisk === "bad");
  const whole = firstBad < 0 ? batches.length : firstBad;
  const named = view.files.flatMap((one) => one.predecessors).find((one) => one.file === key);
  if (named !== undefined) {
    if (whole < named.length && rules.badBelowSyncedLength === "corruption") {
      return { alarm: `${nameOfFile(key)} is bad below its synced length` };
    }
    const unread = rules.bytesAfterSyncedLength === "do not exist";
    return { length: unread ? Math.min(named.length, whole) : whole, unsure: false };
  }
  if (firstBad >= 0 && view.files.some((later) => forbidsTornEnd(rules, file, later))) {
    return { alarm: `${nameOfFile(key)} has a torn end, but a file after it is whole` };
  }
  return { length: whole, unsure: !file.sealed };
}

function forbidsTornEnd(rules: LogRules, torn: LogFile, later: LogFile): boolean {
  if (later.key <= torn.key || epochOf(later.key) !== epochOf(torn.key)) return false;
  return rules.tornEnd === "last file only" || later.header !== "bad";
}

function missingPredecessor(
  rules: LogRules,
  { generation, files }: View,
  { key, predecessors }: LogFile,
): Alarm | null {
  for (const { file, length } of predecessors) {
    const needed = file >= generation.tailFrom && !isDoomed(rules, generation, file) &&
      (length > 0 || rules.emptyPredecessor === "must be there");
    if (!needed) continue;
    const found = fileOf(files, file);
    if (found === undefined || (length === 0 && found.header === "bad")) {
      return { alarm: `${nameOfFile(key)} names ${nameOfFile(file)}, which is missing or bad` };
    }
  }
  return null;
}

interface Reading {
  readonly head: Checkpoint;
  readonly candidates: Candidates;
  readonly file: LogFile;
  readonly extent: Extent;
  /** How many batches of the file are adopted already, and so on disk. */
  readonly adopted: number;
}

function gather(
  rules: LogRules,
  { generation }: View,
  { head, candidates, file, extent, adopted }: Reading,
): Alarm | null {
  for (let index = 0; index < extent.length; index++) {
    const batch = file.batches[index];
    if (batch === undefined || batch.onDisk === "bad") {
      return { alarm: `batch ${index} of ${nameOfFile(file.key)} is adopted and bad` };
    }
    const unsure = extent.unsure && index === extent.length - 1 && index >= adopted;
    const part = { file: file.key, length: index + 1 };
    for (const { writer, sqn, epoch } of batch.sets) {
      if (sqn < head.content[writer].length) continue;
      if (sqn >= endOfEpoch(rules, generation, head, { writer, epoch })) continue;
      const place = writer * 16 + sqn;
      const others = candidates.get(place) ?? [];
      candidates.set(place, [...others, { epoch, part, batch: batch.sets, unsure }]);
    }
  }
  return null;
}

/** Up to which SQN sets of an epoch count. */
function endOfEpoch(
  rules: LogRules,
  { tailFrom, adopted }: Generation,
  head: Checkpoint,
  { writer, epoch }: { readonly writer: number; readonly epoch: number },
): number {
  if (epoch >= epochOf(tailFrom) || rules.setsOfLowerEpochs === "all") return Infinity;
  const position = head.content[writer].length;
  const end = adopted?.ends[writer];
  if (rules.endWithoutEntry === "position of head") return end ?? position;
  return end === undefined || end === position ? Infinity : end;
}

/** Adopts, writer by writer, what is contiguous. */
function assemble(rules: LogRules, head: Checkpoint, candidates: Candidates): Found {
  const lengths = new Map<number, number>();
  const copies: Write[] = [];
  const content = head.content.map((sets) => [...sets]);
  const places = head.places.map((ofWriter) => [...ofWriter]);
  for (const [writer, sets] of content.entries()) {
    for (;;) {
      const found = candidates.get(writer * 16 + sets.length);
      if (found === undefined) break;
      const { epoch, part, batch, unsure } = chooseSet(rules, found);
      sets.push(epoch);
      places[writer].push(part);
      const copied = unsure && rules.lastBatch === "copied";
      if (!copied) lengths.set(part.file, Math.max(lengths.get(part.file) ?? 0, part.length));
      else if (!copies.some(({ file }) => file === part.file)) {
        copies.push({ file: part.file, index: part.length - 1, sets: batch });
      }
    }
  }
  const parts = [...lengths].map(([file, length]) => ({ file, length }));
  const adopted: Adopted = { parts, ends: positionOf(content) };
  return { content, places, adopted, copies };
}

function chooseSet(rules: LogRules, [first, ...others]: readonly Candidate[]): Candidate {
  let chosen = first;
  for (const other of others) {
    const better = rules.ofDifferentEpochs === "highest"
      ? other.epoch > chosen.epoch
      : other.epoch < chosen.epoch;
    if (better) chosen = other;
  }
  return chosen;
}
