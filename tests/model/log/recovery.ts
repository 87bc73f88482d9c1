/**
 * Take-over in the log model: claim, fence, scan the tail, copy last batches, say `recovered`.
 * @module
 */
import type { Emit } from "../explorer.ts";
import { acknowledgedIsSafe, noFalseAlarm, restoredIsPrefix } from "./invariants.ts";
import type { LogRules } from "./rules.ts";
import { scanTail } from "./scan.ts";
import { listFiles, readNextFile } from "./snapshot.ts";
import type { Content, FilePart, Found, LogFile, LogState, Owner, Truth, Write } from "./state.ts";
import { fileOf, listOfContent, nameOfFile, NO_FILE } from "./state.ts";
import { OWNERS_MAX, ownerWith, positionOf, spend, startOf, syncDirectory } from "./state.ts";
import { withBatch, withFile, withoutOwner, withOwner } from "./state.ts";
import { fileToWrite, namedOnDisk, withUnnamed } from "./writing.ts";

/** Publishes, unless a higher epoch has; an owner that finds the next owner key then ends. */
export function publish(
  state: LogState,
  owner: Owner,
  content: Partial<LogState["generation"]>,
): LogState | null {
  if (state.generation.epoch > owner.epoch) return null;
  const generation = { ...state.generation, ...content, epoch: owner.epoch };
  return withOwner({ ...state, generation }, owner);
}

/** What follows a publish: the look-up of the next owner key. */
export function lookForNextOwner(state: LogState, owner: Owner): LogState {
  return state.claimed > owner.epoch ? withoutOwner(state, owner) : state;
}

export function claimEpoch(state: LogState, emit: Emit<LogState>): void {
  if (state.left.opens === 0 || state.owners.length === OWNERS_MAX) return;
  const epoch = state.claimed + 1;
  const nothing = state.truth.line.map(() => []);
  const owner = ownerWith(epoch, "fencing", nothing, nothing);
  const owners = [...state.owners, owner];
  emit(() => `epoch ${epoch} is claimed`, { ...spend(state, "opens"), claimed: epoch, owners });
}

export function publishFence(state: LogState, owner: Owner, emit: Emit<LogState>): void {
  const fenced = publish(state, { ...owner, phase: "scanning" }, {});
  const label = () => `${owner.epoch} publishes its fence`;
  if (fenced === null) emit(label, withoutOwner(state, owner));
  else emit(label, lookForNextOwner(fenced, owner));
}

/** Scans the tail, at once or file by file. */
export function scan(state: LogState, rules: LogRules, owner: Owner, emit: Emit<LogState>): void {
  const { snapshot } = owner;
  if (snapshot === null) {
    endScan(state, rules, owner, state.files, emit);
    if (state.left.slowScans === 0) return;
    const listing = withOwner(spend(state, "slowScans"), { ...owner, snapshot: listFiles(state) });
    return emit(() => `${owner.epoch} lists the files`, listing);
  }
  const readings = readNextFile(state, rules, snapshot);
  if (readings.length === 0) return endScan(state, rules, owner, snapshot.read, emit);
  for (const { told, snapshot: next } of readings) {
    emit(() => `${owner.epoch} ${told}`, withOwner(state, { ...owner, snapshot: next }));
  }
}

function endScan(
  state: LogState,
  rules: LogRules,
  owner: Owner,
  files: readonly LogFile[],
  emit: Emit<LogState>,
): void {
  const view = { generation: state.generation, files, epochBelow: owner.epoch };
  const found = scanTail(rules, view, state.truth.line.length);
  if ("alarm" in found) {
    const label = () => `${owner.epoch} scans and refuses to open: ${found.alarm}`;
    const fenced = state.claimed > owner.epoch;
    const violation = fenced ? null : noFalseAlarm(state, found.alarm);
    return emit(label, withoutOwner(state, owner), violation);
  }
  const label = () =>
    `${owner.epoch} scans and finds ${listOfContent(found.content)} in ` +
    `${[...found.adopted.parts, ...copiedParts(found)].map((p) => nameOfFile(p.file)).join(", ")}`;
  emit(label, withOwner(state, { ...owner, phase: "copying", snapshot: null, found }));
}

function copiedParts({ copies }: Found): FilePart[] {
  return copies.map(({ file, index }) => ({ file, length: index + 1 }));
}

