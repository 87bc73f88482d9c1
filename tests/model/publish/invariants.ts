/**
 * What must hold in the publish model, whatever happens.
 * @module
 */
import type { Violation } from "../explorer.ts";
import type { PublishRules } from "./rules.ts";
import { generationsOf, nameIn, type Newest, type PublishState } from "./state.ts";

/** What an opener takes for the newest generation. */
export function newestOf(rules: PublishRules, state: PublishState): Newest | undefined {
  const generations = generationsOf(state);
  const highest = generations[generations.length - 1];
  if (rules.newestIs === "highest number") return highest;
  const hole = generations.findIndex(({ number }, at) =>
    at > 0 && number !== generations[at - 1].number + 1
  );
  return hole < 0 ? highest : generations[hole - 1];
}

/** The newest generation is whole, has all that was confirmed, and names what is there. */
export function newestIsWhole(rules: PublishRules, state: PublishState): Violation | null {
  const newest = newestOf(rules, state);
  const publishes = newest?.body.publishes ?? [];
  const lost = state.confirmed.find((publish) => !publishes.includes(publish));
  if (newest?.body.onDisk === "bad") {
    const detail = `generation ${newest.number} is bad`;
    return { invariant: "newest is readable", detail };
  }
  if (lost !== undefined) {
    const detail = `generation ${newest?.number ?? "none"} lacks publish ${lost}`;
    return { invariant: "confirmed stays", detail };
  }
  if (newest === undefined) return null;
  const last = publishes[publishes.length - 1];
  const manifest = nameIn(state, "checkpoints", last);
  if (manifest !== undefined && state.bodies[manifest.body].onDisk !== "bad") return null;
  return { invariant: "published is restorable", detail: `manifest ${last} is missing or bad` };
}
