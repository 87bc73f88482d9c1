/**
 * Publishing in the catalog model: a generation is sent, lands, is answered, read back, repeated.
 * @module
 */
import type { Emit, Violation } from "../explorer.ts";
import { acknowledgedIsSafe, restoredIsPrefix } from "./invariants.ts";
import type { CatalogRules } from "./rules.ts";
import type { CatalogState, Change, Generation, Message, Owner, Pending } from "./state.ts";
import { bitOf, checkpointOf, GENERATIONS_KEPT, nameOfProcess, newestGeneration } from "./state.ts";
import { NO_FILE, ownerIn, spend, withMessages, withoutMessage, withOwner } from "./state.ts";

type CreateGeneration = Message & { kind: "create generation" };
type Content = Partial<Generation> & Pick<Generation, "kind">;
type Extra = Partial<Pick<Pending, "restored" | "filesToDelete" | "manifest">>;

/** Sends what the owner knows with changes as the next generation, and waits. */
export function publish(
  state: CatalogState,
  owner: Owner,
  content: Content,
  extra: Extra = {},
): CatalogState {
  const known = owner.known as Generation;
  const generation: Generation = {
    ...known,
    number: known.number + 1,
    writeId: owner.process * 16 + owner.publishesSent,
    epoch: owner.epoch,
    readable: true,
    ...content,
  };
  const pending: Pending = {
    generation,
    restored: extra.restored ?? null,
    answer: "none",
    filesToDelete: extra.filesToDelete ?? [],
    manifest: extra.manifest ?? 0,
  };
  const sent = { ...owner, pending, publishesSent: owner.publishesSent + 1 };
  return withMessages(withOwner(state, sent), messageOf(pending));
}

function messageOf({ generation, restored }: Pending): CreateGeneration {
  return { kind: "create generation", generation, restored };
}

/** The store handles a creating call, at any time after it was sent. */
export function landGeneration(
  state: CatalogState,
  rules: CatalogRules,
  message: CreateGeneration,
  emit: Emit<CatalogState>,
): void {
  const { generation } = message;
  const exists = state.generations.some(({ number }) => number === generation.number);
  const created = !exists || rules.generationIsCreated === "in any case";
  const after = withoutMessage(state, message);
  const [landed, violation] = created ? takeEffect(after, message) : [after, null];
  const answer = created ? "created" : "exists";
  const label = (end: string) => () =>
    `generation ${generation.number} (${generation.kind}, epoch ${generation.epoch}) of ` +
    `${nameOfProcess(generation.writeId >> 4)} lands: ${answer}${end}`;
  emit(label(""), answered(landed, generation, answer), violation);
  if (state.left.lostAnswers > 0) {
    emit(label(", the answer is lost"), spend(landed, "lostAnswers"), violation);
  }
}

function answered(
  state: CatalogState,
  { writeId }: Generation,
  answer: "created" | "exists",
): CatalogState {
  const owner = state.owners[writeId >> 4];
  const answering = (pending: Pending | null) =>
    pending?.generation.writeId === writeId && pending.answer === "none"
      ? { ...pending, answer }
      : pending;
  const pending = answering(owner.pending);
  const overtaken = answering(owner.overtaken);
  if (pending === owner.pending && overtaken === owner.overtaken) return state;
  return withOwner(state, { ...owner, pending, overtaken });
}

function takeEffect(
  state: CatalogState,
  { generation, restored }: CreateGeneration,
): [CatalogState, Violation | null] {
  const newest = newestGeneration(state);
  const others = state.generations.filter(({ number }) => number !== generation.number);
  const generations = [...others, generation].sort((a, b) => a.number - b.number);
  const landed = { ...state, generations };
  if (newest !== undefined && generation.number < newest.number) return [landed, null];
  const { kind, epoch, head, writeId } = generation;
  if (kind === "deleted") return [endJob(landed, epoch), null];
  if (kind === "recovered") return beginService(landed, writeId >> 4, epoch, restored ?? []);
  if (kind !== "resume") return [landed, null];
  const { changes } = checkpointOf(generation, head);
  const truth = { ...state.truth, servingProcess: writeId >> 4, servingEpoch: epoch };
  return [{ ...replaceLine(landed, changes), truth: { ...truth, ...lineOf(changes) } }, null];
}

