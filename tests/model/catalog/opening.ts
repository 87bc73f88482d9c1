/**
 * Opening a job in the catalog model: claim an epoch, fence, scan, say `recovered`.
 * @module
 */
import type { Emit } from "../explorer.ts";
import { beginService, publish, readNewest, runningWith } from "./publishing.ts";
import type { CatalogRules } from "./rules.ts";
import type { CatalogState, Change, FileKey, Found, Generation, Owner } from "./state.ts";
import { bitOf, checkpointOf, listOfChanges, nameOfFile, nameOfProcess, ownerIn } from "./state.ts";
import { spend, withOwner } from "./state.ts";

/** A new job as an opener sees it before its first generation. */
const NEW_JOB: Generation = {
  number: 0,
  writeId: 0,
  kind: "recovered",
  epoch: 0,
  run: 1,
  checkpoints: [],
  head: 0,
  tailFrom: 1,
  adopted: [],
  doomed: [],
  readable: true,
};

/** Another process starts to open the job. */
export function startOwner(
  state: CatalogState,
  rules: CatalogRules,
  emit: Emit<CatalogState>,
): void {
  if (state.left.opens === 0) return;
  const process = state.owners.length;
  const early = rules.recovery === "before the claim";
  const owner = ownerIn(early ? "recovering" : "claiming", process);
  const started = { ...spend(state, "opens"), owners: [...state.owners, owner] };
  const who = nameOfProcess(process);
  if (early) emit(() => `${who} starts`, started);
  else claimEpoch(started, rules, owner, emit);
}

/** The opener's generation, or null if it refuses. */
function generationToOpen(state: CatalogState, rules: CatalogRules): Generation | null {
  if (state.generations.length > 0) return readNewest(state, rules);
  const inUse = state.files.some(({ epoch }) => epoch > 0) || state.manifests.length > 0;
  return inUse && rules.missingCatalog === "refuse" ? null : NEW_JOB;
}

/** Creates the first absent owner key above the newest generation's epoch. */
export function claimEpoch(
  state: CatalogState,
  rules: CatalogRules,
  owner: Owner,
  emit: Emit<CatalogState>,
): void {
  const who = nameOfProcess(owner.process);
  const known = generationToOpen(state, rules);
  if (known === null) {
    emit(() => `${who} refuses to open`, withOwner(state, ownerIn("gone", owner.process)));
    return;
  }
  let epoch = known.epoch + 1;
  if (rules.ownerKeyIsCreated === "only if absent") {
    while ((state.ownerKeys[epoch] ?? 0) !== 0) epoch++;
  }
  const ownerKeys = [...state.ownerKeys];
  while (ownerKeys.length < epoch) ownerKeys.push(0);
  ownerKeys[epoch] = (ownerKeys[epoch] ?? 0) | bitOf(owner.process);
  const phase = owner.deletes ? "deleting" : "fencing";
  const claimed = withOwner({ ...state, ownerKeys }, { ...owner, phase, epoch });
  emit(() => `${who} creates owner key ${epoch}`, claimed);
}

export function publishFence(
  state: CatalogState,
  rules: CatalogRules,
  owner: Owner,
  emit: Emit<CatalogState>,
): void {
  const who = nameOfProcess(owner.process);
  const known = generationToOpen(state, rules);
  if (known === null || known.epoch > owner.epoch) {
    const gone = withOwner(state, ownerIn("gone", owner.process));
    emit(() => `${who} ends: ${known === null ? "it refuses to open" : "it is fenced"}`, gone);
  } else {
    const isDeleted = known.kind === "deleted";
    const begins = isDeleted ? rules.deletedTailFrom === "own epoch" : known === NEW_JOB;
    const tailFrom = begins ? owner.epoch : known.tailFrom;
    const run = isDeleted ? known.run + 1 : known.run;
    const sent = publish(state, { ...owner, known }, { kind: "fence", tailFrom, run });
    emit(() => `${who} sends its fence, generation ${known.number + 1}`, sent);
  }
}

