/**
 * Speed of encoding and scanning change sets, on the runtime that it runs on: encoding beside `cbor-x` in each of
 * its modes, scanning beside decoding every change into an object.
 *
 * Change sets rotate, so that no branch predictor learns one by heart. The bars hold for changes that are in the
 * cache, as those that were just made, read or decompressed are; rows marked `cold` show what is left when every
 * change comes from memory. What is encoded goes into one buffer that is used again, as a writer's chunks are; so
 * does what `cbor-x` encodes.
 * @module
 */
import { Encoder } from "cbor-x/encode";
import { encodeChange, encodedChangeBytes } from "../../src/engine/format/change.ts";
import { encodeChanges } from "../../src/engine/format/change_input.ts";
import { scanChanges } from "../../src/engine/format/change_scan.ts";
import type { Change } from "../../src/engine/types.ts";
import { SeededRandom } from "../doubles/seeded_random.ts";
import {
  barAtLeast,
  type BenchOptions,
  type BenchResult,
  type BenchRow,
  type Candidate,
  interleavedRounds,
  median,
  speedRatio,
} from "./_bench.ts";

const DATA_BYTES = 200;
const KEY_GROUPS = 128;
const ENCODE_WANTED = 8;
const SCAN_WANTED = 5;

interface Sizes {
  readonly sets: number;
  readonly changesPerSet: number;
  /** Changes that each candidate works through in one round. */
  readonly changesPerRound: number;
  readonly rounds: number;
}

const HOT: Sizes = { sets: 4, changesPerSet: 500, changesPerRound: 16_000, rounds: 101 };
const COLD: Sizes = { sets: 128, changesPerSet: 500, changesPerRound: 16_000, rounds: 31 };
const SMOKE: Sizes = { sets: 4, changesPerSet: 20, changesPerRound: 40, rounds: 3 };

/** One change set in the shapes that the candidates want. */
interface BenchSet {
  readonly changes: readonly Change[];
  readonly arrays: readonly (readonly [number, Uint8Array])[];
  readonly encoded: Uint8Array;
}

function makeSets(sizes: Sizes): BenchSet[] {
  const random = new SeededRandom(7);
  return Array.from({ length: sizes.sets }, () => {
    const changes = Array.from({ length: sizes.changesPerSet }, (): Change => {
      const data = new Uint8Array(DATA_BYTES);
      random.fill(data);
      return { keyGroup: random.below(KEY_GROUPS), data };
    });
    const arrays = changes.map(({ keyGroup, data }) => [keyGroup, data] as const);
    return { changes, arrays, encoded: encodeChanges(changes).bytes };
  });
}

function overSets(
  sets: readonly BenchSet[],
  sizes: Sizes,
  work: (set: BenchSet) => void,
): Candidate {
  const setsPerRound = sizes.changesPerRound / sizes.changesPerSet;
  return (round) => {
    for (let i = 0; i < setsPerRound; i++) work(sets[(round * setsPerRound + i) % sets.length]);
  };
}

const ENCODERS = ["own encode", "cbor-x arrays", "cbor-x records", "cbor-x maps"] as const;

function encodeCandidates(
  sets: readonly BenchSet[],
  sizes: Sizes,
): Record<(typeof ENCODERS)[number], Candidate> {
  const target = new Uint8Array(sets[0].encoded.length * 2);
  const plain = new Encoder({ useRecords: false, tagUint8Array: false, mapsAsObjects: true });
  const records = new Encoder({ structures: [], tagUint8Array: false });
  return {
    "own encode": overSets(sets, sizes, ({ changes, encoded }) => {
      if (encodeAll(changes, target) !== encoded.length) throw new Error("Cannot encode: cut off");
    }),
    "cbor-x arrays": overSets(sets, sizes, ({ arrays }) => void plain.encode(arrays)),
    "cbor-x records": overSets(sets, sizes, ({ changes }) => void records.encode(changes)),
    "cbor-x maps": overSets(sets, sizes, ({ changes }) => void plain.encode(changes)),
  };
}

/** Encodes the way a writer does: a look whether there is room, then the change. */
function encodeAll(changes: readonly Change[], target: Uint8Array): number {
  let at = 0;
  for (const { keyGroup, data } of changes) {
    if (at + encodedChangeBytes(keyGroup, data.length) > target.length) return -1;
    at = encodeChange(target, at, keyGroup, data);
  }
  return at;
}

const SCANNERS = ["own lazy scan", "own eager decode"] as const;

