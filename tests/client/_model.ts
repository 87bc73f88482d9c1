/**
 * A pipeline that counts nothing twice and loses nothing, whatever the network, the sidecar and its own death do.
 * @module
 */
import assert from "node:assert/strict";
import { type RemoteJob, TidemarkClient } from "../../src/client/mod.ts";
import type { TidemarkError } from "../../src/engine/errors.ts";
import { MemoryBackend } from "../../src/engine/storage/memory_backend.ts";
import type { Store } from "../../src/engine/types.ts";
import { createApp, type HttpApp } from "../../src/http/mod.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { ManualClock } from "../doubles/manual_clock.ts";
import { SeededRandom } from "../doubles/seeded_random.ts";
import { bytesOf, pass } from "./_client.ts";
import { type Fate, LossyFetch } from "./_lossy_fetch.ts";

const LINES = 120;
const WRITERS = ["even", "odd"];
const LOSSES: readonly Fate[] = ["lost-before", "lost-after", "cut", "short", "refused", "silent"];

const CUTS: readonly Fate[] = ["cut", "short", "lost-before"];
const LOSSES_IN_A_ROW_MAX = 12;

type Fetch = (request: Request) => Promise<Response>;

/** The sidecar: dies, and comes back on what is stored. */
class Sidecar {
  readonly #backend = new MemoryBackend({ clock: new ManualClock() });
  readonly #open: Store[] = [];
  #app!: HttpApp;

  async start(): Promise<void> {
    const store = await openStore(this.#backend, { persistDelayMs: 0 });
    this.#open.push(store);
    // The one before was killed: it closes nothing.
    this.#app = createApp(store, { takeOver: true });
  }

  readonly fetch = (request: Request): Promise<Response> => this.#app.fetch(request);

  async close(): Promise<void> {
    await Promise.allSettled(this.#open.map((store) => store.close()));
  }
}

/** Requests of which the client hears that they are lost, and that arrive all the same, much later. */
class LateRequests {
  readonly #waiting: Request[] = [];
  readonly #sidecar: Sidecar;
  readonly #random: SeededRandom;

  constructor(sidecar: Sidecar, random: SeededRandom) {
    this.#sidecar = sidecar;
    this.#random = random;
  }

  add(request: Request): never {
    this.#waiting.push(request);
    throw new TypeError("connection reset");
  }

  async arrive(): Promise<void> {
    while (this.#waiting.length > 0 && this.#random.chance(0.04)) {
      const [request] = this.#waiting.splice(this.#random.below(this.#waiting.length), 1);
      await (await this.#sidecar.fetch(request)).body?.cancel();
    }
  }
}

function isOver(error: unknown): boolean {
  const { code } = error as TidemarkError;
  return ["fenced", "closed", "server-unreachable", "backpressure", "job-busy"].includes(code);
}

/** Appends the source's lines from where the checkpoint says, until it is done or dies. */
async function runPipeline(
  job: RemoteJob,
  random: SeededRandom,
  isKilled: () => boolean,
): Promise<boolean> {
  const { checkpoint } = await job.resume();
  let line = (checkpoint?.metadata as { line: number } | null)?.line ?? 0;
  while (line < LINES) {
    for (const end = Math.min(LINES, line + 1 + random.below(12)); line < end; line++) {
      while (!job.availability.isAvailable()) await job.availability.whenAvailable();
      job.writer(WRITERS[line % 2]).append(line % 7, bytesOf(`line ${line}`));
    }
    if (isKilled()) return false;
    const asked = random.below(3);
    if (asked === 0) await job.writer(WRITERS[random.below(2)]).persist();
    if (asked > 0 || line === LINES) {
      const made = job.checkpoint({ metadata: { line } });
      // A pipeline that works on while its checkpoint is made.
      if (random.chance(0.5) && line < LINES - 1) {
        job.writer(WRITERS[line % 2]).append(line % 7, bytesOf(`line ${line}`));
        line++;
      }
      await made;
    }
  }
  return true;
}

/** One pipeline from its first line to its last. @throws what was restored that is not right */
export async function play(seed: number): Promise<void> {
  const random = new SeededRandom(seed);
  const clock = new ManualClock();
  const sidecar = new Sidecar();
  await sidecar.start();
  const late = new LateRequests(sidecar, random);
  const lossy = new LossyFetch(
    sidecar,
    () => random.chance(0.2) ? random.pick(LOSSES) : "answered",
  );
  const fetch = async (request: Request): Promise<Response> => {
    await late.arrive();
    if (random.chance(0.02)) await sidecar.start();
    return random.chance(0.06) ? late.add(request.clone()) : await lossy.fetch(request);
  };
  const options = {
    fetch,
    clock,
    random,
    batchDelayMs: 0,
    batchBytesMax: 120,
    inFlightBytesMax: 400,
    attemptMsMax: 1000,
    longAttemptMsMax: 3000,
    retryDelayMsMax: 1000,
    retryDeadlineMs: 10_000,
  };
  for (let isDone = false; !isDone;) {
    const client = new TidemarkClient("http://sidecar", options);
    const job = client.job("j");
    const ran = runPipeline(job, random, () => random.chance(0.03)).catch((error) => {
      if (!isOver(error)) throw error;
      return false;
    });
    isDone = await pass(clock, ran);
    const gone = client.close({ signal: AbortSignal.abort(new Error("killed")) });
    await gone.catch(() => undefined);
  }
  let inARow = 0;
  const breaking = new LossyFetch(sidecar, () => {
    // Some twenty attempts go by before a client gives up.
    inARow = inARow < LOSSES_IN_A_ROW_MAX && random.chance(0.7) ? inARow + 1 : 0;
    return inARow > 0 ? random.pick(CUTS) : "answered";
  });
  await checkRestored(breaking.fetch, clock);
  await sidecar.close();
}

/** Everything that was appended, each once, in order, though the way back breaks too: nothing of one that died. */
async function checkRestored(fetch: Fetch, clock: ManualClock): Promise<void> {
  const client = new TidemarkClient("http://sidecar", { fetch, clock });
  const found: Record<string, string[]> = {};
  const read = async (): Promise<void> => {
    for await (const { writer, offset, data } of client.reader("j").restore()) {
      const lines = found[writer] ??= [];
      assert.equal(offset, lines.length);
      lines.push(new TextDecoder().decode(data));
    }
  };
  await pass(clock, read());
  const wanted = WRITERS.map((_, parity) =>
    Array.from({ length: LINES / 2 }, (_, n) => `line ${2 * n + parity}`)
  );
  assert.deepEqual(WRITERS.map((writer) => found[writer]), wanted);
}
