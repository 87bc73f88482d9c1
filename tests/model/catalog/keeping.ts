/**
 * Checkpoint, resume, collection and sweep in the catalog model.
 * @module
 */
import type { Emit } from "../explorer.ts";
import { publish } from "./publishing.ts";
import type { CatalogRules } from "./rules.ts";
import type { CatalogState, Checkpoint, FileKey, Generation, Owner } from "./state.ts";
import { bitOf, checkpointOf, durableEnd, nameOfFile, nameOfProcess, ownerIn } from "./state.ts";
import { spend, withMessages, withOwner } from "./state.ts";

/** Publishes a checkpoint at any position that its writer may have rolled over at. */
export function publishCheckpoint(
  state: CatalogState,
  rules: CatalogRules,
  owner: Owner,
  emit: Emit<CatalogState>,
): void {
  if (state.left.checkpoints === 0) return;
  const known = owner.known as Generation;
  const from = Math.max(owner.base, checkpointOf(known, known.head).changes.length + 1);
  const end = rules.checkpointPosition === "durable" ? durableEnd(owner) : owner.changes.length;
  const id = Math.max(0, ...state.manifests, ...known.checkpoints.map((one) => one.id)) + 1;
  for (let position = from; position <= end; position++) {
    emit(
      () => `${nameOfProcess(owner.process)} sends checkpoint ${id} at offset ${position}`,
      withCheckpoint(state, rules, owner, { id, position }),
    );
  }
}

function withCheckpoint(
  state: CatalogState,
  rules: CatalogRules,
  owner: Owner,
  { id, position }: { readonly id: number; readonly position: number },
): CatalogState {
  const changes = owner.changes.slice(0, position);
  const files = owner.durableIn.slice(0, position);
  const checkpoints: Checkpoint[] = [
    ...(owner.known as Generation).checkpoints,
    { id, changes, files },
  ];
  const content = { kind: "checkpoint", checkpoints, head: id, adopted: [] } as const;
  const sent = publish(spend(state, "checkpoints"), owner, content, { manifest: id });
  if (rules.manifestIsWritten === "before the publish") {
    return { ...sent, manifests: [...sent.manifests, id].sort((a, b) => a - b) };
  }
  return withMessages(sent, { kind: "put manifest", id });
}

/** Rewinds the job to a checkpoint: takes an epoch as an opener does, then publishes. */
export function resumeAt(
  state: CatalogState,
  rules: CatalogRules,
  owner: Owner,
  emit: Emit<CatalogState>,
): void {
  if (state.left.resumes === 0) return;
  const who = nameOfProcess(owner.process);
  const known = owner.known as Generation;
  const paid = spend(state, "resumes");
  const takesEpoch = rules.resumeEpoch === "new";
  if (takesEpoch && (state.ownerKeys[owner.epoch + 1] ?? 0) !== 0) {
    const gone = withOwner(paid, ownerIn("gone", owner.process));
    return emit(() => `${who} finds at its resume that it is fenced`, gone);
  }
  const epoch = takesEpoch ? owner.epoch + 1 : owner.epoch;
  const ownerKeys = takesEpoch ? [...state.ownerKeys, bitOf(owner.process)] : state.ownerKeys;
  const tailFrom = rules.resumeTailFrom === "new epoch" ? epoch : known.tailFrom;
  const adopted = rules.resumeAdopted === "nothing" ? [] : known.adopted;
  for (const head of [0, ...known.checkpoints.map(({ id }) => id)]) {
    const content = { kind: "resume", epoch, run: known.run + 1, head, tailFrom, adopted } as const;
    const label = () =>
      `${who} sends its resume at ${head === 0 ? "nothing" : `checkpoint ${head}`}`;
    emit(label, publish({ ...paid, ownerKeys }, owner, content));
  }
}

