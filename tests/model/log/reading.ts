/**
 * A reader of the tail in another process, beside an owner that writes, in the log model.
 * @module
 */
import type { Emit } from "../explorer.ts";
import { noFalseAlarm, readIsPrefix } from "./invariants.ts";
import type { LogRules } from "./rules.ts";
import { scanTail } from "./scan.ts";
import { listFiles, readNextFile } from "./snapshot.ts";
import type { Generation, LogState, Reader, Snapshot } from "./state.ts";
import { IDLE_READER, listOfContent, spend } from "./state.ts";

export function readTail(state: LogState, rules: LogRules, emit: Emit<LogState>): void {
  const { phase, snapshot } = state.reader;
  if (phase === "idle" && state.left.reads > 0) beginRead(state, emit);
  if (phase === "listing") {
    const reader: Reader = { ...state.reader, phase: "reading", snapshot: listFiles(state) };
    emit(() => "the reader lists the files", { ...state, reader });
  }
  if (snapshot === null) return;
  const readings = readNextFile(state, rules, snapshot);
  if (readings.length === 0) return endRead(state, rules, snapshot, emit);
  for (const { told, snapshot: next } of readings) {
    emit(() => `the reader ${told}`, { ...state, reader: { ...state.reader, snapshot: next } });
  }
}

function beginRead(state: LogState, emit: Emit<LogState>): void {
  const reader: Reader = {
    ...IDLE_READER,
    phase: "listing",
    generation: state.generation,
    acknowledgedAtStart: state.truth.acknowledged,
  };
  emit(() => "the reader gets the generation", { ...spend(state, "reads"), reader });
}

function endRead(
  state: LogState,
  rules: LogRules,
  snapshot: Snapshot,
  emit: Emit<LogState>,
): void {
  const { reader, truth } = state;
  const generation = reader.generation as Generation;
  const { head, tailFrom } = state.generation;
  const changed = head !== generation.head || tailFrom !== generation.tailFrom;
  if (changed && rules.readerAfterScan === "reads again") {
    const again = { ...state.left, reads: state.left.reads + 1 };
    return emit(() => "the reader starts over", { ...state, left: again, reader: IDLE_READER });
  }
  const view = { generation, files: snapshot.read, epochBelow: Infinity };
  const found = scanTail(rules, view, truth.line.length);
  const next = { ...state, reader: IDLE_READER };
  if ("alarm" in found) {
    emit(() => `the reader reports: ${found.alarm}`, next, noFalseAlarm(state, found.alarm));
  } else {
    const violation = readIsPrefix(truth, reader, found.content);
    emit(() => `the reader returns ${listOfContent(found.content)}`, next, violation);
  }
}
