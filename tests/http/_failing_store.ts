/**
 * A store and a job of which a test writes only the parts it needs; any other part fails by name.
 * @module
 */
import type { Job, Store, StoreStatus } from "../../src/engine/types.ts";

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

/** A store with one job, that is where it was, and is as it says. */
export function storeWith(job: Store["job"], status?: StoreStatus): Store {
  const watched: Partial<Store> = status === undefined
    ? {}
    : { check: () => Promise.resolve(), status: () => Promise.resolve(status) };
  return onlyWith<Store>("store", { id: "store", location: "memory", job, ...watched });
}
