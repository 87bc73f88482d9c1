/**
 * Small facts (owner keys, catalog, adopted, manifests) as two lines of JSON, so that `jq` reads them: the first
 * says kind, version, length and XXH64, the second is the body.
 *
 * Owns: envelope and checksum.
 * Does not own: what a body says; whoever reads it checks its key, store, job and number.
 * @module
 */
import { xxh64 } from "../../../wasm/mod.ts";
import { TidemarkError } from "../errors.ts";
import { FACT_BYTES_MAX, FORMAT_VERSION } from "../limits.ts";
import { formatHash } from "./hash_text.ts";

const ENVELOPE_BYTES_MAX = 256;
const ENVELOPE =
  /^(\{"kind":"([a-z][a-z0-9-]*)","version":([1-9][0-9]{0,8}),"length":([1-9][0-9]{0,15}),"xxh64":")([0-9a-f]{16})"\}\n/;

const encoder = new TextEncoder();
const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const envelopeDecoder = new TextDecoder("latin1");

/**
 * Encodes a fact.
 *
 * @param kind What it is: lower-case words joined by hyphens.
 * @param body JSON; no `bigint` in it.
 * @throws {TypeError} The body is not JSON, or the kind is not a name.
 * @throws {RangeError} The fact would have more than 64 MiB.
 */
export function encodeFact(kind: string, body: unknown): Uint8Array {
  const json: string | undefined = JSON.stringify(body);
  if (json === undefined) throw new TypeError(`Cannot encode the ${kind}: its body is not JSON`);
  const content = encoder.encode(`${json}\n`);
  const front =
    `{"kind":"${kind}","version":${FORMAT_VERSION},"length":${content.length},"xxh64":"`;
  const hash = formatHash(xxh64(encoder.encode(front), content));
  const envelope = `${front}${hash}"}\n`;
  if (!ENVELOPE.test(envelope)) throw new TypeError(`Cannot encode a fact of kind "${kind}"`);
  const bytes = new Uint8Array(envelope.length + content.length);
  if (bytes.length > FACT_BYTES_MAX) {
    throw new RangeError(
      `Cannot encode the ${kind}: it has ${bytes.length} bytes, at most ${FACT_BYTES_MAX} are allowed`,
    );
  }
  encoder.encodeInto(envelope, bytes);
  bytes.set(content, envelope.length);
  return bytes;
}

/**
 * Decodes a fact.
 *
 * @param kind What it should be.
 * @param key Key of the object, for messages.
 * @throws {TidemarkError} `corrupt`; `unsupported-format` when a newer version wrote it.
 */
export function decodeFact(kind: string, key: string, bytes: Uint8Array): unknown {
  if (bytes.length > FACT_BYTES_MAX) {
    throw corrupt(
      { kind, key, at: 0 },
      `it has ${bytes.length} bytes, at most ${FACT_BYTES_MAX} are allowed`,
    );
  }
  const match = ENVELOPE.exec(envelopeDecoder.decode(bytes.subarray(0, ENVELOPE_BYTES_MAX)));
  if (match === null) {
    throw corrupt(
      { kind, key, at: 0 },
      "its first line does not say kind, version, length and XXH64",
    );
  }
  const [line, front, foundKind, version, length, wantedHash] = match;
  const content = bytes.subarray(line.length);
  const place = { kind, key, at: line.length };
  if (content.length !== Number(length)) {
    throw corrupt(place, `its body has ${content.length} bytes, its first line says ${length}`);
  }
  const foundHash = formatHash(xxh64(bytes.subarray(0, front.length), content));
  if (foundHash !== wantedHash) {
    throw corrupt(place, `its XXH64 is ${foundHash}, its first line says ${wantedHash}`);
  }
  if (Number(version) > FORMAT_VERSION) throw tooNew(kind, key, Number(version));
  if (foundKind !== kind) throw corrupt({ ...place, at: 0 }, `it is of kind ${foundKind}`);
  return parseBody(content, place);
}

interface FactPlace {
  readonly kind: string;
  readonly key: string;
  /** Byte where the trouble begins. */
  readonly at: number;
}

function parseBody(content: Uint8Array, place: FactPlace): unknown {
  try {
    return JSON.parse(strictDecoder.decode(content));
  } catch (cause) {
    throw corrupt(place, "its body is not JSON", cause);
  }
}

function corrupt(place: FactPlace, reason: string, cause?: unknown): TidemarkError {
  const { kind, key, at } = place;
  return new TidemarkError(
    "corrupt",
    `Cannot read the ${kind} ${JSON.stringify(key)} from byte ${at} on: ${reason}`,
    { details: { key, from: at, reason }, cause },
  );
}

function tooNew(kind: string, key: string, version: number): TidemarkError {
  return new TidemarkError(
    "unsupported-format",
    `Cannot read the ${kind} ${JSON.stringify(key)}: its format version is ${version}, ` +
      `this program knows up to ${FORMAT_VERSION}; use a newer program`,
    { details: { key, found: version, wanted: FORMAT_VERSION } },
  );
}
