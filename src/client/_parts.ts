/** Bodies of answers, part by part, until they end, break, or nobody wants them any more. */

/** What is read, and what ends it. */
export interface StreamPlace {
  /** Names it in messages. */
  readonly what: string;
  readonly signals: readonly (AbortSignal | undefined)[];
}

/** Reads a body. @throws what `broken` makes of a connection that breaks; the reason of a signal */
export async function* readParts(
  body: ReadableStream<Uint8Array>,
  signals: readonly (AbortSignal | undefined)[],
  broken: (cause: unknown) => Error,
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  const given = signals.filter((signal) => signal !== undefined);
  // A read that waits ends with it.
  const leave = (): void => void cancel(reader);
  for (const signal of given) signal.addEventListener("abort", leave, { once: true });
  try {
    for (;;) {
      for (const signal of given) signal.throwIfAborted();
      const part = await reader.read().catch((cause) => {
        for (const signal of given) signal.throwIfAborted();
        throw broken(cause);
      });
      for (const signal of given) signal.throwIfAborted();
      if (part.done) return;
      yield part.value;
    }
  } finally {
    for (const signal of given) signal.removeEventListener("abort", leave);
    await cancel(reader);
  }
}

async function cancel(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  await reader.cancel().catch(() => {
    // A body that broke can't be cancelled; whoever read it knows by then.
  });
}
