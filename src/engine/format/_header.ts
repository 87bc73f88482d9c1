/** The header frame of a change file. @module */
import { FORMAT_VERSION } from "../limits.ts";
import { cborCount, encodeCbor } from "./_cbor.ts";
import { HEADER_FRAME, type SealedFrame, sealFrame } from "./_frame.ts";
import { openHeader } from "./_header_fields.ts";
import { Malformed } from "./_malformed.ts";
import { wantArray, wantCount, wantName, wantUuid } from "./_want.ts";
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
 * Reads a header frame that is whole.
 *
 * @throws {Malformed}
 * @throws {NewerFormat}
 */
export function decodeHeader(frame: Uint8Array): HeaderFrame {
  const { fields, hash } = openHeader(frame, KIND, FIELDS);
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
