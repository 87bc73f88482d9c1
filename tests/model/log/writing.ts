/**
 * The open file in the log model: append, write a batch, sync, seal, acknowledge.
 * @module
 */
import type { Emit } from "../explorer.ts";
import type { LogRules } from "./rules.ts";
import type { Batch, ChangeSet, Durability, LogFile, LogState, Owner, Write } from "./state.ts";
import { durableEnd, fileOf, listOfSets, nameOfFile, NO_FILE, replaceAt, spend } from "./state.ts";
import { startOf, syncDirectory, withBatch, withFile, withoutOwner, withOwner } from "./state.ts";

/** The file that the owner's next batch goes to: the open one, or a new one. */
export function fileToWrite(state: LogState, owner: Owner): [LogFile, Owner] {
  const open = fileOf(state.files, owner.openFile);
  if (open !== undefined) return [open, owner];
  const key = startOf(owner.epoch) + owner.nextNumber;
  const file: LogFile = {
    key,
    batches: [],
    predecessors: owner.unnamed,
    sealed: false,
    nameOnDisk: false,
    header: "cached",
  };
  const { nextNumber } = owner;
  return [file, {
    ...owner,
    openFile: key,
    nextNumber: nextNumber + 1,
    synced: 0,
    acknowledged: 0,
  }];
}

/** The open file is left: the next header names it. */
export function withUnnamed(owner: Owner, rules: LogRules): Owner {
  const length = rules.headerSays === "synced length" ? owner.synced : owner.acknowledged;
  const left = { file: owner.openFile, length };
  const unnamed = rules.headerNames === "all not yet named" ? [...owner.unnamed, left] : [left];
  return { ...owner, unnamed };
}

/** A sync of the open file has returned, so that its header is on disk. */
export function namedOnDisk(owner: Owner): Owner {
  return { ...owner, unnamed: [] };
}

export function append(state: LogState, owner: Owner, emit: Emit<LogState>): void {
  if (state.left.appends === 0) return;
  const { epoch } = owner;
  for (let writer = 0; writer < owner.content.length; writer++) {
    const grown = <Item>(lists: readonly (readonly Item[])[], item: Item) =>
      lists.map((list, w) => w === writer ? [...list, item] : list);
    const content = grown(owner.content, epoch);
    const durability = grown(owner.durability, "pending");
    const places = grown(owner.places, null);
    const appended = withOwner(spend(state, "appends"), { ...owner, content, durability, places });
    const { truth } = state;
    const serves = truth.servingEpoch === epoch;
    const next = serves ? { ...appended, truth: { ...truth, line: content } } : appended;
    emit(() => `${epoch} appends w${writer}s${content[writer].length - 1}`, next);
  }
}

/** Writes a batch: all that is pending, one set of it, or all but one. */
export function writeBatch(
  state: LogState,
  rules: LogRules,
  owner: Owner,
  emit: Emit<LogState>,
): void {
  if (owner.writes.length > (rules.batches === "overlapping" ? 1 : 0)) return;
  for (const sets of batchesOf(owner)) {
    const [file, opened] = fileToWrite(state, owner);
    const batch: Batch = { sets, onDisk: "cached" };
    const write: Write = { file: file.key, index: file.batches.length, sets };
    const written = withFile(state, { ...file, batches: [...file.batches, batch] });
    const writes = [...owner.writes, write];
    const next = { ...withDurability(opened, sets, "writing"), writes };
    emit(
      () => `${owner.epoch} writes ${listOfSets(sets)} to ${nameOfFile(file.key)}`,
      withOwner(written, next),
    );
  }
}

function batchesOf({ epoch, content, durability }: Owner): ChangeSet[][] {
  const pending: ChangeSet[] = [];
  durability.forEach((ofWriter, writer) =>
    ofWriter.forEach((one, sqn) => {
      if (one === "pending") pending.push({ writer, sqn, epoch: content[writer][sqn] ?? epoch });
    })
  );
  if (pending.length < 2) return pending.length === 0 ? [] : [pending];
  const single = pending.map((set) => [set]);
  const without = pending.length === 2
    ? []
    : pending.map((set) => pending.filter((o) => o !== set));
  return [pending, ...single, ...without];
}

function withDurability(owner: Owner, sets: readonly ChangeSet[], value: Durability): Owner {
  let { durability } = owner;
  for (const set of sets) durability = replaceAt(durability, set, value);
  return { ...owner, durability };
}

function withDurable(owner: Owner, { file, index, sets }: Write): Owner {
  let { places } = owner;
  for (const set of sets) places = replaceAt(places, set, { file, length: index + 1 });
  return { ...withDurability(owner, sets, "durable"), places };
}

