/** Exports the changes of some writers, one after another. */
import { scanChangePrefix } from "../../engine/format/change_scan.ts";
import { MIB } from "../../engine/limits.ts";
import { cutChanges } from "../../http/change_pieces.ts";
import {
  exportedChanges,
  exportedEnd,
  type ExportedWriter,
  type ExportFormat,
} from "../_export_form.ts";
import type { Report } from "../_report.ts";
import { restoreWhatIsThere } from "../target/restore_from.ts";
import type { ReadTarget } from "../target/target.ts";

/** What is exported. */
export interface ExportWish {
  readonly job: string;
  /** One writer; all where it is left out. */
  readonly writer?: string;
  readonly at: string;
  readonly format: ExportFormat;
}

/** What came out. */
export interface Exported {
  readonly at: string;
  readonly writers: readonly ExportedWriter[];
}

/** Gives the bytes of an export; answers what it held. */
export async function* exportChanges(
  reader: ReadTarget,
  { job, writer, at: wanted, format }: ExportWish,
  report: Report,
): AsyncGenerator<Uint8Array, Exported> {
  // A checkpoint that is made meanwhile would change what latest is.
  const checkpoint = wanted === "tail" ? undefined : await reader.checkpointDetails(wanted);
  const at = checkpoint?.uuid ?? "tail";
  const found = checkpoint?.writers ?? await reader.writers();
  const names = writer === undefined ? found.map((one) => one.writer) : [writer];
  const total = found.filter((one) => names.includes(one.writer))
    .reduce((sum, { nextOffset }) => sum + nextOffset, 0);
  const writers: ExportedWriter[] = [];
  let done = 0;
  for (const name of names) {
    const { from, pieces, trailer } = await restoreWhatIsThere(reader, name, { at, from: 0 });
    let next = from;
    done += from;
    for await (const bytes of pieces) {
      for (const piece of cutChanges(bytes, MIB)) {
        yield* exportedChanges(format, piece, { writer: name, firstOffset: next });
        const { count } = scanChangePrefix(piece);
        [next, done] = [next + count, done + count];
        report.progress(() => ({ label: `exporting ${job}/${name}`, done, total, unit: "change" }));
      }
    }
    writers.push({ writer: name, from, to: next, hash: (await trailer).hash });
  }
  yield exportedEnd(format, { job, at, writers });
  return { at, writers };
}
