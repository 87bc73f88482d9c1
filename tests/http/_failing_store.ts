/**
 * A store and a job of which a test writes only the parts it needs; any other part fails by name.
 * @module
 */
import type { Job, Store } from "../../src/engine/types.ts";

function onlyWith<Whole extends object>(what: string, parts: Partial<Whole>): Whole {
  return new Proxy(parts, {
    get(target, name) {
      if (name in target) return Reflect.get(target, name);
      if (typeof name === "symbol" || name === "then") return undefined;
      throw new Error(`The test's ${what} has no ${name}`);
    },
  }) as Whole;
}

/** A job with these parts. */
export function jobWith(parts: Partial<Job>): Job {
  return onlyWith<Job>("job", { id: "j", ...parts });
}

/** A store with one job. */
export function storeWith(job: Store["job"]): Store {
  return onlyWith<Store>("store", { id: "store", location: "memory", job });
}
