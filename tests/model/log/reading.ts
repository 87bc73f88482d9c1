/**
 * A reader of the tail in another process, beside an owner that writes, in the log model.
 * @module
 */
import type { Emit } from "../explorer.ts";
import { noFalseAlarm, readIsPrefix } from "./invariants.ts";
import type { LogRules } from "./rules.ts";
import { scanTail } from "./scan.ts";
import type { FileKey, Generation, LogFile, LogState, Reader } from "./state.ts";
import { fileOf, IDLE_READER, listOfContent, nameOfFile, spend } from "./state.ts";

export function readTail(state: LogState, rules: LogRules, emit: Emit<LogState>): void {
  const { phase } = state.reader;
  if (phase === "idle" && state.left.reads > 0) beginRead(state, emit);
  if (phase === "listing") listFiles(state, emit);
  if (phase === "reading") readFile(state, rules, emit);
  if (phase === "read") endRead(state, rules, emit);
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

function listFiles(state: LogState, emit: Emit<LogState>): void {
  const toRead = state.files.map(({ key }) => key);
  const reader: Reader = { ...state.reader, phase: "reading", toRead };
  emit(() => "the reader lists the files", { ...state, reader });
}

/** Reads the next file as far as it goes now. */
function readFile(state: LogState, rules: LogRules, emit: Emit<LogState>): void {
  const { reader } = state;
  const lists = rules.readerLists === "before it reads";
  const last = reader.read[reader.read.length - 1]?.key ?? 0;
  const left = lists
    ? reader.toRead
    : state.files.map(({ key }) => key).filter((key) => key > last);
  if (left.length === 0) {
    const read: Reader = { ...reader, phase: "read", toRead: [] };
    return emit(() => "the reader has read all files", { ...state, reader: read });
  }
  const [key, ...toRead] = left;
  const file = fileOf(state.files, key);
  const read = file === undefined ? reader.read : [...reader.read, asSeen(file)];
  const next = { ...reader, toRead: lists ? toRead : [], read };
  emit(() => `the reader reads ${nameOfFile(key)}`, { ...state, reader: next });
}

/** Whether bytes are on disk is not to be seen. */
function asSeen(file: LogFile): LogFile {
  const batches = file.batches.map((batch) =>
    batch.onDisk === "bad" ? batch : { ...batch, onDisk: "cached" as const }
  );
  const header = file.header === "bad" ? "bad" : "cached";
  return { ...file, batches, header, nameOnDisk: true };
}

function endRead(state: LogState, rules: LogRules, emit: Emit<LogState>): void {
  const { reader, truth } = state;
  const generation = reader.generation as Generation;
  const { head, tailFrom } = state.generation;
  const changed = head !== generation.head || tailFrom !== generation.tailFrom;
  if (changed && rules.readerAfterScan === "reads again") {
    const again = { ...state.left, reads: state.left.reads + 1 };
    return emit(() => "the reader starts over", { ...state, left: again, reader: IDLE_READER });
  }
  const view = { generation, files: reader.read, epochBelow: Infinity as FileKey };
  const found = scanTail(rules, view, truth.line.length);
  const next = { ...state, reader: IDLE_READER };
  if ("alarm" in found) {
    emit(() => `the reader reports: ${found.alarm}`, next, noFalseAlarm(state, found.alarm));
  } else {
    const violation = readIsPrefix(truth, reader, found.content);
    emit(() => `the reader returns ${listOfContent(found.content)}`, next, violation);
  }
}