function scanCandidates(
  sets: readonly BenchSet[],
  sizes: Sizes,
): Record<(typeof SCANNERS)[number], Candidate> {
  const check = (count: number): void => {
    if (count !== sizes.changesPerSet) throw new Error(`Cannot decode: found ${count} changes`);
  };
  return {
    "own lazy scan": overSets(sets, sizes, ({ encoded }) => check(scanChanges(encoded).count)),
    "own eager decode": overSets(
      sets,
      sizes,
      ({ encoded }) => check(decodeEagerly(encoded).length),
    ),
  };
}

/** Every change as an object, in one pass, checked as the scan checks. */
function decodeEagerly(bytes: Uint8Array): Change[] {
  const changes: Change[] = [];
  for (let at = 0; at < bytes.length;) {
    if (bytes[at] !== 0x82) throw new Error(`Cannot decode the change at byte ${at}`);
    const isMeta = bytes[at + 1] === 0x20;
    const keyGroup = isMeta ? -1 : readHead(bytes, at + 1, 0);
    const lengthAt = at + (isMeta ? 2 : 1 + headBytes(keyGroup));
    const length = readHead(bytes, lengthAt, 0x40);
    const start = lengthAt + headBytes(length);
    at = start + length;
    if (at > bytes.length) throw new Error(`Cannot decode the change that ends at byte ${at}`);
    changes.push({ keyGroup, data: bytes.subarray(start, at) });
  }
  return changes;
}

function headBytes(value: number): number {
  if (value < 24) return 1;
  if (value < 0x100) return 2;
  return value < 0x10000 ? 3 : 5;
}

function readHead(bytes: Uint8Array, at: number, major: number): number {
  const short = bytes[at] - major;
  let value = -1;
  if (short >= 0 && short < 24) return short;
  if (short === 24) value = bytes[at + 1];
  if (short === 25) value = (bytes[at + 1] << 8) | bytes[at + 2];
  if (short === 26) {
    value = (bytes[at + 1] << 24) | (bytes[at + 2] << 16) | (bytes[at + 3] << 8) | bytes[at + 4];
  }
  if (short > 26 || headBytes(value) !== 1 + (1 << (short - 24))) {
    throw new Error(`Cannot decode the head at byte ${at}`);
  }
  return value;
}

/** What one size of change sets gave: milliseconds of each round, per candidate. */
interface Times {
  readonly encode: Record<(typeof ENCODERS)[number], number[]>;
  readonly scan: Record<(typeof SCANNERS)[number], number[]>;
}

function measure(sizes: Sizes): Times {
  const sets = makeSets(sizes);
  const encoders = encodeCandidates(sets, sizes);
  const scanners = scanCandidates(sets, sizes);
  interleavedRounds(encoders, sizes.rounds);
  const encode = interleavedRounds(encoders, sizes.rounds);
  interleavedRounds(scanners, sizes.rounds);
  return { encode, scan: interleavedRounds(scanners, sizes.rounds) };
}

function rowsOf<Name extends string>(
  names: readonly Name[],
  times: Record<Name, number[]>,
  options: { sizes: Sizes; mark: string },
): BenchRow[] {
  const { changesPerRound } = options.sizes;
  return names.map((name) => ({
    what: `${name}${options.mark}`,
    "MB/s of data": Math.round(changesPerRound * DATA_BYTES / 1000 / median(times[name])),
    "million changes/s": changesPerRound / 1000 / median(times[name]),
    "x own": speedRatio(times[name], times[names[0]]),
  }));
}

/** Runs the bench on this runtime; a full run takes some ten seconds. */
export function run(options: BenchOptions): Promise<BenchResult> {
  const hotSizes = options.smoke ? SMOKE : HOT;
  const hot = measure(hotSizes);
  const rows = [
    ...rowsOf(ENCODERS, hot.encode, { sizes: hotSizes, mark: "" }),
    ...rowsOf(SCANNERS, hot.scan, { sizes: hotSizes, mark: "" }),
  ];
  if (!options.smoke) {
    const cold = measure(COLD);
    rows.push(...rowsOf(ENCODERS, cold.encode, { sizes: COLD, mark: ", cold" }));
    rows.push(...rowsOf(SCANNERS, cold.scan, { sizes: COLD, mark: ", cold" }));
  }
  const toPeers = ENCODERS.slice(1).map((peer) =>
    speedRatio(hot.encode[ENCODERS[0]], hot.encode[peer])
  );
  const toEager = speedRatio(hot.scan["own lazy scan"], hot.scan["own eager decode"]);
  return Promise.resolve({
    title: `Format: change sets, changes of ${DATA_BYTES} bytes`,
    rows,
    bars: [
      barAtLeast("encode x cbor-x in its best mode", ENCODE_WANTED, Math.min(...toPeers)),
      barAtLeast("lazy scan x decoding into objects", SCAN_WANTED, toEager),
    ],
  });
}
