/**
 * One change as bytes: the CBOR item `[keyGroup, bytes]` in preferred encoding (RFC 8949 section 4.1).
 * Written by hand, as it is the hot path of `append`.
 * @module
 */
import { CHANGE_BYTES_MAX, KEY_GROUP_MAX, META_KEY_GROUP } from "../limits.ts";
import { TidemarkError } from "../errors.ts";
import { headBytes } from "./_cbor_head.ts";

/** First byte of a change: an array of two. */
export const ARRAY_OF_TWO = 0x82;
/** Key group -1 as CBOR. */
export const MINUS_ONE = 0x20;
/** Fewest bytes of an encoded change: an array head, a key group, an empty byte string. */
export const ENCODED_CHANGE_BYTES_MIN = 3;

const COPY_LOOP_BYTES_MAX = 24;

/**
 * How many bytes the encoded change has.
 *
 * @param keyGroup -1 (metadata) or 0 to 2^31 - 1; not checked.
 * @param dataLength Bytes of the change's data, at most 256 MiB; not checked.
 */
export function encodedChangeBytes(keyGroup: number, dataLength: number): number {
  return 1 + headBytes(keyGroup) + headBytes(dataLength) + dataLength;
}

/**
 * Checks what {@link encodeChange} takes for granted.
 *
 * @throws {RangeError} The key group is not -1 or a whole number from 0 to 2^31 - 1.
 * @throws {TidemarkError} `change-too-large`
 */
export function checkChange(keyGroup: number, dataLength: number): void {
  if (!Number.isInteger(keyGroup) || keyGroup < META_KEY_GROUP || keyGroup > KEY_GROUP_MAX) {
    throw new RangeError(
      `Cannot encode a change of key group ${keyGroup}: wants -1 or a whole number from 0 to ${KEY_GROUP_MAX}`,
    );
  }
  if (dataLength > CHANGE_BYTES_MAX) throw changeTooLarge(dataLength, {});
}

/** The error for a change above the cap. */
export function changeTooLarge(
  found: number | bigint,
  details: Readonly<Record<string, unknown>>,
): TidemarkError {
  return new TidemarkError(
    "change-too-large",
    `Cannot take a change of ${found} bytes: the largest change has ${CHANGE_BYTES_MAX} bytes; split it`,
    { details: { ...details, found, wanted: CHANGE_BYTES_MAX } },
  );
}

/**
 * Writes one change; checks nothing, see {@link checkChange}.
 *
 * @param target Has room for {@link encodedChangeBytes} from `at` on.
 * @returns The position after the change.
 */
export function encodeChange(
  target: Uint8Array,
  at: number,
  keyGroup: number,
  data: Uint8Array,
): number {
  const length = data.length;
  let end = encodeChangeHead(target, at, keyGroup, length);
  if (length > COPY_LOOP_BYTES_MAX) {
    target.set(data, end);
    return end + length;
  }
  for (let i = 0; i < length; i++) target[end++] = data[i];
  return end;
}

/** Writes all of a change but its data; answers the position where the data goes. */
export function encodeChangeHead(
  target: Uint8Array,
  at: number,
  keyGroup: number,
  dataLength: number,
): number {
  target[at++] = ARRAY_OF_TWO;
  if (keyGroup < 24) {
    target[at++] = keyGroup < 0 ? MINUS_ONE : keyGroup;
  } else {
    at = writeLongHead(target, at, 0x00, keyGroup);
  }
  if (dataLength < 24) {
    target[at++] = 0x40 | dataLength;
    return at;
  }
  if (dataLength < 0x100) {
    target[at++] = 0x58;
    target[at++] = dataLength;
    return at;
  }
  return writeLongHead(target, at, 0x40, dataLength);
}

/** Writes a head whose value is from 24 to 2^32 - 1. */
function writeLongHead(target: Uint8Array, at: number, major: number, value: number): number {
  if (value < 0x100) {
    target[at++] = major | 0x18;
  } else {
    if (value < 0x10000) {
      target[at++] = major | 0x19;
    } else {
      target[at++] = major | 0x1a;
      target[at++] = value >>> 24;
      target[at++] = (value >>> 16) & 0xff;
    }
    target[at++] = (value >>> 8) & 0xff;
  }
  target[at++] = value & 0xff;
  return at;
}
