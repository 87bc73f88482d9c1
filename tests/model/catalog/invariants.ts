/**
 * What must hold in the catalog model, whatever happens.
 * @module
 */
import type { Violation } from "../explorer.ts";
import type { CatalogState, Change, Owner, Reader, Truth } from "./state.ts";
import { hasFile, listOfChanges, nameOfChange, nameOfFile, newestGeneration } from "./state.ts";

function isPrefix(part: readonly Change[], whole: readonly Change[]): boolean {
  return part.length <= whole.length && part.every((change, offset) => change === whole[offset]);
}

/** Guarantee 1: what was acknowledged is restored. */
export function acknowledgedIsSafe(truth: Truth, restored: readonly Change[]): Violation | null {
  for (let offset = 0; offset < truth.acknowledged; offset++) {
    if (restored[offset] === truth.line[offset]) continue;
    const lost = nameOfChange(truth.line[offset]);
    return {
      invariant: "acknowledged is safe",
      detail: `${lost} at offset ${offset} is not in the restored ${listOfChanges(restored)}`,
    };
  }
  return null;
}

/** Guarantee 2: what is restored is a prefix of what was appended. */
export function restoredIsPrefix(truth: Truth, restored: readonly Change[]): Violation | null {
  if (isPrefix(restored, truth.line)) return null;
  return {
    invariant: "restored is a prefix",
    detail: `restored ${listOfChanges(restored)}, appended ${listOfChanges(truth.line)}`,
  };
}

/** Guarantee 3: all that a published checkpoint and the tail need is there. */
export function publishedIsRestorable(state: CatalogState): Violation | null {
  const newest = newestGeneration(state);
  if (newest === undefined) return null;
  const invariant = "published is restorable";
  for (const { id, changes, files } of newest.checkpoints) {
    if (!state.manifests.includes(id)) {
      return { invariant, detail: `checkpoint ${id} names a manifest that does not exist` };
    }
    for (let offset = 0; offset < changes.length; offset++) {
      const file = state.files.find((one) => one.key === files[offset]);
      if (file?.changes[offset - file.firstOffset] === changes[offset]) continue;
      return { invariant, detail: `checkpoint ${id} needs offset ${offset}, which no file holds` };
    }
  }
  const gone = newest.adopted.find((key) => !hasFile(state, key));
  if (gone === undefined) return null;
  return { invariant, detail: `${nameOfFile(gone)} is adopted and does not exist` };
}

/** A checkpoint that the pipeline was told of stays until it is collected. */
export function confirmedStays({ truth, ...state }: CatalogState): Violation | null {
  const newest = newestGeneration(state as CatalogState);
  const lost = truth.confirmed.find((id) => !newest?.checkpoints.some((one) => one.id === id));
  if (newest === undefined || lost === undefined) return null;
  return { invariant: "confirmed stays", detail: `the catalog lacks checkpoint ${lost}` };
}

/** Guarantee 4: who no longer serves does not acknowledge, and no abandoned change is. */
export function fencedNeverAcknowledges(
  truth: Truth,
  owner: Owner,
  offset: number,
): Violation | null {
  const invariant = "fenced never acknowledges";
  if (owner.process !== truth.servingProcess) {
    return { invariant, detail: `epoch ${owner.epoch} after epoch ${truth.servingEpoch} serves` };
  }
  if (truth.line[offset] === owner.changes[offset]) return null;
  return { invariant, detail: `offset ${offset} was abandoned by a resume` };
}

/** A reader gets a prefix of a line that was current while it read, with all acknowledged before. */
export function readIsPrefix(truth: Truth, reader: Reader): Violation | null {
  const { result, linesBefore, acknowledgedAtStart } = reader;
  const lines = [...linesBefore, truth.line];
  const found = lines.find((line) => isPrefix(result, line));
  if (found !== undefined && (linesBefore.length > 0 || result.length >= acknowledgedAtStart)) {
    return null;
  }
  return {
    invariant: "read is a prefix",
    detail: `read ${listOfChanges(result)}, appended ${lines.map(listOfChanges).join(" then ")}`,
  };
}

/** Guarantee 5: nothing is taken for lost, or for new, that is there. */
export function absentIsNotUnreadable(detail: string): Violation {
  return { invariant: "absent is not unreadable", detail };
}
