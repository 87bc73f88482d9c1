/**
 * A restore as an HTTP answer: piece by piece as the reader takes them, and a trailer at the end.
 */
import type { TidemarkError } from "../engine/errors.ts";
import { toNdjson } from "../engine/format/change_output.ts";
import type { Job, RestoredSlice, RestoreOptions, RestoreTrailer } from "../engine/types.ts";
import type { AnswerStreams } from "./_answer_streams.ts";
import { cutChanges } from "./change_pieces.ts";
import { encodeCbor } from "./cbor.ts";
import { toJson } from "./json.ts";
import { CBOR, CBOR_SEQUENCE, JSON_TYPE, NDJSON } from "./media_types.ts";
import { asTidemarkError, type Problem } from "./problem.ts";

const PIECE_BYTES_MAX = 1024 * 1024;

/** How changes leave. */
interface Output {
  /** What stands before the first of them. */
  readonly begin?: Uint8Array;
  /** @param isFirst Whether nothing but `begin` stands before them */
  changes(bytes: Uint8Array, isFirst: boolean): Uint8Array;
  /** What stands after the last of them: the trailer, or the error that cut them short. */
  end(content: Readonly<Record<string, unknown>>): Uint8Array;
}

const encoder = new TextEncoder();
const [NEWLINE, COMMA] = [0x0a, 0x2c];

/** A map of two pairs; `changes` and an array that ends by a break. */
const CBOR_BEGIN = Uint8Array.of(0xa2, 0x67, ...encoder.encode("changes"), 0x9f);
const CBOR_BREAK = 0xff;

const OUTPUTS: Readonly<Record<string, Output>> = {
  [NDJSON]: {
    changes: toNdjson,
    end: (content) => encoder.encode(`${toJson(content)}\n`),
  },
  [CBOR_SEQUENCE]: {
    changes: (bytes) => bytes.slice(),
    end: encodeCbor,
  },
  [JSON_TYPE]: {
    begin: encoder.encode('{"changes":['),
    changes: toJsonItems,
    end: (content) => encoder.encode(`],${toJson(content).slice(1)}\n`),
  },
  [CBOR]: {
    begin: CBOR_BEGIN,
    changes: (bytes) => bytes.slice(),
    // Without the head of a map of one pair: it is the second of the outer one.
    end: (content) => after(CBOR_BREAK, encodeCbor(content).subarray(1)),
  },
};

/** Lines, with commas for newlines; text of JSON has no newline in it. */
function toJsonItems(bytes: Uint8Array, isFirst: boolean): Uint8Array {
  const lines = toNdjson(bytes);
  for (let at = lines.indexOf(NEWLINE); at >= 0; at = lines.indexOf(NEWLINE, at + 1)) {
    lines[at] = COMMA;
  }
  const items = lines.subarray(0, -1);
  return isFirst ? items : after(COMMA, items);
}

function after(byte: number, bytes: Uint8Array): Uint8Array {
  const all = new Uint8Array(1 + bytes.length);
  all[0] = byte;
  all.set(bytes, 1);
  return all;
}

/** How a restore is answered. */
export interface RestoreAnswer {
  /** One that the route declares. */
  readonly mediaType: string;
  readonly streams: AnswerStreams;
  /** What an error on the way says. */
  readonly tell: (error: TidemarkError) => Problem;
}

/**
 * Answers with the changes of one writer. The first slice is read before the status is sent, so
 * that what is not there is a 404 and not a cut stream.
 */
export async function restoreResponse(
  job: Job,
  options: RestoreOptions,
  { mediaType, streams, tell }: RestoreAnswer,
): Promise<Response> {
  const output = OUTPUTS[mediaType];
  const body = await streams.open(async () => {
    const stream = job.restore(options);
    stream.trailer.catch(() => {
      // The iteration tells of a failed restore; this is the same error again.
    });
    const slices = stream.slices()[Symbol.asyncIterator]();
    const first = await slices.next();
    const pieces = encode(slices, first, stream.trailer, { output, tell });
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
  { output, tell }: { readonly output: Output; readonly tell: RestoreAnswer["tell"] },
): AsyncGenerator<Uint8Array, void> {
  let isFirst = true;
  if (output.begin !== undefined) yield output.begin.slice();
  try {
    for (let slice = first; !slice.done; slice = await slices.next()) {
      for (const piece of cutChanges(slice.value.bytes, PIECE_BYTES_MAX)) {
        yield output.changes(piece, isFirst);
        isFirst = false;
      }
    }
    yield output.end({ end: await trailer });
  } catch (error) {
    yield output.end({ error: tell(asTidemarkError(error)) });
    throw error;
  }
}
