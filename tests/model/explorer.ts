/**
 * Explores a model breadth first, so that the first violation found has the shortest trace, and walks
 * through it at random where it is too large for that.
 * Owns: the order of visiting, which states were seen, traces.
 * Does not own: what a state is, what may happen in it, what must hold (the models do).
 * @module
 */

/** An invariant that does not hold, and how. */
export interface Violation {
  readonly invariant: string;
  readonly detail: string;
}

/** Reports one thing that may happen next; the label is asked for only when a trace is told. */
export type Emit<State> = (
  label: () => string,
  next: State,
  violation?: Violation | null,
) => void;

/** States are plain immutable data: numbers, strings, booleans, null, arrays and objects of them. */
export interface Model<State> {
  readonly initial: State;
  /** Emits every step possible in a state, always in the same order. */
  successors(state: State, emit: Emit<State>): void;
  /** Checks what must hold in every state. */
  check(state: State): Violation | null;
}

export interface Exploration {
  readonly violation: Violation | null;
  /** Labels from the initial state to the violation; empty if there is none. */
  readonly trace: readonly string[];
  /** Distinct states seen. */
  readonly states: number;
  readonly depth: number;
  /** Whether every reachable state was seen. */
  readonly exhaustive: boolean;
}

interface Visit<State> {
  readonly state: State;
  readonly parent: Visit<State> | null;
  readonly step: number;
}

/** Breadth-first search until a violation, until nothing is left, or until `statesMax`. */
export function explore<State>(
  model: Model<State>,
  { statesMax }: { readonly statesMax: number },
): Exploration {
  const seen = new Set<number>([hashOf(model.initial)]);
  let frontier: Visit<State>[] = [{ state: model.initial, parent: null, step: -1 }];
  let depth = 0;
  while (frontier.length > 0) {
    const following: Visit<State>[] = [];
    for (const visit of frontier) {
      const bad = expand(model, visit, seen, following);
      if (bad !== null) {
        const trace = traceOf(model, bad.at);
        const states = seen.size;
        return { violation: bad.violation, trace, states, depth: depth + 1, exhaustive: false };
      }
    }
    if (seen.size > statesMax) {
      return { violation: null, trace: [], states: seen.size, depth, exhaustive: false };
    }
    frontier = following;
    depth++;
  }
  return { violation: null, trace: [], states: seen.size, depth, exhaustive: true };
}

function expand<State>(
  model: Model<State>,
  visit: Visit<State>,
  seen: Set<number>,
  following: Visit<State>[],
): { readonly violation: Violation; readonly at: Visit<State> } | null {
  let step = -1;
  let bad: { violation: Violation; at: Visit<State> } | null = null;
  model.successors(visit.state, (_label, state, violation) => {
    step++;
    if (bad !== null) return;
    if (violation) {
      bad = { violation, at: { state, parent: visit, step } };
      return;
    }
    const hash = hashOf(state);
    if (seen.has(hash)) return;
    seen.add(hash);
    const reached = { state, parent: visit, step };
    const broken = model.check(state);
    if (broken !== null) bad = { violation: broken, at: reached };
    else following.push(reached);
  });
  return bad;
}

/** Walks the path again to have its labels. */
function traceOf<State>(model: Model<State>, last: Visit<State>): string[] {
  const labels: string[] = [];
  for (let visit = last; visit.parent !== null; visit = visit.parent) {
    let step = 0;
    const { step: wanted } = visit;
    model.successors(visit.parent.state, (label) => {
      if (step++ === wanted) labels.push(label());
    });
  }
  return labels.reverse();
}

/** The same model from where a script leads: of the steps possible, the first that begins so. */
export function startingAfter<State>(
  model: Model<State>,
  script: readonly string[],
): Model<State> {
  let state = model.initial;
  for (const [at, beginning] of script.entries()) {
    const labels: string[] = [];
    let next: State | null = null;
    model.successors(state, (label, reached) => {
      labels.push(label());
      if (next === null && label().startsWith(beginning)) next = reached;
    });
    if (next === null) {
      throw new Error(`Cannot follow step ${at + 1}, "${beginning}": found ${labels.join("; ")}`);
    }
    state = next;
  }
  return { ...model, initial: state };
}

/** One random walk; `weigh` makes rare what would otherwise end most walks early. */
export function walk<State>(
  model: Model<State>,
  random: () => number,
  { stepsMax, weigh }: { readonly stepsMax: number; readonly weigh: (label: string) => number },
): Exploration {
  const trace: string[] = [];
  let state = model.initial;
  while (trace.length < stepsMax) {
    const steps: { label: string; next: State; violation: Violation | null; weight: number }[] = [];
    let total = 0;
    model.successors(state, (makeLabel, next, violation) => {
      const label = makeLabel();
      const weight = weigh(label);
      total += weight;
      steps.push({ label, next, violation: violation ?? null, weight });
    });
    if (steps.length === 0) break;
    let left = random() * total;
    const taken = steps.find((step) => (left -= step.weight) < 0) ?? steps[steps.length - 1];
    trace.push(taken.label);
    state = taken.next;
    const violation = taken.violation ?? model.check(state);
    if (violation !== null) {
      return { violation, trace, states: trace.length, depth: trace.length, exhaustive: false };
    }
  }
  return { violation: null, trace, states: trace.length, depth: trace.length, exhaustive: false };
}

/** Small generator with a 32-bit seed (mulberry32, Tommy Ettinger), in [0, 1). */
export function randomFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6D2B79F5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

let low = 0;
let high = 0;

/**
 * 53-bit hash of a state. A collision would hide a state: among a million states the chance that
 * there is any is below 1 in 10,000.
 */
export function hashOf(state: unknown): number {
  low = 0x2545F491;
  high = 0x1B873593;
  mixValue(state);
  low = Math.imul(low ^ (low >>> 16), 0x85EBCA6B);
  high = Math.imul(high ^ (high >>> 15), 0xC2B2AE35);
  low ^= high >>> 13;
  high ^= low >>> 16;
  return (high >>> 11) * 4294967296 + (low >>> 0);
}

function mixNumber(value: number): void {
  let part = Math.imul(value, 0xCC9E2D51);
  part = Math.imul((part << 15) | (part >>> 17), 0x1B873593);
  low ^= part;
  low = (Math.imul((low << 13) | (low >>> 19), 5) + 0xE6546B64) | 0;
  part = Math.imul(value, 0x239B961B);
  part = Math.imul((part << 16) | (part >>> 16), 0xAB0E9789);
  high ^= part;
  high = (Math.imul((high << 17) | (high >>> 15), 5) + 0x561CCD1B) | 0;
}

const numberOfWord = new Map<string, number>();

function mixWord(word: string): void {
  let number = numberOfWord.get(word);
  if (number === undefined) numberOfWord.set(word, number = 0x30000 + numberOfWord.size);
  mixNumber(number);
}

function mixValue(value: unknown): void {
  if (typeof value === "number") mixNumber(value);
  else if (typeof value === "string") mixWord(value);
  else if (typeof value === "object" && value !== null) {
    if (Array.isArray(value)) {
      mixNumber(0x10000 + value.length);
      for (let i = 0; i < value.length; i++) mixValue(value[i]);
    } else {
      mixNumber(0x20000);
      for (const field in value) mixValue((value as Record<string, unknown>)[field]);
    }
  } else mixNumber(value === true ? 0x40001 : value === false ? 0x40002 : 0x40003);
}
