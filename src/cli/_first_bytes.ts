/** A look at how an input begins, before it is read. */

/** How much of the beginning is looked at. */
const FIRST_BYTES = 512;

/** An input that was looked at. */
export interface PeekedInput {
  /** The first bytes, fewer where the input has fewer. */
  readonly first: Uint8Array;
  /** The whole input. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Lets go of the input, also where nobody has begun to read it. */
  close(): Promise<unknown>;
}

/** Looks at the first bytes of an input. */
export async function firstBytesOf(input: AsyncIterable<Uint8Array>): Promise<PeekedInput> {
  const pieces = input[Symbol.asyncIterator]();
  let first = new Uint8Array();
  while (first.length < FIRST_BYTES) {
    const next = await pieces.next();
    if (next.done === true) break;
    const longer = new Uint8Array(first.length + next.value.length);
    longer.set(first);
    longer.set(next.value, first.length);
    first = longer;
  }
  const close = () => Promise.resolve(pieces.return?.());
  return { first, bytes: withFirst(first, pieces), close };
}

async function* withFirst(
  first: Uint8Array,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  if (first.length > 0) yield first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) {
    yield next.value;
  }
}
