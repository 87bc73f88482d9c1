/** The header frame of a change file. @module */
import { FORMAT_VERSION } from "../limits.ts";
import { cborCount, decodeCbor, encodeCbor } from "./_cbor.ts";
import { HEADER_FRAME, openFrame, type SealedFrame, sealFrame } from "./_frame.ts";
import { Malformed, NewerFormat } from "./_malformed.ts";
import { wantArray, wantCount, wantName, wantSame, wantUuid } from "./_want.ts";
import type { ChangeFileHeader, HeaderFrame, Predecessor } from "./change_file.ts";

const KIND = "change-file";
const FIELDS = [
  "kind",
  "version",
  "store",
  "job",
  "log",
  "epoch",
  "run",
  "number",
  "uuid",
  "createdAtMs",
  "predecessors",
] as const;

/**
 * Makes the header frame.
 *
 * @throws {Malformed} A value in it is out of range.
 */
export function encodeHeader(header: ChangeFileHeader): SealedFrame {
  checkHeader(header);
  const { store, job, log, uuid } = header;
  return sealFrame(
    HEADER_FRAME,
    encodeCbor({
      kind: KIND,
      version: FORMAT_VERSION,
      store,
      job,
      log,
      epoch: cborCount(header.epoch),
      run: cborCount(header.run),
      number: cborCount(header.number),
      uuid,
      createdAtMs: cborCount(header.createdAtMs),
      predecessors: header.predecessors.map((predecessor) => [
        cborCount(predecessor.number),
        predecessor.uuid,
        cborCount(predecessor.syncedLength),
      ]),
    }),
  );
}

/**
 * Reads a header frame that is whole. Kind and version come first: a newer format may say all else differently.
 *
 * @throws {Malformed}
 * @throws {NewerFormat}
 */
export function decodeHeader(frame: Uint8Array): HeaderFrame {
  const { item, hash } = openFrame(HEADER_FRAME, frame);
  const value = decodeCbor(item);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Malformed("its content is not a map");
  }
  const fields = value as Record<(typeof FIELDS)[number], unknown>;
  wantSame("kind", fields.kind, KIND);
  const version = wantCount("format version", fields.version);
  if (version > FORMAT_VERSION) throw new NewerFormat(version);
  wantSame("format version", version, FORMAT_VERSION);
  wantSame("fields", Object.keys(fields).join(" "), FIELDS.join(" "));
  const header: ChangeFileHeader = {
    store: wantUuid("store", fields.store),
    job: wantName("job", fields.job),
    log: wantName("log", fields.log),
    epoch: wantCount("epoch", fields.epoch),
    run: wantCount("run", fields.run),
    number: wantCount("number", fields.number),
    uuid: wantUuid("uuid", fields.uuid),
    createdAtMs: wantCount("creation time", fields.createdAtMs),
    predecessors: wantArray("predecessors", fields.predecessors).map(decodePredecessor),
  };
  checkHeader(header);
  return { header, length: frame.length, hash };
}

function decodePredecessor(value: unknown): Predecessor {
  const [number, uuid, syncedLength] = wantArray("predecessor", value, 3);
  return {
    number: wantCount("predecessor's number", number),
    uuid: wantUuid("predecessor's uuid", uuid),
    syncedLength: wantCount("predecessor's synced length", syncedLength),
  };
}

function checkHeader(header: ChangeFileHeader): void {
  wantUuid("store", header.store);
  wantName("job", header.job);
  wantName("log", header.log);
  wantCount("epoch", header.epoch);
  wantCount("run", header.run);
  wantCount("number", header.number);
  wantUuid("uuid", header.uuid);
  wantCount("creation time", header.createdAtMs);
  for (const { number, uuid, syncedLength } of header.predecessors) {
    wantUuid("predecessor's uuid", uuid);
    wantCount("predecessor's synced length", syncedLength);
    if (wantCount("predecessor's number", number) >= header.number) {
      throw new Malformed(`its number is ${header.number}, its predecessor's is ${number}`);
    }
  }
}
