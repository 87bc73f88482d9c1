/** Bodies of appends, the same in every process that asks for the same sizes. @module */
import { encodeChange, encodedChangeBytes } from "../../src/engine/format/change.ts";
import { makeCorpus } from "./_corpora.ts";

const CHANGE_BYTES = 200;
const KEY_GROUPS = 128;

/** A request's body, and how many changes are in it. */
export interface Body {
  readonly bytes: Uint8Array;
  readonly count: number;
}

/** The job that bodies of a size go to. */
export function jobOf(bodyBytes: number): string {
  return `bodies-of-${bodyBytes}`;
}

/** A JSON corpus in changes of 200 bytes, as CBOR sequences of `bodyBytes` each. */
export function makeBodies(bodyBytes: number, corpusBytes: number): Body[] {
  const corpus = makeCorpus("json", corpusBytes + bodyBytes);
  const bodies: Body[] = [];
  for (let at = 0; at < corpusBytes; at += bodyBytes) {
    bodies.push(makeBody(corpus.subarray(at, at + bodyBytes), bodyBytes));
  }
  return bodies;
}

/** The last change takes what is left. */
function makeBody(data: Uint8Array, bodyBytes: number): Body {
  const bytes = new Uint8Array(bodyBytes);
  const whole = encodedChangeBytes(KEY_GROUPS, CHANGE_BYTES);
  let at = 0;
  let taken = 0;
  let count = 0;
  while (at < bodyBytes) {
    const keyGroup = count % KEY_GROUPS;
    const left = bodyBytes - at;
    const length = left < 2 * whole ? dataLengthOf(keyGroup, left) : CHANGE_BYTES;
    at = encodeChange(bytes, at, keyGroup, data.subarray(taken, taken + length));
    taken += length;
    count += 1;
  }
  return { bytes, count };
}

/** How much data makes a change of so many bytes. */
function dataLengthOf(keyGroup: number, encodedBytes: number): number {
  let length = encodedBytes;
  while (encodedChangeBytes(keyGroup, length) > encodedBytes) length -= 1;
  return length;
}
