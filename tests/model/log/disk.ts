/**
 * What befalls process, machine and disk in the log model: kills, power cuts, deletes, rot.
 * @module
 */
import type { Emit } from "../explorer.ts";
import type { FileKey, LogFile, LogState, Owner } from "./state.ts";
import { fileOf, IDLE_READER, nameOfFile, spend, withBatch, withFile } from "./state.ts";
import { withoutContent, withoutOwner } from "./state.ts";

export function landDelete(state: LogState, key: FileKey, emit: Emit<LogState>): void {
  const files = state.files.filter((file) => file.key !== key);
  const deletes = state.deletes.filter((one) => one !== key);
  emit(() => `the delete of ${nameOfFile(key)} lands`, { ...state, files, deletes });
}

/** Kills a process; what it wrote stays in the page cache, the last write perhaps in part. */
export function kill(state: LogState, owner: Owner, emit: Emit<LogState>): void {
  if (state.left.kills === 0) return;
  const killed = withoutOwner(spend(state, "kills"), owner);
  emit(() => `${owner.epoch} is killed`, killed);
  const write = owner.writes[owner.writes.length - 1];
  const file = write && fileOf(state.files, write.file);
  if (!write || file?.batches[write.index].onDisk !== "cached") return;
  const torn = withFile(killed, withoutContent(file, write.index));
  emit(() => `${owner.epoch} is killed in its write to ${nameOfFile(file.key)}`, torn);
}

/** What a power cut may leave of a file; null: not even its name. */
interface Remains {
  readonly told: string;
  readonly file: LogFile | null;
}

/** The machine loses power: any part of what was not synced is gone. */
export function cutPower(state: LogState, emit: Emit<LogState>): void {
  if (state.left.cuts === 0) return;
  let outcomes: Remains[][] = [[]];
  for (const file of state.files) {
    const remains = remainsOf(file);
    outcomes = outcomes.flatMap((before) => remains.map((one) => [...before, one]));
  }
  for (const outcome of outcomes) {
    const files = outcome.flatMap(({ file }) => file === null ? [] : [file]);
    const next = { ...spend(state, "cuts"), files, owners: [], deletes: [], reader: IDLE_READER };
    emit(() => `POWER CUT${outcome.map(({ told }) => told).join("")}`, next);
  }
}

function remainsOf(file: LogFile): Remains[] {
  const name = nameOfFile(file.key);
  const remains: Remains[] = [{ told: "", file: settled(file) }];
  if (!file.nameOnDisk) remains.push({ told: `; ${name} is gone`, file: null });
  if (file.header === "cached") {
    const blank: LogFile = {
      ...settled(file),
      header: "bad",
      predecessors: [],
      batches: [{ sets: [], onDisk: "bad" }],
    };
    remains.push({ told: `; ${name} is bad from its header on`, file: blank });
  }
  file.batches.forEach(({ onDisk }, index) => {
    if (onDisk !== "cached" && onDisk !== "lost") return;
    const cut = { ...file, batches: file.batches.slice(0, index + 1) };
    const torn = settled(withoutContent(cut, index));
    remains.push({ told: `; batch ${index} of ${name} is bad`, file: torn });
  });
  return remains;
}

/** After a cut, what is there is on disk. */
function settled(file: LogFile): LogFile {
  const batches = file.batches.map((batch) =>
    batch.onDisk === "bad" ? batch : { ...batch, onDisk: "on disk" as const }
  );
  const header = file.header === "cached" ? "on disk" : file.header;
  return { ...file, batches, header, nameOnDisk: true };
}

/**
 * A batch on disk goes bad. Where no header on disk names the file, rot in its last batch looks like
 * a torn end, which nothing can tell apart: the design says so, and the model leaves it out.
 */
export function rot(state: LogState, emit: Emit<LogState>): void {
  if (state.left.rots === 0 || state.owners.length > 0) return;
  for (const file of state.files) {
    const named = state.files.flatMap(({ predecessors }) => predecessors)
      .find((part) => part.file === file.key);
    for (let index = 0; index < (named?.length ?? 0); index++) {
      if (file.batches[index]?.onDisk !== "on disk") continue;
      const rotten = withFile(spend(state, "rots"), withBatch(file, index, "bad"));
      const next = { ...rotten, truth: { ...rotten.truth, rotten: true } };
      emit(() => `batch ${index} of ${nameOfFile(file.key)} rots`, next);
    }
  }
}
