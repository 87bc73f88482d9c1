/** What an error says to who may not know where the store lies. */
import type { TidemarkError } from "../engine/errors.ts";
import type { Grant } from "./access.ts";
import { type Problem, problemOf } from "./problem.ts";

/**
 * The problem document for a caller.
 *
 * @param grant What the caller may do; who may read the whole store is told its place.
 * @param place Where the store lies.
 */
export function problemFor(
  error: TidemarkError,
  { grant, place }: { readonly grant: Grant | undefined; readonly place: string },
): Problem {
  const problem = problemOf(error);
  if (grant?.allows("read", undefined)) return problem;
  const hide = (text: string): string =>
    text.replaceAll(`store ${place}`, "the store").replaceAll(place, "the store");
  return mapTexts(problem, hide) as Problem;
}

function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === "string") return map(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, map));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, item]) => [name, mapTexts(item, map)]);
  return Object.fromEntries(entries);
}
