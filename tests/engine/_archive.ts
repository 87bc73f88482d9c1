/** Archives for tests: taken apart, changed, and put together again. @module */
import {
  tarEnd,
  type TarEntry,
  tarHeader,
  tarPadding,
  TarReader,
} from "../../src/engine/format/tar.ts";

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
