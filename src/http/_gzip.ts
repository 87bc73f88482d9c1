/** Request bodies that come compressed. */
import { mediaTypeOf } from "./_negotiation.ts";
import { RequestError } from "./problem.ts";

/**
 * Bytes that are decompressed at a time: some runtimes give all that comes of them in one piece, at most 1,032 times as
 * much.
 */
const INPUT_BYTES = 4096;

/** A request as it was before it was compressed. */
export interface PlainRequest {
  readonly request: Request;
  /** Lets go of what decompresses; what was not read is dropped. */
  end(): void;
}

/**
 * The request with its body decompressed, piece by piece as it is read.
 *
 * @throws {RequestError} 415 for another encoding than gzip
 */
export function decompressed(request: Request): PlainRequest {
  const encoding = mediaTypeOf(request.headers.get("content-encoding"));
  if (encoding === "" || encoding === "identity" || request.body === null) {
    return { request, end() {} };
  }
  if (encoding !== "gzip" && encoding !== "x-gzip") throw unsupportedEncoding(encoding);
  const body = inflate(request.body);
  const headers = new Headers(request.headers);
  headers.delete("content-encoding");
  // It counts compressed bytes.
  headers.delete("content-length");
  const { method, url, signal } = request;
  const init = { method, headers, body: streamOf(body), signal, duplex: "half" };
  return {
    request: new Request(url, init as RequestInit),
    end: () => void body.return(undefined).catch(ignore),
  };
}

async function* inflate(source: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const stream = new DecompressionStream("gzip");
  const reader = stream.readable.getReader();
  const writer = stream.writable.getWriter();
  const feeding = feed(source, writer);
  // Told of by the read that it makes fail.
  feeding.catch(ignore);
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
    await feeding;
  } finally {
    await Promise.all([reader.cancel().catch(ignore), writer.abort().catch(ignore)]);
  }
}

async function feed(
  source: ReadableStream<Uint8Array>,
  writer: WritableStreamDefaultWriter<BufferSource>,
): Promise<void> {
  const reader = source.getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      for (let at = 0; at < part.value.length; at += INPUT_BYTES) {
        await writer.ready;
        await writer.write(part.value.slice(at, at + INPUT_BYTES));
      }
    }
    await writer.close();
  } catch (error) {
    await writer.abort(error).catch(ignore);
    throw error;
  } finally {
    reader.releaseLock();
  }
}

function streamOf(pieces: AsyncGenerator<Uint8Array, void>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const piece = await pieces.next();
      if (piece.done) controller.close();
      else controller.enqueue(piece.value);
    },
    async cancel() {
      await pieces.return(undefined);
    },
  }, { highWaterMark: 0 });
}

/** What has ended already need not end again. */
function ignore(): void {}

function unsupportedEncoding(encoding: string): RequestError {
  return new RequestError(
    415,
    `Cannot read a body of content-encoding ${encoding}: send it as gzip, or as it is`,
    { found: encoding, wanted: ["gzip", "identity"] },
    { "accept-encoding": "gzip, identity" },
  );
}
