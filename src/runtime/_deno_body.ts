/** Bodies on Deno. */
import {
  type BodyMemory,
  type BodyProgress,
  type DirectBody,
  READ_BODY,
} from "../engine/port/request_body.ts";

/**
 * From here on, to read into memory that is there is cheaper than to have Deno take new memory for every body: the C
 * library maps so much anew each time.
 */
const INTO_MEMORY_BYTES_MIN = 128 * 1024;

/** Lets a large body be read into memory of its size. */
export function readDirectly(request: Request): Request {
  (request as DirectBody)[READ_BODY] = (length, memory, progress) => {
    const reader = length < INTO_MEMORY_BYTES_MIN ? undefined : intoReader(request.body);
    return reader === undefined
      ? request.bytes().then(memory.adopt)
      : readInto(memory, reader, length, progress);
  };
  return request;
}

/** Reads into memory that it is given; undefined for a body that Deno has already, whole, as it can come with its head. */
function intoReader(
  body: ReadableStream<Uint8Array> | null,
): ReadableStreamBYOBReader | undefined {
  try {
    return body?.getReader({ mode: "byob" });
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

async function readInto(
  memory: BodyMemory,
  reader: ReadableStreamBYOBReader,
  length: number,
  progress: BodyProgress,
): Promise<Uint8Array> {
  const { byteOffset, buffer: first } = memory.take(length);
  let buffer: ArrayBufferLike = first;
  let at = 0;
  while (at < length) {
    const { done, value } = await reader.read(
      new Uint8Array(buffer as ArrayBuffer, byteOffset + at, length - at),
    );
    // Each read hands the memory over to a buffer of its own.
    if (value !== undefined) {
      memory.moved(buffer, value.buffer);
      buffer = value.buffer;
      at += value.length;
      progress.came(value.length);
    }
    if (done) return new Uint8Array(buffer, byteOffset, at);
    progress.waits();
  }
  await expectEnd(reader, length);
  return new Uint8Array(buffer, byteOffset, length);
}

/** Until its end is read, a body counts as left in the middle. */
async function expectEnd(reader: ReadableStreamBYOBReader, length: number): Promise<void> {
  const { done } = await reader.read(new Uint8Array(1));
  if (!done) throw new Error(`more came than the ${length} bytes that were stated`);
}
