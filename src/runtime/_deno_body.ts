/** Bodies on Deno. */
import { type BodyProgress, type DirectBody, READ_BODY } from "../engine/port/request_body.ts";

/** From here on, reading piece by piece into memory of the right size is cheaper than having Deno gather the pieces. */
const PIECEWISE_BYTES_MIN = 256 * 1024;

/** Lets a large body be read in pieces. */
export function readDirectly(request: Request): Request {
  (request as DirectBody)[READ_BODY] = (length, take, progress) =>
    length < PIECEWISE_BYTES_MIN || request.body === null
      ? request.bytes()
      : readPieces(request.body, take(length), progress);
  return request;
}

async function readPieces(
  body: ReadableStream<Uint8Array>,
  bytes: Uint8Array,
  progress: BodyProgress,
): Promise<Uint8Array> {
  const reader = body.getReader();
  let at = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    bytes.set(part.value, at);
    at += part.value.length;
    progress.came(part.value.length);
    progress.waits();
  }
  return bytes.subarray(0, at);
}
