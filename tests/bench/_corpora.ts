/**
 * What the benches and the codec's tests compress: change records in CBOR, the same rows in JSON,
 * source text from installed packages, random bytes. Always the same bytes for the same sizes.
 * @module
 */
import { encode } from "cborg";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { SeededRandom } from "../doubles/seeded_random.ts";

/** What kinds of corpora there are. */
export const CORPUS_KINDS = ["cbor", "json", "text", "random"] as const;
export type CorpusKind = typeof CORPUS_KINDS[number];

const PACKAGES = fileURLToPath(new URL("../../node_modules", import.meta.url).href);
const TEXT_NAME = /\.(?:d\.ts|js|md)$/;
const TEXT_FILE_BYTES_MAX = 1024 * 1024;

interface Row {
  readonly operation: string;
  readonly key: string;
  readonly sequence: number;
  readonly timeMs: number;
  readonly customer: { readonly id: number; readonly region: string; readonly segment: string };
  readonly amount: number;
  readonly status: string;
  readonly note: string;
}

const OPERATIONS = ["insert", "update", "update", "delete"];
const REGIONS = ["eu-central-1", "eu-west-3", "us-east-1", "ap-south-2", "sa-east-1"];
const SEGMENTS = ["retail", "wholesale", "partner"];
const STATUSES = ["open", "paid", "shipped", "returned", "cancelled"];
const WORDS = "late early gift fragile repeat call before noon leave at door invoice second floor"
  .split(" ");

function hexadecimal(random: SeededRandom): string {
  return random.nextUint32().toString(16).padStart(8, "0");
}

function makeRow(random: SeededRandom, sequence: number): Row {
  const words = Array.from({ length: random.below(5) }, () => WORDS[random.below(WORDS.length)]);
  return {
    operation: OPERATIONS[random.below(OPERATIONS.length)],
    key: `order-${hexadecimal(random)}${hexadecimal(random)}`,
    sequence,
    timeMs: 1_790_000_000_000 + sequence * 17 + random.below(17),
    customer: {
      id: random.below(100_000),
      region: REGIONS[random.below(REGIONS.length)],
      segment: SEGMENTS[random.below(SEGMENTS.length)],
    },
    amount: random.below(1_000_000) / 100,
    status: STATUSES[random.below(STATUSES.length)],
    note: words.join(" "),
  };
}

/** Rows in one encoding, until `length` bytes are full. */
function makeRows(
  length: number,
  encodeRow: (row: Row, keyGroup: number) => Uint8Array,
): Uint8Array {
  const random = new SeededRandom(7);
  const corpus = new Uint8Array(length);
  for (let at = 0, sequence = 0; at < length; sequence++) {
    const row = encodeRow(makeRow(random, sequence), random.below(128));
    corpus.set(row.subarray(0, length - at), at);
    at += row.length;
  }
  return corpus;
}

/** Paths below the installed packages, in an order that mixes packages but is always the same. */
function listTexts(): string[] {
  const paths: string[] = [];
  for (const entry of readdirSync(PACKAGES, { recursive: true, encoding: "utf8" })) {
    if (TEXT_NAME.test(entry)) paths.push(entry.replaceAll("\\", "/"));
  }
  const order = (path: string): number => {
    let hash = 0x811c9dc5;
    for (let at = 0; at < path.length; at++) {
      hash = Math.imul(hash ^ path.charCodeAt(at), 0x01000193);
    }
    return hash >>> 0;
  };
  return paths.sort((a, b) => order(a) - order(b) || (a < b ? -1 : 1));
}

function makeText(length: number): Uint8Array {
  const corpus = new Uint8Array(length);
  let filled = 0;
  for (const path of listTexts()) {
    const file = `${PACKAGES}/${path}`;
    const stat = statSync(file);
    if (!stat.isFile() || stat.size > TEXT_FILE_BYTES_MAX) continue;
    const bytes = readFileSync(file);
    corpus.set(bytes.subarray(0, length - filled), filled);
    filled = Math.min(length, filled + bytes.length);
    if (filled === length) return corpus;
  }
  throw new Error(`Cannot make ${length} bytes of text: ${PACKAGES} has only ${filled}`);
}

function makeRandom(length: number): Uint8Array {
  const corpus = new Uint8Array(length);
  new SeededRandom(11).fill(corpus);
  return corpus;
}

/**
 * Makes `length` bytes of one kind.
 *
 * @throws {Error} When the installed packages hold less text than that (about 20 MB do).
 */
export function makeCorpus(kind: CorpusKind, length: number): Uint8Array {
  const encoder = new TextEncoder();
  switch (kind) {
    case "cbor":
      return makeRows(length, (row, keyGroup) => encode([keyGroup, encode(row)]));
    case "json":
      return makeRows(length, (row) => encoder.encode(JSON.stringify(row) + "\n"));
    case "text":
      return makeText(length);
    case "random":
      return makeRandom(length);
  }
}
