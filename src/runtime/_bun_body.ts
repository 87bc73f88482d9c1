/** Bodies on Bun. */
import {
  type BodyMemory,
  type BodyProgress,
  type DirectBody,
  READ_BODY,
  WHOLE_BYTES_MAX,
} from "../engine/port/request_body.ts";

/** Lets a body be read into memory of which nobody else knows. */
export function readDirectly(request: Request): Request {
  (request as DirectBody)[READ_BODY] = (length, memory, progress) =>
    length <= WHOLE_BYTES_MAX || request.body === null
      ? request.bytes().then(memory.adopt)
      : readPieces(memory, request.body, length, progress);
  return request;
}

async function readPieces(
  memory: BodyMemory,
  body: ReadableStream<Uint8Array>,
  length: number,
  progress: BodyProgress,
): Promise<Uint8Array> {
  const reader = body.getReader();
  const bytes = memory.take(length);
  let at = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    bytes.set(part.value, at);
    at += part.value.length;
    progress.came(part.value.length);
    progress.waits();
  }
  return bytes.subarray(0, at);
}
