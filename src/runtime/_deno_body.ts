/** Bodies on Deno. */
import {
  type BodyMemory,
  type BodyProgress,
  type DirectBody,
  READ_BODY,
} from "../engine/port/request_body.ts";

/** From here on, to read into memory that is there is cheaper than to have Deno take new memory for every body. */
const INTO_MEMORY_BYTES_MIN = 32 * 1024;

/** Lets a large body be read into memory of its size. */
export function readDirectly(request: Request): Request {
  (request as DirectBody)[READ_BODY] = (length, memory, progress) =>
    length < INTO_MEMORY_BYTES_MIN || request.body === null
      ? request.bytes()
      : readInto(memory, request.body, length, progress);
  return request;
}

async function readInto(
  memory: BodyMemory,
  body: ReadableStream<Uint8Array>,
  length: number,
  progress: BodyProgress,
): Promise<Uint8Array> {
  const reader = body.getReader({ mode: "byob" });
  const { byteOffset, buffer: first } = memory.take(length);
  let buffer: ArrayBufferLike = first;
  let at = 0;
  for (;;) {
    // Until its end is read, the body counts as left in the middle.
    const isWhole = at === length;
    const room = isWhole
      ? new Uint8Array(1)
      : new Uint8Array(buffer as ArrayBuffer, byteOffset + at, length - at);
    const { done, value } = await reader.read(room);
    if (!isWhole && value !== undefined) {
      // Each read hands the memory over to a buffer of its own.
      memory.moved(buffer, value.buffer);
      buffer = value.buffer;
      at += value.length;
    }
    if (done) return new Uint8Array(buffer, byteOffset, at);
    progress.came(value.length);
    progress.waits();
  }
}
