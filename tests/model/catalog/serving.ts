/**
 * An owner's service in the catalog model: append, upload, acknowledge.
 * @module
 */
import type { Emit } from "../explorer.ts";
import { fencedNeverAcknowledges } from "./invariants.ts";
import { publish, seesNextOwner } from "./publishing.ts";
import type { CatalogRules } from "./rules.ts";
import type { CatalogState, Change, FileKey, Generation, Owner, Upload } from "./state.ts";
import { durableEnd, hasFile, nameOfFile, nameOfProcess, NO_FILE, ownerIn } from "./state.ts";
import { spend, withMessages, withOwner } from "./state.ts";

const UPLOADS_MAX = 2;

/** The pipeline appends one change or two, which leave in one file. */
export function appendAndUpload(
  state: CatalogState,
  rules: CatalogRules,
  owner: Owner,
  emit: Emit<CatalogState>,
): void {
  if (owner.uploads.length === UPLOADS_MAX) return;
  const counts = [1, 2].filter((count) =>
    count <= state.left.appends && count - 1 <= state.left.pairs
  );
  for (const count of counts) {
    const label = () =>
      `${nameOfProcess(owner.process)} appends ${count} at offset ${owner.changes.length} and ` +
      `sends ${nameOfFile(owner.process * 16 + owner.filesSent)}`;
    emit(label, appended(state, rules, owner, count));
  }
}

function appended(
  state: CatalogState,
  rules: CatalogRules,
  owner: Owner,
  count: number,
): CatalogState {
  const { process, epoch, filesSent } = owner;
  const firstOffset = owner.changes.length;
  const name = process * 8 + (owner.known as Generation).run;
  const added = Array.from({ length: count }, (): Change => name);
  const changes = [...owner.changes, ...added];
  const durableIn = [...owner.durableIn, ...added.map(() => NO_FILE)];
  const key = process * 16 + filesSent;
  const lookedUpClear = rules.acknowledgeLooksUpWhen === "before the write" &&
    !seesNextOwner(state, rules, owner, epoch);
  const upload: Upload = { firstOffset, changes: added, keys: [key], lookedUpClear };
  const uploads = [...owner.uploads, upload];
  const sending = { ...owner, changes, durableIn, uploads, filesSent: filesSent + 1 };
  const { truth } = state;
  const serves = truth.servingProcess === process && truth.servingEpoch === epoch;
  const seen = serves ? { ...state, truth: { ...truth, line: changes } } : state;
  const paid = spend(spend(seen, "appends", count), "pairs", count - 1);
  const file = { key, epoch, firstOffset, changes: added };
  return withMessages(withOwner(paid, sending), { kind: "put file", file });
}

/** A second attempt of an upload that seems slow, to another file. */
export function hedgeUpload(
  state: CatalogState,
  owner: Owner,
  upload: Upload,
  emit: Emit<CatalogState>,
): void {
  if (state.left.hedges === 0 || upload.keys.length > 1) return;
  const { process, epoch, filesSent } = owner;
  const { firstOffset, changes, keys } = upload;
  const key = process * 16 + filesSent;
  const hedged = { ...upload, keys: [...keys, key] };
  const uploads = owner.uploads.map((one) => one === upload ? hedged : one);
  const next = withOwner(spend(state, "hedges"), { ...owner, uploads, filesSent: filesSent + 1 });
  emit(
    () => `${nameOfProcess(process)} sends offset ${firstOffset} again, to ${nameOfFile(key)}`,
    withMessages(next, { kind: "put file", file: { key, epoch, firstOffset, changes } }),
  );
}

/** Completes an upload that one of its files holds durably, or finds that the owner is fenced. */
export function acknowledge(
  state: CatalogState,
  rules: CatalogRules,
  owner: Owner,
  upload: Upload,
  emit: Emit<CatalogState>,
): void {
  const inOrder = rules.acknowledgeOrder === "any order" ||
    upload.firstOffset === durableEnd(owner);
  if (!inOrder) return;
  const who = nameOfProcess(owner.process);
  const clear = rules.acknowledgeLooksUpWhen === "before the write"
    ? upload.lookedUpClear
    : !seesNextOwner(state, rules, owner, owner.epoch);
  for (const key of upload.keys) {
    if (!hasFile(state, key)) continue;
    if (!clear) {
      const gone = withOwner(state, ownerIn("gone", owner.process));
      return emit(() => `${who} finds that it is fenced`, gone);
    }
    const last = upload.firstOffset + upload.changes.length - 1;
    emit(
      () => `${who} acknowledges up to offset ${last} in ${nameOfFile(key)}`,
      completed(state, owner, upload, key),
      fencedNeverAcknowledges(state.truth, owner, last),
    );
  }
}

function completed(
  state: CatalogState,
  owner: Owner,
  upload: Upload,
  key: FileKey,
): CatalogState {
  const { firstOffset, changes, keys } = upload;
  const end = firstOffset + changes.length;
  const durableIn = owner.durableIn.map((one, offset) =>
    offset >= firstOffset && offset < end ? key : one
  );
  const uploads = owner.uploads.filter((one) => one !== upload);
  const losers = [...owner.losers, ...keys.filter((one) => one !== key)];
  const { truth } = state;
  const acknowledged = Math.max(truth.acknowledged, end);
  const next = { ...state, truth: { ...truth, acknowledged } };
  return withOwner(next, { ...owner, durableIn, uploads, losers });
}

/** Gets rid of the file of a hedged upload that lost. */
export function discardLoser(
  state: CatalogState,
  rules: CatalogRules,
  owner: Owner,
  key: FileKey,
  emit: Emit<CatalogState>,
): void {
  if (!hasFile(state, key)) return;
  const without = { ...owner, losers: owner.losers.filter((one) => one !== key) };
  const who = nameOfProcess(owner.process);
  if (rules.deletionIsPublished === "not at all") {
    const next = withMessages(withOwner(state, without), { kind: "delete file", key });
    emit(() => `${who} deletes ${nameOfFile(key)}`, next);
  } else if (owner.pending === null) {
    const doomed = [...(owner.known as Generation).doomed, key];
    const next = publish(state, without, { kind: "doom", doomed }, { filesToDelete: [key] });
    emit(() => `${who} sends that ${nameOfFile(key)} is doomed`, next);
  }
}
