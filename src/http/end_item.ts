/**
 * The last item of a restore as a CBOR sequence: a map, where every change is an array. It holds `end` with the
 * trailer, or `error` with the problem that cut the restore short.
 * @module
 */
import { Encoder } from "cbor-x/index-no-eval";

const codec = new Encoder({ useRecords: false, variableMapSize: true });
const UINT32_MAX = 2 ** 32 - 1;

/** Writes the last item. */
export function encodeEndItem(content: Readonly<Record<string, unknown>>): Uint8Array {
  return Uint8Array.from(codec.encode(withWideIntegers(content)));
}

/** Reads the last item; whole numbers come back as `number` where they fit. */
export function decodeEndItem(bytes: Uint8Array): Record<string, unknown> {
  return withNumbers(codec.decode(bytes)) as Record<string, unknown>;
}

/** Whether an item that begins with this byte is the last one: a map. */
export function isEndItem(firstByte: number): boolean {
  return firstByte >> 5 === 5;
}

/** The encoder writes whole numbers beyond 32 bits as floating point, unless they are a `bigint`. */
function withWideIntegers(value: unknown): unknown {
  return mapValues(
    value,
    (item) =>
      Number.isSafeInteger(item) && Math.abs(item as number) > UINT32_MAX
        ? BigInt(item as number)
        : item,
  );
}

function withNumbers(value: unknown): unknown {
  return mapValues(
    value,
    (item) => typeof item === "bigint" && Number.isSafeInteger(Number(item)) ? Number(item) : item,
  );
}

function mapValues(value: unknown, map: (item: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => mapValues(item, map));
  if (typeof value !== "object" || value === null) return map(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, mapValues(item, map)]),
  );
}
