/**
 * A restore as an HTTP answer: piece by piece as the reader takes them, and a trailer at the end.
 */
import { toNdjson } from "../engine/format/change_output.ts";
import type { Job, RestoredSlice, RestoreOptions, RestoreTrailer } from "../engine/types.ts";
import type { AnswerStreams } from "./_answer_streams.ts";
import { cutChanges } from "./change_pieces.ts";
import { encodeCbor } from "./cbor.ts";
import { toJson } from "./json.ts";
import { CBOR_SEQUENCE, NDJSON } from "./media_types.ts";
import { asTidemarkError, problemOf } from "./problem.ts";

const PIECE_BYTES_MAX = 1024 * 1024;

/** How changes leave. */
interface Output {
  changes(bytes: Uint8Array): Uint8Array;
  end(content: Readonly<Record<string, unknown>>): Uint8Array;
}

const OUTPUTS: Readonly<Record<string, Output>> = {
  [NDJSON]: {
    changes: toNdjson,
    end: (content) => new TextEncoder().encode(`${toJson(content)}\n`),
  },
  [CBOR_SEQUENCE]: {
    changes: (bytes) => bytes.slice(),
    end: encodeCbor,
  },
};

/**
 * Answers with the changes of one writer. The first slice is read before the status is sent, so
 * that what is not there is a 404 and not a cut stream.
 *
 * @param answer `mediaType`: one that the route declares.
 */
export async function restoreResponse(
  job: Job,
  writer: string,
  options: Pick<RestoreOptions, "at" | "from" | "keyGroups" | "fallback">,
  { mediaType, streams }: { readonly mediaType: string; readonly streams: AnswerStreams },
): Promise<Response> {
  const output = OUTPUTS[mediaType];
  const body = await streams.open(async () => {
    const stream = job.restore({ ...options, writers: [writer] });
    stream.trailer.catch(() => {
      // The iteration tells of a failed restore; this is the same error again.
    });
    const slices = stream.slices()[Symbol.asyncIterator]();
    const first = await slices.next();
    const pieces = encode(slices, first, stream.trailer, output);
    return { next: () => pieces.next(), leave: () => slices.return?.() };
  });
  return new Response(body, {
    headers: { "content-type": mediaType, "cache-control": "no-store" },
  });
}

async function* encode(
  slices: AsyncIterator<RestoredSlice>,
  first: IteratorResult<RestoredSlice>,
  trailer: Promise<RestoreTrailer>,
  output: Output,
): AsyncGenerator<Uint8Array, void> {
  try {
    for (let slice = first; !slice.done; slice = await slices.next()) {
      for (const piece of cutChanges(slice.value.bytes, PIECE_BYTES_MAX)) {
        yield output.changes(piece);
      }
    }
    yield output.end({ end: await trailer });
  } catch (error) {
    yield output.end({ error: problemOf(asTidemarkError(error)) });
    throw error;
  }
}