/** Scans the tail and publishes what it adopts; every choice among equal files is explored. */
export function scanTail(
  state: CatalogState,
  rules: CatalogRules,
  owner: Owner,
  emit: Emit<CatalogState>,
): void {
  const generation = owner.known ?? generationToOpen(state, rules);
  const who = nameOfProcess(owner.process);
  const below = owner.epoch === 0 ? Infinity : owner.epoch;
  const gone = withOwner(state, ownerIn("gone", owner.process));
  if (generation === null) return emit(() => `${who} refuses to open`, gone);
  for (const found of tailsOf(state, rules, generation, below)) {
    const label = () => `${who} scans and finds ${listOfChanges(found.restored)}${filesOf(found)}`;
    if (owner.epoch === 0) emit(label, withOwner(state, { ...owner, found, phase: "claiming" }));
    else emitRecovered(state, rules, owner, found, label, emit);
  }
}

function filesOf({ adopted }: Found): string {
  return adopted.length === 0 ? "" : ` in ${[...new Set(adopted)].map(nameOfFile).join(", ")}`;
}

/** Sends the generation that says `recovered`; serves only once it is published. */
export function emitRecovered(
  state: CatalogState,
  rules: CatalogRules,
  owner: Owner,
  found: Found,
  label: () => string,
  emit: Emit<CatalogState>,
): void {
  const known = owner.known as Generation;
  const { adopted, restored } = found;
  const tailFrom = rules.recoveredTailFrom === "own epoch" ? owner.epoch : known.tailFrom;
  const content = { kind: "recovered", adopted, tailFrom } as const;
  if (rules.service === "after recovered") {
    emit(label, publish(state, { ...owner, phase: "publishing" }, content, { restored }));
    return;
  }
  const running = runningWith(owner, { ...known, adopted }, restored);
  const [serving, violation] = beginService(state, owner.process, owner.epoch, restored);
  emit(label, publish(serving, running, content, { restored }), violation);
}

/** Every way to read the tail of a generation from files below an epoch. */
export function tailsOf(
  state: CatalogState,
  rules: CatalogRules,
  generation: Generation,
  epochBelow: number,
): Found[] {
  const head = checkpointOf(generation, tailBase(rules, generation));
  const tails: Found[] = [];
  const extend = (restored: readonly Change[], adopted: readonly FileKey[]): void => {
    const offset = restored.length;
    const candidates = candidatesAt(state, rules, generation, { offset, head, epochBelow });
    if (candidates.length === 0) tails.push({ restored, adopted });
    for (const { change, key } of candidates) extend([...restored, change], [...adopted, key]);
  };
  extend(head.changes, []);
  return tails;
}

function tailBase(rules: CatalogRules, { head, checkpoints }: Generation): number {
  if (rules.tailGoesOnFrom === "head") return head;
  return Math.max(0, ...checkpoints.map(({ id }) => id));
}

interface Place {
  readonly offset: number;
  readonly head: { readonly changes: readonly Change[] };
  readonly epochBelow: number;
}

function candidatesAt(
  state: CatalogState,
  rules: CatalogRules,
  generation: Generation,
  { offset, head, epochBelow }: Place,
): { readonly change: Change; readonly key: FileKey }[] {
  const { tailFrom, doomed, checkpoints, adopted } = generation;
  const adoptedKey = adopted[offset - head.changes.length];
  const candidates = [];
  for (const { key, epoch, firstOffset, changes } of state.files) {
    const change = changes[offset - firstOffset];
    if (change === undefined) continue;
    const referenced = rules.recoveryTakes === "unreferenced files" &&
      checkpoints.some(({ files }) => files.includes(key));
    const inTail = epoch >= tailFrom && epoch < epochBelow && !doomed.includes(key) && !referenced;
    if (inTail || key === adoptedKey) candidates.push({ change, key });
  }
  return candidates;
}
