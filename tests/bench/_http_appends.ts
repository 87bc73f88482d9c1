/** Appends over HTTP, beside an empty route and beside the codec alone. @module */
import { join } from "node:path";
import { DEFAULT_SETTINGS } from "../../src/engine/settings.ts";
import { barAtMost, type BenchBar, type BenchRow, median } from "./_bench.ts";
import { jobOf } from "./_http_bodies.ts";
import { cachedPageUs, longestSyncMs } from "./_disk_alone.ts";
import type { ChildRequest, ChildUsage } from "./_http_child.ts";
import type { LoadFigures, LoadRequest, OpenLoad } from "./_http_load.ts";
import { node, Talk, thisRuntime } from "./_http_talk.ts";
import { dropPageCache } from "./_page_cache.ts";

const MIB = 1024 * 1024;
/** Windows at half load that count, each with bursts of its own; one before them does not. */
const WINDOWS = 5;
const P99_MS_MAX = 20;
/** What `serve` takes by default: four bodies of the largest size. */
const BODY_BUDGET_BYTES = 4 * 64 * MIB;

/** How much to do. */
export interface AppendSizes {
  readonly connections: number;
  /** Bytes of bodies that there are; they are gone through again and again. */
  readonly corpusBytes: number;
  readonly warmUpRounds: number;
  readonly rounds: number;
  readonly bodies: readonly BodySize[];
}

interface BodySize {
  readonly name: string;
  readonly bytes: number;
  /** Requests of one slice. */
  readonly requests: number;
  /** How long requests come at half load, in each window. */
  readonly openSeconds: number;
  /** CPU time at most, of that of an empty route and the codec together. */
  readonly bar: number;
}

/** Microseconds of CPU per request. */
interface Cost {
  readonly user: number;
  readonly system: number;
}

interface Slice {
  readonly cost: Cost;
  readonly requestsPerSecond: number;
}

const CONTENDERS = ["store", "empty", "codec"] as const;
type Contender = (typeof CONTENDERS)[number];
type Processes = Readonly<Record<Contender, Talk>>;

/** Measures every size, on the same three processes. */
export async function measureAppends(
  folder: string,
  sizes: AppendSizes,
): Promise<{ rows: BenchRow[]; bars: BenchBar[] }> {
  const begin = (kind: Contender): Talk =>
    new Talk(thisRuntime(), "_http_child.ts", [kind, join(folder, "store")]);
  const processes = { store: begin("store"), empty: begin("empty"), codec: begin("codec") };
  const loads: Talk[] = [];
  try {
    const { store, empty } = processes;
    const ports = { store: await portOf(store), empty: await portOf(empty) };
    const rows: BenchRow[] = [];
    const bars: BenchBar[] = [];
    const baseMib = (await usageOf(store)).peakMib;
    for (const body of sizes.bodies) {
      const { name, bytes } = body;
      const args = [bytes, Math.max(sizes.corpusBytes, bytes), sizes.connections].map(String);
      const load = new Talk(node(), "_http_load.ts", args);
      loads.push(load);
      const measured = await new AppendRounds(folder, processes, ports, load, sizes, body).run();
      rows.push(...measured.rows);
      bars.push(...measured.bars);
      await load.end();
      rows.push({
        what: `longest sync of the disk alone, after ${name}, ms`,
        measured: await longestSyncMs(folder, body.openSeconds),
      });
      rows.push({
        what: `a page of 4 KiB into the page cache, after ${name}, us`,
        measured: await cachedPageUs(folder),
      });
    }
    const peakMib = (await usageOf(store)).peakMib;
    const boundMib = (DEFAULT_SETTINGS.inFlightBytesMax + BODY_BUDGET_BYTES) / MIB + baseMib;
    rows.push({ what: "memory of the sidecar before the first append, MiB", measured: baseMib });
    bars.push(barAtMost("peak memory of the sidecar x its bound", 1, peakMib / boundMib));
    rows.push({ what: "peak memory of the sidecar, MiB", measured: peakMib });
    for (const talk of Object.values(processes)) await talk.end();
    return { rows, bars };
  } finally {
    for (const talk of [...loads, ...Object.values(processes)]) talk.kill();
  }
}

function portOf(talk: Talk): Promise<number> {
  return talk.ask({ kind: "port" } satisfies ChildRequest);
}

function usageOf(talk: Talk): Promise<ChildUsage> {
  return talk.ask({ kind: "usage" } satisfies ChildRequest);
}

class AppendRounds {
  constructor(
    readonly folder: string,
    readonly processes: Processes,
    readonly ports: Readonly<Record<"store" | "empty", number>>,
    readonly load: Talk,
    readonly sizes: AppendSizes,
    readonly body: BodySize,
  ) {}

