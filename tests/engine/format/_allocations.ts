/** Watches how large the byte arrays are that code makes. */

/** Runs `action`; a byte array of `limit` bytes or more, made meanwhile, throws a bare error. */
export async function withAllocationsBelow<T>(limit: number, action: () => Promise<T>): Promise<T> {
  const original = globalThis.Uint8Array;
  globalThis.Uint8Array = new Proxy(original, {
    construct(target, args: [unknown, ...unknown[]], newTarget) {
      if (typeof args[0] === "number" && args[0] >= limit) {
        throw new Error(`An allocation of ${args[0]} bytes, above the ${limit} of this test`);
      }
      return Reflect.construct(target, args, newTarget);
    },
  });
  try {
    return await action();
  } finally {
    globalThis.Uint8Array = original;
  }
}
