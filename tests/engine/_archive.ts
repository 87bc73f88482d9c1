/** Archives for tests: taken apart, changed, and put together again. @module */
import {
  tarEnd,
  type TarEntry,
  tarHeader,
  tarPadding,
  TarReader,
} from "../../src/engine/format/tar.ts";

import type { MemoryBackend } from "../../src/engine/storage/memory_backend.ts";
import type { Job } from "../../src/engine/types.ts";
import {
  append,
  appendDurably,
  bytesOf,
  type JobEngine,
  newMemory,
  openJobOn,
  restore,
  textOf,
} from "./_engine.ts";

/** Where an archive of format version 1 stands in the repository. */
export const GOLDEN_ARCHIVE = new URL("../golden/archive_v1.tar", import.meta.url);

/** One file of an archive. */
export interface ArchiveFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Gathers what comes. */
export async function gather(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return join(all);
}

export function join(pieces: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** Gives bytes in pieces. */
export async function* inPieces(
  bytes: Uint8Array,
  pieceBytes: number = bytes.length,
): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    yield bytes.subarray(at, at + pieceBytes);
  }
}

/** Takes an archive apart. */
export async function filesOf(archive: Uint8Array): Promise<ArchiveFile[]> {
  const reader = new TarReader(inPieces(archive));
  const files: ArchiveFile[] = [];
  for (let entry: TarEntry | undefined; (entry = await reader.next()) !== undefined;) {
    files.push({ name: entry.name, bytes: await gather(reader.content(entry)) });
  }
  return files;
}

/** Puts an archive together. */
export function archiveOf(files: readonly ArchiveFile[]): Uint8Array {
  return join([
    ...files.flatMap(({ name, bytes }) => [
      tarHeader({ name, size: bytes.length }, 0),
      bytes,
      tarPadding(bytes.length),
    ]),
    tarEnd(),
  ]);
}

/** A job of two owners and two runs: shared files, an abandoned line, a pin, states, an ended writer, and a tail. */
export async function openRichJob(objects: MemoryBackend = newMemory()): Promise<JobEngine> {
  const before = await openJobOn(objects, {}, { fingerprint: 7n });
  append(before.job, "totals", "a", "b");
  append(before.job, "ended", "x");
  const first = await before.job.checkpoint({ identifier: "first", metadata: { line: 2 } });
  await before.job.pin(first.uuid, "for ever");
  append(before.job, "totals", "abandoned");
  before.job.retireWriter("ended");
  await before.job.checkpoint({ states: { gone: bytesOf("gone") } });
  await before.job.resume({ at: first.uuid });
  append(before.job, "totals", "c");
  before.job.retireWriter("ended");
  await before.job.checkpoint({ states: { sums: bytesOf("123"), big: new Uint8Array(300_000) } });
  await before.job.close();
  const engine = await openJobOn(objects);
  append(engine.job, "totals", "d");
  await engine.job.checkpoint({
    steps: 4n,
    idempotencyKey: "4",
    states: { sums: { from: "latest" } },
  });
  await engine.job.setRetention({ minCount: 3, maxAgeMs: 1000 });
  await appendDurably(engine.job, "totals", "e", "f");
  await appendDurably(engine.job, "more", "g");
  return engine;
}

/** All that a job gives back. */
export async function contentOf(job: Job): Promise<unknown> {
  const checkpoints = await Promise.all((await job.checkpoints()).map(async (entry) => {
    const { uuid } = entry;
    const details = await job.checkpointDetails(uuid);
    const states: Record<string, string> = {};
    for (const { name } of details.states) {
      states[name] = textOf(await gather(job.readState(name, { at: uuid })));
    }
    const { files: _files, size: _size, states: _states, ...facts } = details;
    return { ...facts, states, changes: (await restore(job, { at: uuid })).changes };
  }));
  const writers = (await job.writers()).map((
    { writer, nextOffset, sequenceNumber, isClosed },
  ) => ({ writer, nextOffset, sequenceNumber, isClosed }));
  const { fingerprint, run } = job;
  const retention = JSON.stringify(job.retention);
  const tail = (await restore(job, { at: "tail" })).changes;
  return { checkpoints, writers, fingerprint, retention, run, tail };
}
