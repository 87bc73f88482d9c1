/**
 * Answers as CBOR: what they would be as JSON, item by item. So u64 values are decimal strings there, too.
 * @module
 */
import { Encoder } from "cbor-x/index-no-eval";
import { toJson } from "./json.ts";

const codec = new Encoder({ useRecords: false, variableMapSize: true });
const UINT32_MAX = 2 ** 32 - 1;

/** Writes a value as one CBOR item; of an object what is undefined is left out. */
export function encodeCbor(value: unknown): Uint8Array {
  return Uint8Array.from(codec.encode(withWideIntegers(JSON.parse(toJson(value)))));
}

/**
 * The encoder writes whole numbers beyond 32 bits as floating point, unless they are a `bigint`.
 */
function withWideIntegers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withWideIntegers);
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, withWideIntegers(item)]),
    );
  }
  const isWide = Number.isSafeInteger(value) && Math.abs(value as number) > UINT32_MAX;
  return isWide ? BigInt(value as number) : value;
}
