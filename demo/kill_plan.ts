/**
 * When the demo kills what. The same seed gives the same plan; the moments still differ from run to
 * run, as the processes never run twice at the same speed.
 * @module
 */

/** What gets killed. */
export type Victim = "sidecar" | "pipeline";

/** One blow. */
export interface Kill {
  readonly victims: readonly Victim[];
  /** The pipeline has counted so much of the input, … */
  readonly share: number;
  /** … and then this time has gone by, so that the blow hits anywhere: in an append, in a checkpoint, between. */
  readonly delayMs: number;
  /** Kills the sidecar again this long after its restart: in the middle of its recovery. */
  readonly againMs?: number;
}

const SHARE_MIN = 0.04;
const SHARE_MAX = 0.96;
const DELAY_MS_MAX = 40;
const AGAIN_MS_MIN = 20;
const AGAIN_MS_RANGE = 100;

/** Blows at random moments, in order of time; each process is among the victims at least three times. */
export function planKills(seed: number): Kill[] {
  const random = mulberry32(seed);
  const blows: Pick<Kill, "victims" | "againMs">[] = [
    { victims: ["sidecar"] },
    { victims: ["pipeline"] },
    { victims: ["sidecar"], againMs: Math.round(AGAIN_MS_MIN + random() * AGAIN_MS_RANGE) },
    { victims: ["pipeline"] },
    { victims: ["sidecar", "pipeline"] },
    { victims: ["sidecar"] },
    { victims: ["pipeline"] },
  ];
  const shares = blows
    .map(() => SHARE_MIN + random() * (SHARE_MAX - SHARE_MIN))
    .sort((a, b) => a - b);
  const order = blows.map((blow) => ({ blow, rank: random() })).sort((a, b) => a.rank - b.rank);
  return order.map(({ blow }, index) => ({
    ...blow,
    share: shares[index],
    delayMs: random() * DELAY_MS_MAX,
  }));
}

/** A small pseudo-random generator; 32 bits of state are plenty for a demo. */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