/** From here on there is no job: nobody serves, and nothing is restored. */
function endJob(state: CatalogState, epoch: number): CatalogState {
  const nothing = { line: [], acknowledged: 0, confirmed: [] };
  const truth = { servingProcess: -1, servingEpoch: epoch, ...nothing };
  return { ...replaceLine(state, []), truth };
}

function lineOf(changes: readonly Change[]): { line: readonly Change[]; acknowledged: number } {
  return { line: changes, acknowledged: changes.length };
}

/** From here on the job is what the new owner restored. */
export function beginService(
  state: CatalogState,
  process: number,
  epoch: number,
  restored: readonly Change[],
): [CatalogState, Violation | null] {
  const { truth } = state;
  if (truth.servingProcess === process && truth.servingEpoch === epoch) return [state, null];
  const violation = acknowledgedIsSafe(truth, restored) ?? restoredIsPrefix(truth, restored);
  const serving = { ...truth, servingProcess: process, servingEpoch: epoch, ...lineOf(restored) };
  return [{ ...replaceLine(state, restored), truth: serving }, violation];
}

/** A reader may still tell what was current when it began. */
function replaceLine(state: CatalogState, line: readonly Change[]): CatalogState {
  const { reader, truth } = state;
  const same = line.length === truth.line.length && line.every((c, i) => c === truth.line[i]);
  if (reader.phase === "idle" || same) return state;
  const linesBefore = [...reader.linesBefore, truth.line];
  return { ...state, reader: { ...reader, linesBefore } };
}

/** What an opener holds for the newest generation; null: it must refuse. */
export function readNewest(state: CatalogState, rules: CatalogRules): Generation | null {
  const newest = newestGeneration(state);
  if (newest === undefined) return null;
  if (newest.readable) return newest;
  if (rules.newestGeneration === "highest") return null;
  const readable = state.generations.findLast((generation) => generation.readable);
  return readable === undefined ? null : { ...readable, number: newest.number };
}

/** Whether the owner's look-up says that it is fenced. */
export function seesNextOwner(
  state: CatalogState,
  rules: CatalogRules,
  { process, known }: Owner,
  epoch: number,
): boolean {
  const me = bitOf(process);
  const ownKey = state.ownerKeys[epoch] ?? 0;
  if (rules.ownOwnerKey === "same identity" && (ownKey & me) === 0) return true;
  if (rules.acknowledgeLooksUp === "next generation") {
    const next = (known as Generation).number + 1;
    return state.generations.some(({ number, writeId }) =>
      number === next && writeId >> 4 !== process
    );
  }
  const nextKey = state.ownerKeys[epoch + 1] ?? 0;
  return nextKey !== 0 && (nextKey & me) === 0;
}

/** The owner hears the answer of its publish, or stops waiting for it. */
export function settlePublish(
  state: CatalogState,
  rules: CatalogRules,
  owner: Owner,
  emit: Emit<CatalogState>,
): void {
  hearOvertaken(state, owner, emit);
  const { pending } = owner;
  if (pending === null) return;
  const { number, kind } = pending.generation;
  const who = `${nameOfProcess(owner.process)}`;
  if (pending.answer !== "none") {
    const next = pending.answer === "created"
      ? published(state, rules, owner, pending)
      : decideTaken(state, rules, owner, pending);
    emit(() => `${who} hears of generation ${number} (${kind}): ${pending.answer}`, next);
  } else if (state.left.giveUps > 0) {
    const found = state.generations.some((generation) => generation.number === number);
    const label = () =>
      `${who} waits no longer for generation ${number} (${kind}) and reads back: ` +
      (found ? "it exists" : "absent");
    emit(label, readBack(spend(state, "giveUps"), rules, owner, pending, found));
  }
}

function readBack(
  state: CatalogState,
  rules: CatalogRules,
  owner: Owner,
  pending: Pending,
  found: boolean,
): CatalogState {
  if (found) return decideTaken(state, rules, owner, pending);
  if (rules.absentOnReadBack === "failed") return failed(state, rules, owner, pending);
  if (rules.unknownPublish === "next number") {
    const known = { ...owner.known as Generation, number: pending.generation.number };
    return withOwner(state, { ...owner, known, pending: null, overtaken: pending });
  }
  return withMessages(state, messageOf(pending));
}

