/** A look at how an input begins, before it is read. */

/** How much of the beginning is looked at. */
const FIRST_BYTES = 512;

/** The first bytes, fewer where the input has fewer, and the whole input with them. */
export async function firstBytesOf(
  input: AsyncIterable<Uint8Array>,
): Promise<{ first: Uint8Array; bytes: AsyncIterable<Uint8Array> }> {
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
  return { first, bytes: withFirst(first, pieces) };
}

async function* withFirst(
  first: Uint8Array,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    if (first.length > 0) yield first;
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) {
      yield next.value;
    }
  } finally {
    await rest.return?.();
  }
}
