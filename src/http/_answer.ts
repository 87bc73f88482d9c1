/** What a route answers, before it is written as the client wants it. */
import { encodeCbor } from "./cbor.ts";
import { jsonResponse } from "./json.ts";
import { CBOR } from "./media_types.ts";

/** An answer that JSON can hold. */
export interface Answer {
  readonly value: unknown;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>> | undefined;
}

/** Answers with a value. */
export function answer(
  value: unknown,
  status = 200,
  headers?: Readonly<Record<string, string>>,
): Answer {
  return { value, status, headers };
}

/** How to write an answer. */
export interface AnswerForm {
  readonly mediaType: string;
  /** Whether caches keep such answers unless they are told not to: those to GET (RFC 9110, section 9.2.3). */
  readonly isCacheable: boolean;
}

/** Writes an answer in the media type that was chosen. */
export function writeAnswer(
  { value, status, headers: own }: Answer,
  { mediaType, isCacheable }: AnswerForm,
): Response {
  const headers = isCacheable ? { "cache-control": "no-store", ...own } : own;
  if (mediaType !== CBOR) return jsonResponse(value, status, headers);
  return new Response(encodeCbor(value) as Uint8Array<ArrayBuffer>, {
    status,
    headers: { "content-type": CBOR, ...headers },
  });
}