function decideTaken(
  state: CatalogState,
  rules: CatalogRules,
  owner: Owner,
  pending: Pending,
): CatalogState {
  const { number, writeId } = pending.generation;
  const taken = state.generations.find((generation) => generation.number === number);
  const own = rules.existsOnPublish === "read back" && taken?.writeId === writeId;
  return own ? published(state, rules, owner, pending) : failed(state, rules, owner, pending);
}

function failed(
  state: CatalogState,
  rules: CatalogRules,
  owner: Owner,
  pending: Pending,
): CatalogState {
  const known = readNewest(state, rules);
  if (known === null || known.epoch > owner.epoch) return leave(state, rules, owner, pending);
  const idle = { ...owner, pending: null, known };
  if (owner.deletes) return withOwner(state, { ...idle, phase: "deleting" });
  if (owner.phase !== "running") return withOwner(state, { ...idle, phase: "fencing" });
  return withOwner(cleanUp(state, pending), idle);
}

/** The owner is fenced. */
function leave(
  state: CatalogState,
  rules: CatalogRules,
  owner: Owner,
  pending: Pending | null,
): CatalogState {
  const cleaned = rules.fencedOwner === "cleans up" && pending ? cleanUp(state, pending) : state;
  return withOwner(cleaned, ownerIn("gone", owner.process));
}

function cleanUp(state: CatalogState, { manifest }: Pending): CatalogState {
  return manifest === 0 ? state : withMessages(state, { kind: "delete manifest", id: manifest });
}

function published(
  state: CatalogState,
  rules: CatalogRules,
  owner: Owner,
  pending: Pending,
): CatalogState {
  const { generation, filesToDelete } = pending;
  const at = { ...owner, known: generation };
  if (seesNextOwner(state, rules, at, generation.epoch)) {
    return leave(state, rules, owner, pending);
  }
  const kept = state.generations.filter(({ number }) =>
    number > generation.number - GENERATIONS_KEPT
  );
  const deletes = filesToDelete.map((key): Message => ({ kind: "delete file", key }));
  const pruned = withMessages({ ...state, generations: kept }, ...deletes);
  return applyPublished(pruned, { ...at, pending: null }, pending);
}

function applyPublished(state: CatalogState, owner: Owner, pending: Pending): CatalogState {
  const { generation, restored, manifest } = pending;
  switch (generation.kind) {
    case "fence":
      return withOwner(state, {
        ...owner,
        phase: owner.found === null ? "recovering" : "publishing",
      });
    case "recovered": {
      if (owner.phase === "running") return withOwner(state, owner);
      return withOwner(state, runningWith(owner, generation, restored ?? []));
    }
    case "deleted":
      return withOwner(state, { ...owner, phase: "sweeping" });
    case "resume": {
      const { changes } = checkpointOf(generation, generation.head);
      const { epoch } = generation;
      return withOwner(state, { ...runningWith(owner, generation, changes), epoch });
    }
    case "checkpoint": {
      const base = checkpointOf(generation, manifest).changes.length;
      return withOwner(confirm(state, manifest), { ...owner, base });
    }
    default:
      return withOwner(state, owner);
  }
}

/** The owner at the start of its service: everything that it restored is durable. */
export function runningWith(
  owner: Owner,
  generation: Generation,
  changes: readonly Change[],
): Owner {
  const { files } = checkpointOf(generation, generation.head);
  const durableIn = [...files, ...generation.adopted].slice(0, changes.length);
  while (durableIn.length < changes.length) durableIn.push(NO_FILE);
  const base = changes.length;
  return { ...owner, phase: "running", found: null, changes, durableIn, base, uploads: [] };
}

function confirm(state: CatalogState, checkpoint: number): CatalogState {
  const { truth } = state;
  return { ...state, truth: { ...truth, confirmed: [...truth.confirmed, checkpoint] } };
}

function hearOvertaken(state: CatalogState, owner: Owner, emit: Emit<CatalogState>): void {
  const { overtaken } = owner;
  if (overtaken === null || overtaken.answer === "none") return;
  const { generation, answer, manifest } = overtaken;
  const heard = withOwner(state, { ...owner, overtaken: null });
  const told = answer === "created" && generation.kind === "checkpoint";
  const who = nameOfProcess(owner.process);
  emit(
    () => `${who} hears late of generation ${generation.number}: ${answer}`,
    told ? confirm(heard, manifest) : heard,
  );
}
