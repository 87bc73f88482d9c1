/** JSON with u64 values as decimal strings. */

/** A JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Writes JSON; a `bigint` becomes a decimal string. */
export function toJson(value: JsonObject): string {
  return JSON.stringify(
    value,
    (_name, item: unknown) => typeof item === "bigint" ? item.toString() : item,
  );
}

/** Reads a JSON object. @throws {TypeError} when it is something else */
export function parseJson(text: string): JsonObject {
  const value: unknown = JSON.parse(text);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as JsonObject;
  }
  throw new TypeError("Cannot read the answer: wants a JSON object");
}
