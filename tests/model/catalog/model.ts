/**
 * The catalog model: everything that may happen next.
 * @module
 */
import type { Emit, Model } from "../explorer.ts";
import { publishDeleted, startDeleter, sweepDeleted } from "./deleting.ts";
import { confirmedStays, publishedIsRestorable } from "./invariants.ts";
import { collect, publishCheckpoint, resumeAt, sweep } from "./keeping.ts";
import { claimEpoch, emitRecovered, publishFence, scanTail, startOwner } from "./opening.ts";
import { landGeneration, settlePublish } from "./publishing.ts";
import { readTail } from "./reading.ts";
import type { CatalogRules } from "./rules.ts";
import { acknowledge, appendAndUpload, discardLoser, hedgeUpload } from "./serving.ts";
import type { Bounds, CatalogState, Message, Owner } from "./state.ts";
import { hasFile, initialState, nameOfFile, nameOfProcess, spend, withFile } from "./state.ts";
import { withoutMessage } from "./state.ts";

export function catalogModel(rules: CatalogRules, bounds: Partial<Bounds>): Model<CatalogState> {
  return {
    initial: initialState(bounds),
    successors(state, emit) {
      for (const message of state.messages) land(state, rules, message, emit);
      startOwner(state, rules, emit);
      startDeleter(state, rules, emit);
      for (const owner of state.owners) stepsOfOwner(state, rules, owner, emit);
      readTail(state, rules, emit);
      mishaps(state, emit);
    },
    check: (state) => publishedIsRestorable(state) ?? confirmedStays(state),
  };
}

function land(
  state: CatalogState,
  rules: CatalogRules,
  message: Message,
  emit: Emit<CatalogState>,
): void {
  const after = withoutMessage(state, message);
  switch (message.kind) {
    case "put file":
      return emit(() => `${nameOfFile(message.file.key)} lands`, withFile(after, message.file));
    case "put manifest": {
      const manifests = [...state.manifests, message.id].sort((a, b) => a - b);
      return emit(() => `manifest ${message.id} lands`, { ...after, manifests });
    }
    case "delete file": {
      const files = state.files.filter(({ key }) => key !== message.key);
      return emit(() => `the delete of ${nameOfFile(message.key)} lands`, { ...after, files });
    }
    case "delete manifest": {
      const manifests = state.manifests.filter((id) => id !== message.id);
      return emit(() => `the delete of manifest ${message.id} lands`, { ...after, manifests });
    }
    case "create generation":
      return landGeneration(state, rules, message, emit);
  }
}

function stepsOfOwner(
  state: CatalogState,
  rules: CatalogRules,
  owner: Owner,
  emit: Emit<CatalogState>,
): void {
  settlePublish(state, rules, owner, emit);
  const free = owner.pending === null;
  switch (owner.phase) {
    case "claiming":
      return claimEpoch(state, rules, owner, emit);
    case "fencing":
      return free ? publishFence(state, rules, owner, emit) : undefined;
    case "recovering":
      return free ? scanTail(state, rules, owner, emit) : undefined;
    case "publishing": {
      if (!free || owner.found === null) return;
      const label = () => `${nameOfProcess(owner.process)} sends what it had found`;
      return emitRecovered(state, rules, owner, owner.found, label, emit);
    }
    case "running":
      return serve(state, rules, owner, emit);
    case "deleting":
      return free ? publishDeleted(state, rules, owner, emit) : undefined;
    case "sweeping":
      return sweepDeleted(state, rules, owner, emit);
    case "gone":
  }
}

function serve(
  state: CatalogState,
  rules: CatalogRules,
  owner: Owner,
  emit: Emit<CatalogState>,
): void {
  const resuming = owner.pending?.generation.kind === "resume";
  if (!resuming) appendAndUpload(state, rules, owner, emit);
  for (const upload of owner.uploads) {
    hedgeUpload(state, owner, upload, emit);
    if (resuming && rules.resumeAcknowledges === "stops") continue;
    acknowledge(state, rules, owner, upload, emit);
  }
  for (const key of owner.losers) discardLoser(state, rules, owner, key, emit);
  if (owner.pending === null || owner.sweep === null) sweep(state, rules, owner, emit);
  if (owner.pending !== null) return;
  publishCheckpoint(state, rules, owner, emit);
  collect(state, rules, owner, emit);
  resumeAt(state, rules, owner, emit);
}

/**
 * What no program does: the folder removed by hand or its catalog lost, while one process has the
 * job open, and rot.
 */
function mishaps(state: CatalogState, emit: Emit<CatalogState>): void {
  const { left, generations } = state;
  if (generations.length === 0) return;
  const alone = state.owners.length === 1;
  if (left.removals > 0 && alone) emit(() => "the job's folder is removed by hand", removed(state));
  if (left.catalogLosses > 0 && alone) {
    const next = { ...spend(state, "catalogLosses"), generations: [] };
    emit(() => "the catalog is lost", next);
  }
  if (left.rots > 0) {
    const last = generations.length - 1;
    const rotten = generations.map((one, at) => at === last ? { ...one, readable: false } : one);
    const next = { ...spend(state, "rots"), generations: rotten };
    emit(() => `generation ${generations[last].number} can't be read any more`, next);
  }
}

/** Epoch of files in a folder that has no name any more: still durable to who holds them open. */
const UNLINKED = 0;

function removed(state: CatalogState): CatalogState {
  const written = state.messages.filter((message) => message.kind === "put file");
  const all = [...state.files, ...written.map(({ file }) => file)];
  const files = all
    .filter(({ key }, at) => at < state.files.length || !hasFile(state, key))
    .map((file) => ({ ...file, epoch: UNLINKED }));
  return {
    ...spend(state, "removals"),
    generations: [],
    ownerKeys: [0],
    files: files.sort((a, b) => a.key - b.key),
    manifests: [],
    messages: [],
    truth: { servingProcess: -1, servingEpoch: 0, line: [], acknowledged: 0, confirmed: [] },
  };
}
