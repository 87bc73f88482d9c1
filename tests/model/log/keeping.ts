/**
 * Checkpoint, resume, collection and sweep in the log model.
 * @module
 */
import type { Emit } from "../explorer.ts";
import { beginLine, lookForNextOwner, publish, stillDoomed } from "./recovery.ts";
import type { LogRules } from "./rules.ts";
import type { Checkpoint, FileKey, Generation, LogState, Owner, RollOver } from "./state.ts";
import { checkpointOf, durableEnd, epochOf, fileOf, headOf, nameOfFile, NO_FILE } from "./state.ts";
import { ownerWith, partsOf, positionOf, spend, startOf, syncDirectory } from "./state.ts";
import { withFile, withoutOwner, withOwner } from "./state.ts";

/** Emits a publish with what follows it; a fenced owner ends instead. */
function emitPublish(
  state: LogState,
  owner: Owner,
  content: Partial<Generation>,
  label: () => string,
  emit: Emit<LogState>,
): void {
  const published = publish(state, owner, content);
  if (published === null) emit(label, withoutOwner(state, owner));
  else emit(label, lookForNextOwner(published, owner));
}

/** The first step of a checkpoint: every writer at once. */
export function rollOver(state: LogState, owner: Owner, emit: Emit<LogState>): void {
  if (state.left.checkpoints === 0 || owner.rollOver !== null) return;
  const position = positionOf(owner.content);
  const taken: RollOver = { position, tailFrom: fileOfNextBatch(owner) };
  const next = withOwner(spend(state, "checkpoints"), { ...owner, rollOver: taken });
  emit(() => `${owner.epoch} rolls over at ${position.join("|")}`, next);
}

function fileOfNextBatch({ openFile, epoch, nextNumber }: Owner): FileKey {
  return openFile === NO_FILE ? startOf(epoch) + nextNumber : openFile;
}

/** The last step, once everything below the roll-over is durable. */
export function publishCheckpoint(
  state: LogState,
  rules: LogRules,
  owner: Owner,
  emit: Emit<LogState>,
): void {
  const taken = owner.rollOver;
  if (taken === null) return;
  const { position } = taken;
  if (position.some((end, writer) => durableEnd(owner, writer) < end)) return;
  const head = headOf(state);
  for (const materialised of state.left.materialised > 0 ? [false, true] : [false]) {
    const paid = materialised ? spend(state, "materialised") : state;
    const base = materialised ? position : head.base;
    const checkpoint = checkpointAt(paid, owner, position, base);
    const tailFrom = tailFromOf(rules, owner, taken);
    const content = {
      checkpoints: [...paid.generation.checkpoints, checkpoint],
      head: checkpoint.id,
      tailFrom,
      adopted: null,
      doomed: stillDoomed(paid, rules, tailFrom),
    };
    const after = { ...owner, rollOver: null, checkpointed: true };
    const label = () =>
      `${owner.epoch} publishes checkpoint ${checkpoint.id} at ${position.join("|")}` +
      `${materialised ? ", materialised" : ""}, tailFrom ${nameOfFile(tailFrom)}`;
    emitPublish(withConfirmed(paid, owner, position), after, content, label, emit);
  }
}

function tailFromOf(rules: LogRules, owner: Owner, taken: RollOver): FileKey {
  return rules.tailFromIsTaken === "at the roll-over" ? taken.tailFrom : fileOfNextBatch(owner);
}

function checkpointAt(
  { generation }: LogState,
  owner: Owner,
  position: readonly number[],
  base: readonly number[],
): Checkpoint {
  const upTo = <Item>(lists: readonly (readonly Item[])[]) =>
    lists.map((list, writer) => list.slice(0, position[writer]));
  const id = Math.max(0, ...generation.checkpoints.map((one) => one.id)) + 1;
  const files = partsOf(owner.places, base, position);
  return { id, content: upTo(owner.content), places: upTo(owner.places), base, files };
}

/** Directories are synced before the publish, and what it confirms is acknowledged by it. */
function withConfirmed(state: LogState, owner: Owner, position: readonly number[]): LogState {
  const { truth } = state;
  const synced = syncDirectory(state);
  const confirms = owner.epoch === truth.servingEpoch && state.generation.epoch <= owner.epoch;
  if (!confirms) return synced;
  const acknowledged = truth.acknowledged.map((end, writer) => Math.max(end, position[writer]));
  return { ...synced, truth: { ...truth, acknowledged } };
}

/** Takes a checkpoint other than `head` out of the catalog. */
export function collect(
  state: LogState,
  rules: LogRules,
  owner: Owner,
  emit: Emit<LogState>,
): void {
  if (state.left.collections === 0) return;
  const { checkpoints, head, tailFrom } = state.generation;
  const paid = spend(state, "collections");
  for (const { id } of checkpoints) {
    if (id === head) continue;
    const remaining = checkpoints.filter((one) => one.id !== id);
    const content = { checkpoints: remaining, doomed: stillDoomed(state, rules, tailFrom) };
    emitPublish(paid, owner, content, () => `${owner.epoch} collects checkpoint ${id}`, emit);
  }
}

