/**
 * A scan that takes its time: files are read one after another, while their owner may go on.
 * @module
 */
import type { LogRules } from "./rules.ts";
import { fileOf, type LogFile, type LogState, nameOfFile, type Snapshot } from "./state.ts";
import { withoutContent } from "./state.ts";

export function listFiles(state: LogState): Snapshot {
  return { toRead: state.files.map(({ key }) => key), read: [] };
}

export interface Reading {
  readonly told: string;
  readonly snapshot: Snapshot;
}

/**
 * Reads the next file as far as it goes now, its last batch perhaps in the middle of its write;
 * nothing if there is no file left.
 */
export function readNextFile(state: LogState, rules: LogRules, snapshot: Snapshot): Reading[] {
  const listed = rules.filesAreListed === "before the first is read";
  const last = snapshot.read[snapshot.read.length - 1]?.key ?? 0;
  const left = listed
    ? snapshot.toRead
    : state.files.map(({ key }) => key).filter((key) => key > last);
  if (left.length === 0) return [];
  const [key, ...rest] = left;
  const toRead = listed ? rest : [];
  const told = `reads ${nameOfFile(key)}`;
  const file = fileOf(state.files, key);
  if (file === undefined) return [{ told, snapshot: { toRead, read: snapshot.read } }];
  const whole = asSeen(file);
  const readings = [{ told, snapshot: { toRead, read: [...snapshot.read, whole] } }];
  if (isBeingWritten(state, file)) {
    const torn = withoutContent(whole, whole.batches.length - 1);
    const read = [...snapshot.read, torn];
    readings.push({ told: `${told} in the middle of a write`, snapshot: { toRead, read } });
  }
  return readings;
}

function isBeingWritten({ owners }: LogState, { key, batches }: LogFile): boolean {
  return batches[batches.length - 1]?.onDisk === "cached" &&
    owners.some(({ writes }) => writes.some(({ file }) => file === key));
}

/** Whether bytes are on disk is not to be seen. */
function asSeen(file: LogFile): LogFile {
  const batches = file.batches.map((batch) =>
    batch.onDisk === "bad" ? batch : { ...batch, onDisk: "cached" as const }
  );
  const header = file.header === "bad" ? "bad" : "cached";
  return { ...file, batches, header, nameOnDisk: true };
}
