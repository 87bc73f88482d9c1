/**
 * The last item of a restore as a CBOR sequence: a map, where every change is an array. It holds
 * `end` with the trailer, or `error` with the problem that cut the restore short.
 * @module
 */
import { Encoder } from "cbor-x/index-no-eval";

const codec = new Encoder({ useRecords: false, variableMapSize: true });
const UINT32_MAX = 2 ** 32 - 1;

/** Writes the last item. */
export function encodeEndItem(content: Readonly<Record<string, unknown>>): Uint8Array {
  return Uint8Array.from(codec.encode(withWideIntegers(content)));
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