/** Every file that something in the owner's sight still needs. */
function keepSet(owner: Owner, checkpoints: readonly Checkpoint[]): Set<FileKey> {
  return new Set([
    ...checkpoints.flatMap(({ files }) => files),
    ...(owner.known as Generation).adopted,
    ...owner.durableIn,
    ...owner.uploads.flatMap(({ keys }) => keys),
  ]);
}

/** Takes a checkpoint out of the catalog, and its files with it where none else needs them. */
export function collect(
  state: CatalogState,
  rules: CatalogRules,
  owner: Owner,
  emit: Emit<CatalogState>,
): void {
  if (state.left.collections === 0) return;
  const known = owner.known as Generation;
  const newest = Math.max(0, ...known.checkpoints.map(({ id }) => id));
  const stays = rules.collectionKeeps === "head" ? known.head : newest;
  for (const checkpoint of known.checkpoints) {
    if (checkpoint.id === stays) continue;
    const checkpoints = known.checkpoints.filter((one) => one !== checkpoint);
    const kept = keepSet(owner, checkpoints);
    const going = [...new Set(checkpoint.files)].filter((key) => !kept.has(key));
    const confirmed = state.truth.confirmed.filter((id) => id !== checkpoint.id);
    const paid = spend({ ...state, truth: { ...state.truth, confirmed } }, "collections");
    const label = () => `${nameOfProcess(owner.process)} collects checkpoint ${checkpoint.id}`;
    emit(label, publishDeletion(paid, rules, owner, going, { kind: "collect", checkpoints }));
  }
}

function publishDeletion(
  state: CatalogState,
  rules: CatalogRules,
  owner: Owner,
  going: readonly FileKey[],
  content: { readonly kind: "collect" | "doom"; readonly checkpoints?: readonly Checkpoint[] },
): CatalogState {
  const { doomed } = owner.known as Generation;
  const published = rules.deletionIsPublished === "first, as doomed";
  const all = published ? { ...content, doomed: [...doomed, ...going] } : content;
  if (rules.deletionWaits === "until confirmed") {
    return publish(state, owner, all, { filesToDelete: going });
  }
  const deletes = going.map((key) => ({ kind: "delete file", key }) as const);
  return withMessages(publish(state, owner, all), ...deletes);
}

function listFiles(state: CatalogState, owner: Owner): FileKey[] {
  const { doomed } = owner.known as Generation;
  return state.files
    .filter(({ key, epoch }) => epoch <= owner.epoch && !doomed.includes(key))
    .map(({ key }) => key);
}

/** Sweeps files that nothing needs, in two looks at different times. */
export function sweep(
  state: CatalogState,
  rules: CatalogRules,
  owner: Owner,
  emit: Emit<CatalogState>,
): void {
  const who = nameOfProcess(owner.process);
  const { checkpoints } = owner.known as Generation;
  const kept = () => [...keepSet(owner, checkpoints)].sort((a, b) => a - b);
  if (owner.sweep === null) {
    if (state.left.sweeps === 0) return;
    const listing = rules.sweepTakesFirst === "listing";
    const first = listing ? { listed: listFiles(state, owner) } : { kept: kept() };
    const next = withOwner(spend(state, "sweeps"), { ...owner, sweep: first });
    return emit(() => `${who} begins a sweep with the ${rules.sweepTakesFirst}`, next);
  }
  const listed = "listed" in owner.sweep ? owner.sweep.listed : listFiles(state, owner);
  const keep = "kept" in owner.sweep ? owner.sweep.kept : kept();
  const going = listed.filter((key) => !keep.includes(key));
  const after = { ...owner, sweep: null };
  const label = () => `${who} sweeps ${going.map(nameOfFile).join(", ") || "nothing"}`;
  if (going.length === 0) return emit(label, withOwner(state, after));
  if (rules.deletionIsPublished === "not at all") {
    const deletes = going.map((key) => ({ kind: "delete file", key }) as const);
    return emit(label, withMessages(withOwner(state, after), ...deletes));
  }
  emit(label, publishDeletion(state, rules, after, going, { kind: "doom" }));
}