/** Lists the files first; takes the keep set, publishes what is doomed and deletes after. */
export function sweep(
  state: LogState,
  rules: LogRules,
  owner: Owner,
  emit: Emit<LogState>,
): void {
  const { listed } = owner;
  const { doomed, tailFrom } = state.generation;
  if (listed === null) {
    if (state.left.sweeps === 0) return;
    const keys = state.files.map(({ key }) => key)
      .filter((key) => epochOf(key) <= owner.epoch && !doomed.includes(key));
    const next = withOwner(spend(state, "sweeps"), { ...owner, listed: keys });
    return emit(() => `${owner.epoch} lists files to sweep`, next);
  }
  const kept = keepSet(state, rules, owner, listed);
  const going = listed.filter((key) =>
    fileOf(state.files, key) !== undefined && !kept.has(key) &&
    (key >= tailFrom || owner.checkpointed)
  );
  const after = { ...owner, listed: null };
  const label = () => `${owner.epoch} sweeps ${going.map(nameOfFile).join(" ") || "nothing"}`;
  if (going.length === 0) return emit(label, withOwner(state, after));
  const added = going.filter((key) => key >= tailFrom);
  const content = { doomed: [...stillDoomed(state, rules, tailFrom), ...added] };
  const deletes = [...state.deletes, ...going].sort((a, b) => a - b);
  const published = publish({ ...state, deletes }, after, content);
  if (published === null) emit(label, withoutOwner(state, owner));
  else emit(label, lookForNextOwner(published, owner));
}

function keepSet(
  state: LogState,
  rules: LogRules,
  owner: Owner,
  listed: readonly FileKey[],
): Set<FileKey> {
  const { checkpoints, adopted, tailFrom, doomed } = state.generation;
  const needed = [...checkpoints.flatMap(({ files }) => files), ...adopted?.parts ?? []];
  const kept = new Set(needed.map(({ file }) => file));
  if (owner.openFile !== NO_FILE) kept.add(owner.openFile);
  const from = owner.rollOver === null ? positionOf(headOf(state).content) : [];
  owner.places.forEach((ofWriter, writer) => {
    for (const place of ofWriter.slice(from[writer] ?? 0)) if (place !== null) kept.add(place.file);
  });
  if (rules.keepSet === "without chains") return kept;
  const inTail = (key: FileKey) => key >= tailFrom && !doomed.includes(key);
  for (const key of listed.filter((one) => one >= tailFrom)) {
    const named = fileOf(state.files, key)?.predecessors ?? [];
    if (named.some(({ file }) => inTail(file) && fileOf(state.files, file) !== undefined)) {
      kept.add(key);
    }
  }
  return kept;
}

/** Rewinds the job to a checkpoint, to nothing, or to its tail, in a new epoch. */
export function resumeAt(
  state: LogState,
  rules: LogRules,
  owner: Owner,
  emit: Emit<LogState>,
): void {
  if (state.left.resumes === 0) return;
  const paid = spend(state, "resumes");
  if (state.claimed !== owner.epoch || state.generation.epoch > owner.epoch) {
    const label = () => `${owner.epoch} finds at its resume that it is fenced`;
    return emit(label, withoutOwner(paid, owner));
  }
  const sealed = withSealed(paid, owner);
  for (const id of [0, ...state.generation.checkpoints.map((one) => one.id)]) {
    const { content, places } = checkpointOf(state.generation, id, state.truth.line.length);
    const next = ownerWith(owner.epoch + 1, "running", content, places);
    const label = () => `${owner.epoch} resumes at ${id === 0 ? "nothing" : `checkpoint ${id}`}`;
    emit(label, resumed(sealed, rules, owner, next, { head: id, adopted: null }));
  }
  if (state.left.tailResumes > 0 && owner.writes.length === 0) {
    const tail = spend(syncDirectory(sealed), "tailResumes");
    emit(() => `${owner.epoch} resumes at its tail`, resumedAtTail(tail, rules, owner));
  }
}

/** Seals the open file if no write is in flight. */
function withSealed(state: LogState, owner: Owner): LogState {
  const file = fileOf(state.files, owner.openFile);
  if (file === undefined || owner.writes.length > 0) return state;
  return withFile(state, { ...file, sealed: true });
}

function resumedAtTail(state: LogState, rules: LogRules, owner: Owner): LogState {
  const ends = owner.content.map((_, writer) => durableEnd(owner, writer));
  const content = owner.content.map((sets, writer) => sets.slice(0, ends[writer]));
  const places = owner.places.map((ofWriter, writer) => ofWriter.slice(0, ends[writer]));
  const parts = partsOf(places, positionOf(headOf(state).content), ends);
  const next = ownerWith(owner.epoch + 1, "running", content, places);
  return resumed(state, rules, owner, next, { adopted: { parts, ends } });
}

function resumed(
  state: LogState,
  rules: LogRules,
  owner: Owner,
  next: Owner,
  content: Partial<Generation>,
): LogState {
  const { epoch } = next;
  const tailFrom = startOf(epoch);
  const doomed = stillDoomed(state, rules, tailFrom);
  const generation = { ...state.generation, ...content, epoch, tailFrom, doomed };
  const owners = state.owners.map((one) => one === owner ? next : one);
  return beginLine({ ...state, claimed: epoch, generation, owners }, epoch, next.content);
}
