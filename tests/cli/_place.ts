/**
 * A store on a disk in memory, worked on by command lines alone, on its folder or at a sidecar.
 * @module
 */
import type { OpenStore } from "../../src/cli/command.ts";
import { encodeChanges } from "../../src/engine/format/change_input.ts";
import type { Change } from "../../src/engine/types.ts";
import { createApp } from "../../src/http/mod.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { SystemClock } from "../../src/runtime/system_clock.ts";
import { ForgettingDisk } from "../doubles/forgetting_file_system.ts";
import { posixOn } from "../doubles/posix_on_double.ts";
import { type Ran, type RunOptions, TestIo } from "./_run.ts";

/** Changes of key group 0. */
export const lines = (...texts: string[]): Change[] =>
  texts.map((text) => ({ keyGroup: 0, data: new TextEncoder().encode(text) }));

/** One disk with stores below `/disk`; `/disk/store` is the one that commands work on. */
export class Place {
  readonly #disk = new ForgettingDisk();
  readonly #side: "store" | "url";

  constructor(side: "store" | "url" = "store") {
    this.#side = side;
  }

  readonly open: OpenStore = (root, given) =>
    openStore(
      posixOn(this.#disk, { root: root || "/disk/store", clock: new SystemClock() }),
      { ...given, persistDelayMs: 0, codecThreads: 0 },
    );

  /** Appends changes to writers of job j, and makes a checkpoint. */
  async fill(writers: Readonly<Record<string, readonly Change[]>>): Promise<string> {
    await using store = await this.open("", {});
    const job = await store.job("j");
    for (const [writer, changes] of Object.entries(writers)) {
      for (const change of changes) {
        await job.writer(writer).appendAt(undefined, encodeChanges([change]));
      }
    }
    return (await job.checkpoint()).uuid;
  }

  /** Runs a command line on the store. */
  async run([name, ...rest]: readonly string[], options: RunOptions = {}): Promise<Ran> {
    const io = this.#side === "store"
      ? new TestIo({ ...options, openStore: this.open })
      : undefined;
    if (io !== undefined) return await io.run([name, "--store", "/disk/store", ...rest]);
    await using store = await this.open("", {});
    const app = createApp(store);
    const fetch = (request: Request): Promise<Response> => app.fetch(request);
    const remote = new TestIo({ ...options, openStore: this.open, io: { ...options.io, fetch } });
    return await remote.run([name, "--url", "http://127.0.0.1:7460", ...rest]);
  }

  /** Changes of a writer's tail, as key group and data. */
  async tailOf(writer: string, job = "j"): Promise<[number, string][]> {
    await using store = await this.open("", { mode: "read" });
    await using reader = await store.reader(job);
    const found: [number, string][] = [];
    for await (const { keyGroup, data } of reader.restore({ at: "tail", writers: [writer] })) {
      found.push([keyGroup, String.fromCharCode(...data)]);
    }
    return found;
  }
}
