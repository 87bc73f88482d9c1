/** What the figures of `bench` mean, for people. */
import { GIB, MIB } from "../../engine/limits.ts";
import { formatBytes, formatSpan, formatTable } from "../_format.ts";
import type { AppendFigures, RestoreFigures } from "./_measure.ts";

/** What was measured. */
export interface BenchFigures {
  readonly place: string;
  /** Bytes of a change. */
  readonly changeBytes: number;
  /** Syncs of a small file; of a sidecar they can't be measured from here. */
  readonly sync?: { readonly syncs: number; readonly p50Ms: number; readonly p99Ms: number };
  /** One client that waits for each answer. */
  readonly one: AppendFigures;
  /** Many of them at once. */
  readonly many: AppendFigures;
  /** Many changes in each append. */
  readonly bulk: AppendFigures;
  readonly restore: RestoreFigures;
}

/** Quicker than any medium that keeps what it has without power. */
const SYNC_MS_TOO_QUICK = 0.02;
const SYNC_MS_SLOW = 20;
/** An append of one client is a sync and little else, unless it waits for others. */
const DELAYED = 4;
/** Where most syncs are so much quicker than some, something else keeps the disk busy. */
const SYNC_SPREAD = 20;

/** Tells the figures, and what to make of them. */
export function describeFigures(figures: BenchFigures): { text: string; notes: string[] } {
  const { place, changeBytes, sync, one, many, bulk, restore } = figures;
  const size = formatBytes(changeBytes);
  const rows = [
    ["WHAT", "A SECOND", "IN THE MIDDLE", "SLOWEST 1 %"],
    ...(sync === undefined ? [] : [["sync of the disk", "", ms(sync.p50Ms), ms(sync.p99Ms)]]),
    [`1 client, ${size} each`, rateOf(one), ms(one.p50Ms), ms(one.p99Ms)],
    [`${many.clients} clients, ${size} each`, rateOf(many), ms(many.p50Ms), ms(many.p99Ms)],
    ["in bulk", `${formatBytes(Math.round(bulk.bytesPerSecond))}`, ms(bulk.p50Ms), ms(bulk.p99Ms)],
    ["restore", formatBytes(Math.round(restore.bytesPerSecond)), "", ""],
  ];
  const notes = notesOf(figures);
  const heading = `Measured ${place}: appends that are durable when they are answered`;
  return { text: [heading, "", formatTable(rows), "", ...notes].join("\n"), notes };
}

function rateOf({ appendsPerSecond }: AppendFigures): string {
  return `${Math.round(appendsPerSecond)} appends`;
}

function ms(value: number): string {
  return `${value.toFixed(value < 10 ? 2 : 0)} ms`;
}

function notesOf({ sync, one, many, bulk, restore }: BenchFigures): string[] {
  const gain = one.appendsPerSecond === 0 ? 0 : many.appendsPerSecond / one.appendsPerSecond;
  const ofJob = (bytes: number) => formatSpan(bytes / restore.bytesPerSecond * 1000);
  return [
    `A pipeline that waits for each append makes ${Math.round(one.appendsPerSecond)} a second; ` +
    `${many.clients} at once share syncs, and make ${gain.toFixed(1)} times as many.`,
    ...(sync !== undefined && one.p50Ms > DELAYED * sync.p50Ms
      ? [
        "Most of the time of one client is no sync, but the wait for others to share it: " +
        "--persist-delay-ms 0 is quicker where one client waits for each answer.",
      ]
      : []),
    `In bulk, ${formatBytes(Math.round(bulk.bytesPerSecond))} a second become durable: ` +
    "put many changes into an append where there are many.",
    ...(restore.bytesPerSecond > 0 && restore.bytes > MIB
      ? [`To restore takes about ${ofJob(GIB)} for each GiB of changes.`]
      : []),
    ...notesOnSyncs(sync),
  ];
}

function notesOnSyncs(sync: BenchFigures["sync"]): string[] {
  if (sync === undefined) return [];
  const { p50Ms, p99Ms } = sync;
  return [
    ...(p50Ms < SYNC_MS_TOO_QUICK
      ? [
        "Syncs are quicker than a medium can be: it is memory, or does not wait for its medium, and " +
        "a power cut may take what was acknowledged.",
      ]
      : []),
    ...(p50Ms > SYNC_MS_SLOW
      ? [
        "Syncs are slow, and every durable append waits for one: use a faster disk, or let more " +
        "appends share one with a larger --persist-delay-ms.",
      ]
      : []),
    ...(p99Ms > SYNC_SPREAD * p50Ms
      ? ["Some syncs take far longer than most: something else keeps the disk busy."]
      : []),
  ];
}
