/**
 * Deleting the whole job in the catalog model: claim an epoch, say `deleted`, then remove what is left.
 * @module
 */
import type { Emit } from "../explorer.ts";
import { claimEpoch } from "./opening.ts";
import { publish, readNewest, seesNextOwner } from "./publishing.ts";
import type { CatalogRules } from "./rules.ts";
import type { CatalogState, Message, Owner } from "./state.ts";
import { nameOfProcess, ownerIn, spend, withMessages, withOwner } from "./state.ts";

/** Another process starts to delete the job. */
export function startDeleter(
  state: CatalogState,
  rules: CatalogRules,
  emit: Emit<CatalogState>,
): void {
  if (state.left.deletions === 0) return;
  const known = readNewest(state, rules);
  if (known === null || known.kind === "deleted") return;
  const process = state.owners.length;
  const owner = { ...ownerIn("claiming", process), deletes: true };
  const started = { ...spend(state, "deletions"), owners: [...state.owners, owner] };
  if (rules.deleterFences === "takes an epoch") return claimEpoch(started, rules, owner, emit);
  const { epoch } = known;
  emit(
    () => `${nameOfProcess(process)} begins to delete the job`,
    withOwner(started, { ...owner, phase: "deleting", epoch }),
  );
}

/** Everything that there is goes. */
function deletesOf({ files, manifests }: CatalogState): Message[] {
  return [
    ...files.map(({ key }): Message => ({ kind: "delete file", key })),
    ...manifests.map((id): Message => ({ kind: "delete manifest", id })),
  ];
}

export function publishDeleted(
  state: CatalogState,
  rules: CatalogRules,
  owner: Owner,
  emit: Emit<CatalogState>,
): void {
  const who = nameOfProcess(owner.process);
  const known = readNewest(state, rules);
  if (known === null || known.epoch > owner.epoch) {
    const gone = withOwner(state, ownerIn("gone", owner.process));
    return emit(() => `${who} gives the deletion up`, gone);
  }
  const before = rules.deletedIsPublished === "before anything goes"
    ? state
    : withMessages(state, ...deletesOf(state));
  const tailFrom = rules.deletedTailFrom === "own epoch" ? owner.epoch : known.tailFrom;
  const empty = { checkpoints: [], head: 0, adopted: [], doomed: [], tailFrom };
  const sent = publish(before, { ...owner, known }, { kind: "deleted", ...empty });
  emit(() => `${who} sends that the job is deleted, generation ${known.number + 1}`, sent);
}

/** Removes what is left, unless somebody else owns the name by now. */
export function sweepDeleted(
  state: CatalogState,
  rules: CatalogRules,
  owner: Owner,
  emit: Emit<CatalogState>,
): void {
  const who = nameOfProcess(owner.process);
  const gone = withOwner(state, ownerIn("gone", owner.process));
  if (seesNextOwner(state, rules, owner, owner.epoch)) {
    return emit(() => `${who} leaves the rest to the next owner`, gone);
  }
  const swept = withMessages(gone, ...deletesOf(state));
  if (rules.deletionLeaves === "a generation and the owner keys") {
    return emit(() => `${who} removes what is left`, swept);
  }
  emit(() => `${who} removes everything`, { ...swept, generations: [], ownerKeys: [0] });
}
