/** Waits that a signal ends. Owns nothing. @module */

/** Begins something unless a signal is aborted, and waits for it as {@link orAborted} does. */
export async function unlessAborted<Result>(
  action: () => Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  signal?.throwIfAborted();
  return await orAborted(action(), signal);
}

/** Waits for a promise, or until a signal ends the wait; what is waited for goes on. */
export function orAborted<Result>(
  promise: Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    const settled = (): void => signal.removeEventListener("abort", abort);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(
      (result) => (settled(), resolve(result)),
      (error) => (settled(), reject(error)),
    );
  });
}
