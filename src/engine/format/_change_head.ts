/**
 * The head of one change in preferred encoding, read with care: for messages, and for changes that are
 * larger than the bytes at hand.
 * @module
 */
import { CHANGE_BYTES_MAX, KEY_GROUP_MAX } from "../limits.ts";
import { MAJOR, readCborHead } from "./_cbor_head.ts";
import { kindName } from "./_cbor_head.ts";

/** A change whose head is whole. */
export interface ChangeHead {
  readonly keyGroup: number;
  readonly dataStart: number;
  /** Where the change ends; may be beyond the bytes at hand. */
  readonly end: number;
}

/** What is wrong at the head, and where. */
export interface BadHead {
  readonly reason: string;
  readonly position: number;
}

/** Reads the head of the change at `at`. */
export function readChangeHead(
  bytes: Uint8Array,
  at: number,
  to: number,
): ChangeHead | BadHead | "incomplete" {
  const array = readCborHead(bytes, at, to);
  if (array === "incomplete") return array;
  if (array === "reserved" || !array.preferred || array.major !== MAJOR.array) {
    return bad(at, "wants an array of a key group and a byte string, in preferred encoding", array);
  }
  if (array.value !== 2) {
    return { position: at, reason: `wants an array of 2, found ${array.value}` };
  }
  const key = readCborHead(bytes, array.end, to);
  if (key === "incomplete") return key;
  const keyGroup = key === "reserved" || !key.preferred ? undefined : keyGroupOf(key);
  if (key === "reserved" || keyGroup === undefined) {
    return bad(
      array.end,
      `wants a key group from -1 to ${KEY_GROUP_MAX}, in preferred encoding`,
      key,
    );
  }
  const data = readCborHead(bytes, key.end, to);
  if (data === "incomplete") return data;
  if (data === "reserved" || !data.preferred || data.major !== MAJOR.bytes) {
    return bad(key.end, "wants a byte string, in preferred encoding", data);
  }
  if (data.value > CHANGE_BYTES_MAX) {
    return {
      position: key.end,
      reason: `wants at most ${CHANGE_BYTES_MAX} bytes in a change, found ${data.value}`,
    };
  }
  return { keyGroup, dataStart: data.end, end: data.end + data.value };
}

/** The key group that a head means; undefined when it means none. */
export function keyGroupOf(head: { major: number; value: number }): number | undefined {
  if (head.major === MAJOR.unsigned && head.value <= KEY_GROUP_MAX) return head.value;
  return head.major === MAJOR.negative && head.value === 0 ? -1 : undefined;
}

function bad(
  position: number,
  wants: string,
  found: Exclude<ReturnType<typeof readCborHead>, "incomplete">,
): BadHead {
  if (found === "reserved") return { position, reason: `${wants}, found a byte without meaning` };
  const encoding = found.preferred ? "" : " in another encoding";
  return { position, reason: `${wants}, found ${kindName(found)}${encoding}` };
}
