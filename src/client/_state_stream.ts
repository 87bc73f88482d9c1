/** Contents of states, and archives, as bodies of requests and of answers. */
import { Xxh64 } from "../../wasm/mod.ts";
import { formatHash } from "../engine/format/hash_text.ts";
import { readParts, type StreamPlace } from "./_parts.ts";
import { unreachable } from "./_problem.ts";

/** An archive ends in as many zeros. */
const TAR_END_BYTES = 1024;

/** What comes piece by piece, as a request's body. */
function streamOf(pieces: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const piece = await iterator.next();
      if (piece.done) controller.close();
      else controller.enqueue(piece.value);
    },
    async cancel() {
      await iterator.return?.();
    },
  }, { highWaterMark: 0 });
}

/** Sends what comes piece by piece. @throws what the pieces threw, in place of what became of the request */
export async function sendPieces<Answer>(
  pieces: AsyncIterable<Uint8Array>,
  send: (body: ReadableStream<Uint8Array>) => Promise<Answer>,
): Promise<Answer> {
  let broken: { readonly reason: unknown } | undefined;
  async function* watched(): AsyncGenerator<Uint8Array> {
    try {
      yield* pieces;
    } catch (reason) {
      broken = { reason };
      throw reason;
    }
  }
  try {
    return await send(streamOf(watched()));
  } catch (error) {
    throw broken === undefined ? error : broken.reason;
  }
}

/** Reads a state; ends only when all of it came, as its head said. */
export async function* readStateStream(
  answer: Response,
  place: StreamPlace & { readonly url: string },
): AsyncGenerator<Uint8Array> {
  const wanted = answer.headers.get("etag");
  const hash = new Xxh64();
  if (answer.body !== null) {
    const cut = (cause: unknown) =>
      unreachable(place.url, `${place.what} was cut off`, "not-applied", cause);
    for await (const part of readParts(answer.body, place.signals, cut)) {
      hash.update(part);
      yield part;
    }
  }
  if (wanted === `"${formatHash(hash.digest())}"`) return;
  throw unreachable(place.url, `${place.what} did not come whole`, "not-applied");
}

/** Reads an archive; ends only when its end came. */
export async function* readArchiveStream(
  answer: Response,
  place: StreamPlace & { readonly url: string },
): AsyncGenerator<Uint8Array> {
  let zeros = 0;
  if (answer.body !== null) {
    const cut = (cause: unknown) =>
      unreachable(place.url, `${place.what} was cut off`, "not-applied", cause);
    for await (const part of readParts(answer.body, place.signals, cut)) {
      const last = part.findLastIndex((byte) => byte !== 0);
      zeros = last < 0 ? zeros + part.length : part.length - last - 1;
      yield part;
    }
  }
  if (zeros >= TAR_END_BYTES) return;
  throw unreachable(place.url, `${place.what} did not come whole`, "not-applied");
}