  get #jobUrl(): string {
    return `http://127.0.0.1:${this.ports.store}/v1/jobs/${jobOf(this.body.bytes)}`;
  }

  async run(): Promise<{ rows: BenchRow[]; bars: BenchBar[] }> {
    const made = await fetch(this.#jobUrl, { method: "PUT" });
    if (made.status !== 201) throw new Error(`Cannot make a job: ${await made.text()}`);
    const slices: Record<Contender, Slice[]> = { store: [], empty: [], codec: [] };
    const { warmUpRounds, rounds } = this.sizes;
    for (let round = -warmUpRounds; round < rounds; round++) {
      for (let turn = 0; turn < CONTENDERS.length; turn++) {
        const kind = CONTENDERS[(round + warmUpRounds + turn) % CONTENDERS.length];
        const slice = await this.#slice(kind);
        if (round >= 0) slices[kind].push(slice);
      }
    }
    const perSecond = median(slices.store.map(({ requestsPerSecond }) => requestsPerSecond));
    const emptyAtRate = await this.#slice("empty", { rate: perSecond, seed: 0 });
    // Requests that come one by one go other ways than those that wait for each other, which are cold yet.
    await this.#atHalfLoad(perSecond, 0);
    const windows: LoadFigures[] = [];
    for (let seed = 1; seed <= WINDOWS; seed++) {
      windows.push(await this.#atHalfLoad(perSecond, seed));
    }
    await this.#checkStored(windows[WINDOWS - 1].acknowledged);
    return this.#report(slices, emptyAtRate, windows);
  }

  async #slice(kind: Contender, open?: OpenLoad): Promise<Slice> {
    const { requests } = this.body;
    const before = await usageOf(this.processes[kind]);
    const seconds = kind === "codec" ? await this.#encode() : await this.#load(kind, open);
    const after = await usageOf(this.processes[kind]);
    if (kind === "store") dropPageCache(this.folder);
    const cost = {
      user: (after.user - before.user) / requests,
      system: (after.system - before.system) / requests,
    };
    return { cost, requestsPerSecond: requests / seconds };
  }

  async #encode(): Promise<number> {
    const { bytes, requests } = this.body;
    const { connections } = this.sizes;
    const batchMax = Math.floor(DEFAULT_SETTINGS.persistSizeThresholdBytes / bytes);
    const startMs = performance.now();
    await this.processes.codec.ask(
      {
        kind: "encode",
        bodyBytes: bytes,
        corpusBytes: Math.max(this.sizes.corpusBytes, bytes),
        bodies: requests,
        batch: Math.min(connections, batchMax),
      } satisfies ChildRequest,
    );
    return (performance.now() - startMs) / 1000;
  }

  /** As fast as every connection is answered, unless it is said how they come. */
  async #load(kind: "store" | "empty", open?: OpenLoad): Promise<number> {
    const request: LoadRequest = { port: this.ports[kind], requests: this.body.requests, open };
    return (await this.load.ask<LoadFigures>(request)).seconds;
  }

  async #atHalfLoad(perSecond: number, seed: number): Promise<LoadFigures> {
    const rate = perSecond / 2;
    const requests = Math.max(1, Math.round(rate * this.body.openSeconds));
    const open = { rate, seed };
    const request: LoadRequest = { port: this.ports.store, requests, open };
    const figures = await this.load.ask<LoadFigures>(request);
    dropPageCache(this.folder);
    return figures;
  }

  /** Nothing counts unless all that was acknowledged is there. */
  async #checkStored(acknowledged: readonly number[]): Promise<void> {
    const answer = await fetch(this.#jobUrl);
    const { writers } = await answer.json() as {
      writers: { writer: string; durableOffset: number }[];
    };
    acknowledged.forEach((count, i) => {
      const found = writers.find(({ writer }) => writer === `w${i}`)?.durableOffset ?? 0;
      if (found === count) return;
      throw new Error(`Writer w${i} has ${found} durable changes of ${count} acknowledged ones`);
    });
  }

  #report(
    slices: Readonly<Record<Contender, Slice[]>>,
    emptyAtRate: Slice,
    windows: readonly LoadFigures[],
  ): { rows: BenchRow[]; bars: BenchBar[] } {
    const { name, bar } = this.body;
    const row = (what: string, of: readonly Slice[]): BenchRow => ({
      what: `${what}, ${name}, us of CPU per request`,
      measured: median(of.map(({ cost }) => cost.user + cost.system)),
      user: median(of.map(({ cost }) => cost.user)),
      system: median(of.map(({ cost }) => cost.system)),
      "requests/s": median(of.map((slice) => slice.requestsPerSecond)),
    });
    const p99s = windows.map(({ p99Ms }) => p99Ms);
    const sum = ({ cost }: Slice): number => cost.user + cost.system;
    const ratios = slices.store.map((store, round) =>
      sum(store) / (sum(slices.empty[round]) + sum(slices.codec[round]))
    );
    return {
      rows: [
        row("append", slices.store),
        row("empty route", slices.empty),
        // A server that is asked now and then takes more for each request than one that is asked all the time.
        row("empty route asked as often as appends", [emptyAtRate]),
        row("codec alone", slices.codec),
        {
          what: `append at half load, ${name}, median ms`,
          measured: median(windows.map(({ p50Ms }) => p50Ms)),
        },
        {
          what: `append at half load, ${name}, p99 of the worst window, ms`,
          measured: Math.max(...p99s),
        },
      ],
      bars: [
        barAtMost(`append of ${name}, CPU x empty route and codec`, bar, median(ratios)),
        // A machine that others share stalls now and then: not in most windows.
        barAtMost(`append of ${name}, p99 at half load, ms`, P99_MS_MAX, median(p99s)),
      ],
    };
  }
}
