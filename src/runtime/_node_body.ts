/** Bodies on Node: what comes from the socket is copied once at most, into memory of the right size. */
import type { IncomingMessage } from "node:http";
import {
  type BodyMemory,
  type BodyProgress,
  type DirectBody,
  READ_BODY,
} from "../engine/port/request_body.ts";

/** Lets a request's body be read without a web stream, which costs more than all else of a small request. */
export function readDirectly(request: Request, incoming: IncomingMessage): Request {
  (request as DirectBody)[READ_BODY] = (length, memory, progress) =>
    // Its server knows how to get at what came before the client went away.
    incoming.destroyed ? request.bytes() : read(incoming, length, memory, progress);
  return request;
}

function read(
  incoming: IncomingMessage,
  length: number,
  memory: BodyMemory,
  progress: BodyProgress,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    let bytes: Uint8Array | undefined;
    let at = 0;
    const onData = (part: Uint8Array): void => {
      if (at === 0 && part.length === length && isOwn(part)) {
        bytes = new Uint8Array(part.buffer, part.byteOffset, length);
      } else {
        bytes ??= memory.take(length);
        bytes.set(part, at);
      }
      at += part.length;
      progress.came(part.length);
      progress.waits();
    };
    const onEnd = (): void => {
      over();
      resolve((bytes ?? new Uint8Array(0)).subarray(0, at));
    };
    const onError = (error: Error): void => {
      over();
      reject(error);
    };
    const onClose = (): void => onError(new Error("the client went away"));
    // V8 makes many requests in its old generation at once, where one that is over lives until all of that is
    // collected, with all that it holds on to: for a small append, 3 KiB that had to be moved there, not 0.6.
    const over = (): void => {
      incoming.off("data", onData).off("end", onEnd).off("error", onError).off("close", onClose);
    };
    incoming.on("data", onData).on("end", onEnd).on("error", onError).on("close", onClose);
  });
}

/** Whether there is little besides it in its memory: a small body comes in one with its head. */
function isOwn(part: Uint8Array): boolean {
  return part.buffer.byteLength <= 2 * part.length + 1024;
}