/** Writes the next copy and syncs it, or publishes if there is none left. */
export function copyOrPublish(
  state: LogState,
  rules: LogRules,
  owner: Owner,
  emit: Emit<LogState>,
): void {
  const found = owner.found as Found;
  const [copying] = owner.writes;
  if (copying !== undefined) return syncCopy(state, rules, owner, copying, emit);
  if (found.copies.length === 0) return publishRecovered(state, rules, owner, found, emit);
  const [{ file: source, index, sets }] = found.copies;
  const [file, opened] = fileToWrite(state, owner);
  const batches = [...file.batches, { sets, onDisk: "cached" } as const];
  const write: Write = { file: file.key, index: file.batches.length, sets };
  const written = withFile(state, { ...file, batches });
  emit(
    () =>
      `${owner.epoch} copies batch ${index} of ${nameOfFile(source)} to ${nameOfFile(file.key)}`,
    withOwner(written, { ...opened, writes: [write] }),
  );
}

function syncCopy(
  state: LogState,
  rules: LogRules,
  owner: Owner,
  copy: Write,
  emit: Emit<LogState>,
): void {
  const file = fileOf(state.files, copy.file);
  if (file === undefined) return;
  const synced = withFile(state, { ...withBatch(file, copy.index, "on disk"), header: "on disk" });
  const complete = rules.copyIsSynced === "with its directory" ? syncDirectory(synced) : synced;
  emit(() => `${owner.epoch}: the sync of the copy returns`, copied(complete, owner, copy));
  if (state.left.failures === 0) return;
  const failed = withFile(spend(state, "failures"), withBatch(file, copy.index, "lost"));
  const closed = { ...withUnnamed(owner, rules), openFile: NO_FILE, writes: [] };
  emit(() => `${owner.epoch}: the sync of the copy fails`, withOwner(failed, closed));
}

/** The copy takes the place of the batch that it was made of. */
function copied(state: LogState, owner: Owner, copy: Write): LogState {
  const found = owner.found as Found;
  const [source, ...copies] = found.copies;
  const part: FilePart = { file: copy.file, length: copy.index + 1 };
  const places = found.places.map((ofWriter) =>
    ofWriter.map((place) =>
      place?.file === source.file && place.length === source.index + 1 ? part : place
    )
  );
  const others = found.adopted.parts.filter(({ file }) => file !== copy.file);
  const adopted = { ...found.adopted, parts: [...others, part] };
  const next: Owner = { ...namedOnDisk(owner), writes: [], synced: copy.index + 1 };
  return withOwner(state, { ...next, found: { ...found, places, adopted, copies } });
}

function publishRecovered(
  state: LogState,
  rules: LogRules,
  owner: Owner,
  found: Found,
  emit: Emit<LogState>,
): void {
  const label = () =>
    `${owner.epoch} publishes "recovered": ${listOfContent(found.content)}, ` +
    `ends ${found.adopted.ends.join("|")}`;
  const tailFrom = startOf(owner.epoch);
  const doomed = stillDoomed(state, rules, tailFrom);
  const { content, places, adopted } = found;
  const serving: Owner = {
    ...ownerWith(owner.epoch, "running", content, places),
    openFile: owner.openFile,
    nextNumber: owner.nextNumber,
    unnamed: owner.unnamed,
    synced: owner.synced,
    acknowledged: owner.synced,
  };
  const published = publish(state, serving, { tailFrom, adopted, doomed });
  if (published === null) return emit(label, withoutOwner(state, owner));
  const { truth } = state;
  const violation = acknowledgedIsSafe(truth, content) ?? restoredIsPrefix(truth, content);
  const next = beginLine(published, owner.epoch, content);
  emit(label, lookForNextOwner(next, owner), violation);
}

/** From here on the job is this; a reader may still tell what was current when it began. */
export function beginLine(state: LogState, servingEpoch: number, line: Content): LogState {
  const { reader, truth } = state;
  const next: Truth = { ...truth, servingEpoch, line, acknowledged: positionOf(line) };
  if (reader.phase === "idle") return { ...state, truth: next };
  const linesBefore = [...reader.linesBefore, truth.line];
  return { ...state, truth: next, reader: { ...reader, linesBefore } };
}

/** What stays doomed in a generation with that `tailFrom`. */
export function stillDoomed(state: LogState, rules: LogRules, tailFrom: number): number[] {
  return state.generation.doomed.filter((key) => {
    const deleted = fileOf(state.files, key) === undefined && !state.deletes.includes(key);
    return !(deleted && (rules.doomedLeaves === "deleted" || key < tailFrom));
  });
}
