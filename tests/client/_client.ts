/**
 * A client of a sidecar in this process, with time in the hands of the test.
 * @module
 */
import { TidemarkClient } from "../../src/client/mod.ts";
import type { ClientOptions } from "../../src/client/client_settings.ts";
import type { Job, Store } from "../../src/engine/types.ts";
import { createApp } from "../../src/http/mod.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { ManualClock } from "../doubles/manual_clock.ts";
import { SeededRandom } from "../doubles/seeded_random.ts";
import { type Fate, LossyFetch, type Sent } from "./_lossy_fetch.ts";

/** What a test has in hand. */
export interface Bench {
  readonly client: TidemarkClient;
  readonly clock: ManualClock;
  readonly net: LossyFetch;
  readonly store: Store;
}

/** Runs `use` with a client; `fate` says what becomes of its requests. */
export async function withClient(
  use: (bench: Bench) => Promise<void>,
  fate?: (sent: Sent) => Fate,
  options: ClientOptions = {},
): Promise<void> {
  await using store = await openStore("memory:", { persistDelayMs: 0 });
  const net = new LossyFetch(createApp(store), fate);
  const clock = new ManualClock();
  const random = new SeededRandom(7);
  const client = new TidemarkClient("http://sidecar", {
    fetch: net.fetch,
    clock,
    random,
    batchDelayMs: 0,
    ...options,
  });
  try {
    await use({ client, clock, net, store });
  } finally {
    net.fate = () => "answered";
    await client.close({ signal: AbortSignal.abort(new Error("the test is over")) })
      .catch(() => undefined);
  }
}

/** Moves time on, in steps, until something has settled. */
export async function pass<Result>(clock: ManualClock, waited: Promise<Result>): Promise<Result> {
  let isSettled = false;
  const settled = (): void => void (isSettled = true);
  waited.then(settled, settled);
  while (!isSettled) await clock.advance(Math.min(clock.nextDelayMs ?? 0, 60_000));
  return await waited;
}

/** Text as bytes. */
export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** What a writer has durably, as the store says. */
export async function stored(store: Store, writer = "w", at = "tail"): Promise<string[]> {
  const job: Job = await store.job("j");
  const found: string[] = [];
  for await (const { data } of job.restore({ at, writers: [writer] })) {
    found.push(new TextDecoder().decode(data));
  }
  return found;
}
