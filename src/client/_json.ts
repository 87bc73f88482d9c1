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

/** A text that is no JSON object. */
export class UnreadableAnswer extends TypeError {}

/** Reads a JSON object. @throws {SyntaxError|UnreadableAnswer} when it is something else */
export function parseJson(text: string): JsonObject {
  const value: unknown = JSON.parse(text);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as JsonObject;
  }
  throw new UnreadableAnswer("Cannot read the answer: wants a JSON object");
}
