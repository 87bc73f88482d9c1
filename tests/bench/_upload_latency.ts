/** What one durable append costs beside a bare write and sync, and what many at once do. @module */
import { join } from "node:path";
import type { FileHandle } from "../../src/engine/port/file_system.ts";
import { barAtLeast, barAtMost, type BenchBar, type BenchRow, median } from "./_bench.ts";
import { type BenchEngine, withEngine } from "./_upload_engine.ts";

const CHANGE_BYTES = 100;
const BARE_BYTES = 4096;
const APPENDERS = 64;
const WARM_UP_ROUNDS = 3;

/** How much to do. */
export interface LatencySizes {
  /** Appends of each round, each beside a bare write. */
  readonly appends: number;
  /** Turns of all appenders in each slice of a round. */
  readonly turns: number;
  /** Slices of each round, of the engine and of the bare log in turn. */
  readonly slices: number;
  readonly rounds: number;
}

/** What one round gave, in milliseconds and acknowledgements per second. */
interface Round {
  readonly own: readonly number[];
  readonly bare: readonly number[];
  readonly one: number;
  /** Of each slice. */
  readonly many: readonly number[];
  readonly manyBare: readonly number[];
}

/** Measures one append after another, then many at once. */
export function measureLatency(
  sizes: LatencySizes,
): Promise<{ rows: BenchRow[]; bars: BenchBar[] }> {
  return withEngine({ persistDelayMs: 0 }, async (engine) => {
    const file = await engine.fileSystem.open(join(engine.folder, "bare"), "create");
    const bare = new BareLog(file);
    try {
      await warmUp(engine, bare, sizes);
      const rounds: Round[] = [];
      for (let i = 0; i < sizes.rounds; i++) rounds.push(await measureRound(engine, bare, sizes));
      return report(rounds);
    } finally {
      await file.close();
    }
  });
}

/** What counts is how it goes on, not how it begins: a compiler takes some rounds to see what is hot. */
async function warmUp(engine: BenchEngine, bare: BareLog, sizes: LatencySizes): Promise<void> {
  for (let i = 0; i < WARM_UP_ROUNDS; i++) await measureRound(engine, bare, sizes);
}

async function measureRound(
  engine: BenchEngine,
  bare: BareLog,
  sizes: LatencySizes,
): Promise<Round> {
  const own: number[] = [];
  const bareTimes: number[] = [];
  const writer = engine.job.writer("alone");
  const change = new Uint8Array(CHANGE_BYTES).fill(1);
  const append = async (): Promise<void> => {
    const mark = engine.disk.mark();
    const startMs = performance.now();
    writer.append(0, change);
    await writer.persist();
    own.push(performance.now() - startMs);
    engine.disk.check(mark);
  };
  const page = new Uint8Array(BARE_BYTES).fill(1);
  const writeBare = async (): Promise<void> => {
    const startMs = performance.now();
    await bare.write(page);
    bareTimes.push(performance.now() - startMs);
  };
  for (let i = 0; i < sizes.appends; i++) {
    await (i % 2 === 0 ? append() : writeBare());
    await (i % 2 === 0 ? writeBare() : append());
  }
  const one = 1000 * own.length / own.reduce((sum, time) => sum + time, 0);
  const { many, manyBare } = await measureMany(engine, bare, sizes);
  // As a pipeline does: the writers let go of what they know of their change sets.
  await engine.job.checkpoint();
  return { own, bare: bareTimes, one, many, manyBare };
}

/** Acknowledgements per second of many appenders, and of as many on a bare log. */
async function measureMany(
  engine: BenchEngine,
  bare: BareLog,
  { turns, slices }: LatencySizes,
): Promise<Pick<Round, "many" | "manyBare">> {
  const candidates = [engineAppenders(engine), bareAppenders(engine, bare)];
  const perSecond: [number[], number[]] = [[], []];
  for (let slice = 0; slice < slices; slice++) {
    for (let turn = 0; turn < candidates.length; turn++) {
      const candidate = (slice + turn) % candidates.length;
      const elapsedMs = await timeTurns(turns, candidates[candidate]);
      perSecond[candidate].push(1000 * turns * APPENDERS / elapsedMs);
    }
  }
  return { many: perSecond[0], manyBare: perSecond[1] };
}

