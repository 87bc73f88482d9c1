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
  const predecessors = wantArray("predecessors", fields.predecessors).map(fieldsOfPredecessor);
  const header = checkHeader({ ...fields, predecessors });
  return { header, length: frame.length, hash };
}

type Unchecked<Checked> = { readonly [Field in keyof Checked]: unknown };

function fieldsOfPredecessor(value: unknown): Unchecked<Predecessor> {
  const [number, uuid, syncedLength] = wantArray("predecessor", value, 3);
  return { number, uuid, syncedLength };
}

/** Checks types, ranges and what must agree; answers the header and nothing else. */
function checkHeader(
  fields: Omit<Unchecked<ChangeFileHeader>, "predecessors"> & {
    readonly predecessors: readonly Unchecked<Predecessor>[];
  },
): ChangeFileHeader {
  const number = wantCount("number", fields.number);
  return {
    store: wantUuid("store", fields.store),
    job: wantName("job", fields.job),
    log: wantName("log", fields.log),
    epoch: wantCount("epoch", fields.epoch),
    run: wantCount("run", fields.run),
    number,
    uuid: wantUuid("uuid", fields.uuid),
    createdAtMs: wantCount("creation time", fields.createdAtMs),
    predecessors: fields.predecessors.map((predecessor) => checkPredecessor(predecessor, number)),
  };
}

function checkPredecessor(fields: Unchecked<Predecessor>, successor: number): Predecessor {
  const number = wantCount("predecessor's number", fields.number);
  if (number >= successor) {
    throw new Malformed(`its number is ${successor}, its predecessor's is ${number}`);
  }
  return {
    number,
    uuid: wantUuid("predecessor's uuid", fields.uuid),
    syncedLength: wantCount("predecessor's synced length", fields.syncedLength),
  };
}
