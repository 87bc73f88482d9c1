/** How many uploads and files it takes when many writers persist at once. @module */
import { barAtMost, type BenchBar, type BenchRow } from "./_bench.ts";
import { withEngine } from "./_upload_engine.ts";

const CHANGE_BYTES = 200;

/** How much to do. */
export interface BatchingSizes {
  readonly writers: number;
  /** Batches whose files are counted. */
  readonly batches: number;
}

/** Measures; the figures don't depend on speed. */
export async function measureBatching(
  { writers, batches }: BatchingSizes,
): Promise<{ rows: BenchRow[]; bars: BenchBar[] }> {
  const together = await persistTogether(writers);
  const filesPerBatch = await persistInTurn(batches);
  return {
    rows: [{ what: `${writers} writers persist one change each, uploads`, measured: together }],
    bars: [
      barAtMost(`uploads for ${writers} persists within the delay`, 1, together),
      barAtMost("files per batch at a delay of 10 ms", 0.01, filesPerBatch),
    ],
  };
}

/** Every writer persists one change; answers the uploads. */
function persistTogether(writers: number): Promise<number> {
  return withEngine({ persistDelayMs: 10 }, async ({ job, counted, disk }) => {
    const change = new Uint8Array(CHANGE_BYTES);
    const before = counted("tidemark_upload_requests_total");
    const mark = disk.mark();
    const persists = Array.from({ length: writers }, (_, i) => {
      const writer = job.writer(`writer-${i}`);
      writer.append(i, change);
      return writer.persist();
    });
    await Promise.all(persists);
    disk.check(mark);
    return counted("tidemark_upload_requests_total") - before;
  });
}

/** One writer persists again and again; answers the change files for each batch. */
function persistInTurn(batches: number): Promise<number> {
  return withEngine({ persistDelayMs: 10 }, async ({ job, counted, disk }) => {
    const writer = job.writer("writer");
    const files = new Set<string>();
    for (let i = 0; i < batches; i++) {
      writer.append(0, new Uint8Array(CHANGE_BYTES));
      const mark = disk.mark();
      const { segments } = await writer.persist();
      disk.check(mark);
      for (const { key } of segments) files.add(key);
    }
    return files.size / counted("tidemark_upload_batch_tasks_count");
  });
}