/** Appends once, and resolves when that is durable. */
type Appender = () => Promise<void>;

function engineAppenders({ job, disk }: BenchEngine): Appender[] {
  const change = new Uint8Array(CHANGE_BYTES).fill(1);
  return Array.from({ length: APPENDERS }, (_, i) => {
    const writer = job.writer(`appender-${i}`);
    return async () => {
      const mark = disk.mark();
      writer.append(0, change);
      await writer.persist();
      disk.check(mark);
    };
  });
}

function bareAppenders({ disk }: BenchEngine, bare: BareLog): Appender[] {
  const change = new Uint8Array(CHANGE_BYTES).fill(1);
  return Array.from({ length: APPENDERS }, () => async () => {
    const mark = disk.mark();
    await bare.append(change);
    disk.check(mark);
  });
}

/** Milliseconds in which each appender has so many turns, going on as soon as it has its own answer. */
async function timeTurns(turns: number, appenders: readonly Appender[]): Promise<number> {
  const startMs = performance.now();
  await Promise.all(appenders.map(async (append) => {
    for (let i = 0; i < turns; i++) await append();
  }));
  return performance.now() - startMs;
}

/** As little as a group commit can be: what gathers during a write and sync goes out with the next. */
class BareLog {
  readonly #file: FileHandle;
  #position = 0;
  #waiting: { readonly bytes: Uint8Array; readonly resolve: () => void }[] = [];
  #isWriting = false;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  async write(bytes: Uint8Array): Promise<void> {
    await this.#file.write(bytes, this.#position);
    this.#position += bytes.length;
    await this.#file.datasync();
  }

  append(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ bytes, resolve });
      if (!this.#isWriting) void this.#writeAll();
    });
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const taken = this.#waiting;
      this.#waiting = [];
      const all = new Uint8Array(taken.reduce((sum, { bytes }) => sum + bytes.length, 0));
      let at = 0;
      for (const { bytes } of taken) {
        all.set(bytes, at);
        at += bytes.length;
      }
      await this.write(all);
      for (const { resolve } of taken) resolve();
    }
    this.#isWriting = false;
  }
}

function report(rounds: readonly Round[]): { rows: BenchRow[]; bars: BenchBar[] } {
  const ratio = (of: (round: Round) => number): number => median(rounds.map(of));
  const p99 = (times: readonly number[]): number =>
    [...times].sort((a, b) => a - b)[Math.floor(times.length * 0.99)];
  const row = (what: string, of: (round: Round) => number): BenchRow => (
    { what, measured: ratio(of) }
  );
  return {
    rows: [
      row("durable append of 100 bytes, median ms", ({ own }) => median(own)),
      row("bare write and sync of 4 KiB, median ms", ({ bare }) => median(bare)),
      row("durable append of 100 bytes, p99 ms", ({ own }) => p99(own)),
      row("bare write and sync of 4 KiB, p99 ms", ({ bare }) => p99(bare)),
      row("one appender, acknowledgements/s", ({ one }) => one),
      row(`${APPENDERS} appenders, acknowledgements/s`, ({ many }) => median(many)),
      row(
        `${APPENDERS} appenders on a bare log, acknowledgements/s`,
        ({ manyBare }) => median(manyBare),
      ),
    ],
    bars: [
      barAtMost(
        "durable append, median x bare write and sync",
        1.5,
        ratio(({ own, bare }) => median(own) / median(bare)),
      ),
      barAtMost(
        "durable append, p99 x bare write and sync",
        2,
        ratio(({ own, bare }) => p99(own) / p99(bare)),
      ),
      barAtLeast(
        `${APPENDERS} appenders x one, acknowledgements`,
        10,
        ratio(({ one, many }) => median(many) / one),
      ),
      barAtLeast(
        `${APPENDERS} appenders x a bare group commit, acknowledgements`,
        0.6,
        median(rounds.flatMap(({ many, manyBare }) => many.map((own, i) => own / manyBare[i]))),
      ),
    ],
  };
}