/** The sync of the oldest write returns, fails, or succeeds after it was given up. */
export function settleWrite(
  state: LogState,
  rules: LogRules,
  owner: Owner,
  emit: Emit<LogState>,
): void {
  const { late } = owner;
  if (late !== null) {
    const next = withOwner(state, { ...withDurable(owner, late), late: null });
    emit(() => `${owner.epoch}: the sync of ${nameOfFile(late.file)} returns late`, next);
  }
  const [write] = owner.writes;
  if (write === undefined) return;
  const file = fileOf(state.files, write.file) as LogFile;
  const name = nameOfFile(file.key);
  emit(
    () => `${owner.epoch}: the sync of ${name} returns`,
    synced(state, rules, owner, { write, file }),
  );
  if (state.left.failures === 0) return;
  const failed = syncFailed(spend(state, "failures"), rules, owner, { write, file });
  emit(() => `${owner.epoch}: the sync of ${name} fails`, failed);
}

interface WriteToFile {
  readonly write: Write;
  readonly file: LogFile;
}

function synced(
  state: LogState,
  rules: LogRules,
  owner: Owner,
  { write, file }: WriteToFile,
): LogState {
  const lost = file.batches[write.index].onDisk === "lost";
  const batches = lost ? file : withBatch(file, write.index, "on disk");
  const next = withFile(state, { ...batches, header: "on disk" });
  const durable = withDurable(namedOnDisk(owner), write);
  const writes = owner.writes.slice(1);
  const after = withOwner(next, { ...durable, writes, synced: write.index + 1 });
  return rules.directorySync === "with the first sync" ? syncDirectory(after) : after;
}

function syncFailed(
  state: LogState,
  rules: LogRules,
  owner: Owner,
  { write, file }: WriteToFile,
): LogState {
  const failed = withFile(state, withBatch(file, write.index, "lost"));
  if (rules.afterFailedSync === "syncs again") return failed;
  let left = withUnnamed(owner, rules);
  let lost = failed;
  for (const one of owner.writes) {
    left = withDurability(left, one.sets, "pending");
    lost = withFile(lost, withBatch(fileOf(lost.files, one.file) as LogFile, one.index, "lost"));
  }
  const late = rules.lateSync === "counts" ? write : null;
  return withOwner(lost, { ...left, openFile: NO_FILE, writes: [], late });
}

/** Ends the open file with an end frame. */
export function sealFile(
  state: LogState,
  rules: LogRules,
  owner: Owner,
  emit: Emit<LogState>,
): void {
  const file = fileOf(state.files, owner.openFile);
  if (state.left.seals === 0 || file === undefined || file.sealed) return;
  if (owner.writes.length > 0 && rules.endFrame === "after the sync") return;
  const sealed = withFile(spend(state, "seals"), { ...file, sealed: true });
  const label = () => `${owner.epoch} seals ${nameOfFile(file.key)}`;
  if (owner.writes.length > 0) return emit(label, sealed);
  emit(label, withOwner(sealed, { ...withUnnamed(owner, rules), openFile: NO_FILE }));
}

/** Looks for the next owner key, and acknowledges all that is durable without a hole. */
export function acknowledge(
  state: LogState,
  rules: LogRules,
  owner: Owner,
  emit: Emit<LogState>,
): void {
  const { truth } = state;
  const ends = owner.content.map((_, writer) => durableEnd(owner, writer));
  const more = ends.some((end, writer) => end > truth.acknowledged[writer]);
  if (!more && owner.epoch === truth.servingEpoch) return;
  if (state.claimed > owner.epoch) {
    return emit(() => `${owner.epoch} finds that it is fenced`, withoutOwner(state, owner));
  }
  const acknowledged = ends.map((end, writer) => Math.max(end, truth.acknowledged[writer]));
  const next = { ...state, truth: { ...truth, acknowledged } };
  const named = rules.directorySync === "with the first sync" ? next : syncDirectory(next);
  emit(
    () => `${owner.epoch} acknowledges up to ${acknowledged.join("|")}`,
    withOwner(named, withAcknowledged(state, owner, acknowledged)),
  );
}

function withAcknowledged(state: LogState, owner: Owner, ends: readonly number[]): Owner {
  const batches = fileOf(state.files, owner.openFile)?.batches ?? [];
  const first = batches.findIndex(({ sets }) =>
    sets.some(({ writer, sqn }) => sqn >= ends[writer])
  );
  return { ...owner, acknowledged: first < 0 ? batches.length : first };
}
