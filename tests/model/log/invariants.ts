/**
 * What must hold in the log model, whatever happens.
 * @module
 */
import type { Violation } from "../explorer.ts";
import type { LogRules } from "./rules.ts";
import type { Checkpoint, Content, LogState, Reader, Truth } from "./state.ts";
import { fileOf, listOfContent, nameOfFile } from "./state.ts";

function isPrefix(part: Content, whole: Content): boolean {
  return part.every((sets, writer) =>
    sets.length <= whole[writer].length && sets.every((epoch, sqn) => epoch === whole[writer][sqn])
  );
}

/** Guarantee 1: what was acknowledged is restored. */
export function acknowledgedIsSafe(truth: Truth, restored: Content): Violation | null {
  for (const [writer, end] of truth.acknowledged.entries()) {
    const { length } = restored[writer];
    if (length >= end) continue;
    const detail = `w${writer}s${length} is not in the restored ${listOfContent(restored)}`;
    return { invariant: "acknowledged is safe", detail };
  }
  return null;
}

/** Guarantee 2: what is restored is a prefix of what was appended. */
export function restoredIsPrefix(truth: Truth, restored: Content): Violation | null {
  if (isPrefix(restored, truth.line)) return null;
  const detail = `restored ${listOfContent(restored)}, appended ${listOfContent(truth.line)}`;
  return { invariant: "restored is a prefix", detail };
}

/** Guarantee 3: every published checkpoint can be restored, and gives what it was taken of. */
export function publishedIsRestorable(rules: LogRules, state: LogState): Violation | null {
  if (state.truth.rotten) return null;
  for (const checkpoint of state.generation.checkpoints) {
    const detail = whyNotRestorable(rules, state, checkpoint);
    if (detail !== null) return { invariant: "published is restorable", detail };
  }
  return null;
}

function whyNotRestorable(
  rules: LogRules,
  state: LogState,
  checkpoint: Checkpoint,
): string | null {
  const { id, base, content, files } = checkpoint;
  const restored = new Map<number, number>();
  const choose = rules.ofDifferentEpochs === "highest" ? Math.max : Math.min;
  for (const { file: key, length } of files) {
    const file = fileOf(state.files, key);
    if (file === undefined) return `checkpoint ${id} needs ${nameOfFile(key)}, which is gone`;
    for (let index = 0; index < length; index++) {
      const batch = file.batches[index];
      if (batch === undefined || batch.onDisk === "bad") {
        return `checkpoint ${id} needs batch ${index} of ${nameOfFile(key)}, which is bad`;
      }
      for (const { writer, sqn, epoch } of batch.sets) {
        const place = writer * 16 + sqn;
        restored.set(place, choose(restored.get(place) ?? epoch, epoch));
      }
    }
  }
  for (const [writer, sets] of content.entries()) {
    for (let sqn = base[writer]; sqn < sets.length; sqn++) {
      if (restored.get(writer * 16 + sqn) === sets[sqn]) continue;
      return `checkpoint ${id} does not get w${writer}s${sqn} of epoch ${sets[sqn]}`;
    }
  }
  return null;
}

/** What the newest owner writes to is there. */
export function openFileStays({ claimed, owners, files }: LogState): Violation | null {
  for (const { epoch, openFile } of owners) {
    if (epoch !== claimed || openFile === 0 || fileOf(files, openFile) !== undefined) continue;
    const detail = `${nameOfFile(openFile)} is open and was deleted`;
    return { invariant: "open file stays", detail };
  }
  return null;
}

/** Nothing that is whole is reported as lost or corrupt. */
export function noFalseAlarm({ truth }: LogState, alarm: string): Violation | null {
  return truth.rotten ? null : { invariant: "no false alarm", detail: alarm };
}

/** A reader gets a prefix of a line that was current while it read, with all acknowledged before. */
export function readIsPrefix(truth: Truth, reader: Reader, result: Content): Violation | null {
  const { linesBefore, acknowledgedAtStart } = reader;
  const lines = [...linesBefore, truth.line];
  const complete = linesBefore.length > 0 ||
    acknowledgedAtStart.every((end, writer) => result[writer].length >= end);
  if (complete && lines.some((line) => isPrefix(result, line))) return null;
  return {
    invariant: "read is a prefix",
    detail: `read ${listOfContent(result)}, appended ${lines.map(listOfContent).join(" then ")}`,
  };
}
