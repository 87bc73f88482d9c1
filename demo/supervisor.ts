/**
 * Runs the sidecar and the pipeline as two processes, kills them by plan without warning, starts them
 * again, and tells what happens. Knows nothing of words and counts.
 * @module
 */
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Child, startChild } from "./child.ts";
import type { Kill, Victim } from "./kill_plan.ts";
import { Progress } from "./progress.ts";
import { type Screen, thousands } from "./screen.ts";

/** What a supervisor runs. */
export interface SupervisorOptions {
  /** The command line that `serve` and its flags follow. */
  readonly cli: readonly string[];
  readonly store: string;
  readonly textPath: string;
  readonly lineCount: number;
  readonly screen: Screen;
}

const PIPELINE = fileURLToPath(new URL("pipeline.ts", import.meta.url).href);

/** One run of the demo. */
export class Supervisor {
  readonly progress: Progress;
  readonly kills: Record<Victim, number> = { sidecar: 0, pipeline: 0 };
  readonly #options: SupervisorOptions;
  readonly #running = new Map<Victim, Child>();
  readonly #failure: Promise<never>;
  #fail: (error: Error) => void = () => {};
  #address = "127.0.0.1:0";

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.progress = new Progress(options.lineCount, options.screen);
    this.#failure = new Promise((_, reject) => this.#fail = reject);
  }

  /** Takes the pipeline to its end through all the kills of the plan, then stops the sidecar. */
  async run(plan: readonly Kill[]): Promise<void> {
    await Promise.race([this.#runPlan(plan), this.#failure]);
  }

  async #runPlan(plan: readonly Kill[]): Promise<void> {
    await this.#startSidecar();
    this.#startPipeline();
    for (const kill of plan) {
      await this.progress.reached(kill.share);
      await delay(kill.delayMs);
      await this.#strike(kill);
    }
    await this.progress.reached(1);
    await this.#end("sidecar", "SIGTERM");
    this.#options.screen.say("sidecar", "was asked to end, and closed its store");
  }

  async #strike({ victims, againMs }: Kill): Promise<void> {
    const { screen } = this.#options;
    const line = thousands(this.progress.line);
    screen.say("kill", `kill -9 of the ${victims.join(" and the ")}, near line ${line}`);
    await Promise.all(victims.map((victim) => this.#kill(victim)));
    if (victims.includes("sidecar")) {
      if (againMs !== undefined) {
        this.#spawnSidecar(() => {});
        await delay(againMs);
        screen.say("kill", `kill -9 of the sidecar again, ${againMs} ms after its restart`);
        await this.#kill("sidecar");
      }
      await this.#startSidecar();
    }
    if (victims.includes("pipeline")) this.#startPipeline();
  }

  async #kill(victim: Victim): Promise<void> {
    await this.#end(victim, "SIGKILL");
    this.kills[victim]++;
  }

  async #end(victim: Victim, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const child = this.#running.get(victim);
    this.#running.delete(victim);
    await child?.kill(signal);
  }

  /** Starts the sidecar and waits for it: the first time on any free port, later on the same one. */
  async #startSidecar(): Promise<void> {
    const startedMs = performance.now();
    await new Promise<void>((resolve) => {
      this.#spawnSidecar((line) => {
        const address = /http:\/\/([\w.]+:\d+)/.exec(line)?.[1];
        if (address === undefined) return;
        this.#address = address;
        resolve();
      });
    });
    const tookMs = (performance.now() - startedMs).toFixed(0);
    this.#options.screen.say("sidecar", `listens on http://${this.#address} after ${tookMs} ms`);
  }

  #spawnSidecar(onLine: (line: string) => void): void {
    const { cli, store } = this.#options;
    const flags = ["--store", store, "--listen", this.#address];
    this.#watch("sidecar", startChild([...cli, "serve", ...flags], onLine));
  }

  #startPipeline(): void {
    const flags = ["--url", `http://${this.#address}`, "--text", this.#options.textPath];
    const command = [process.execPath, "--import", "tsx", PIPELINE, ...flags];
    this.#watch("pipeline", startChild(command, (line) => this.progress.take(JSON.parse(line))));
  }

  /** A process that ends although nobody killed it, and not at its goal, ends the demo. */
  #watch(name: Victim, child: Child): void {
    this.#running.set(name, child);
    child.ended.then(() => {
      const isWanted = this.#running.get(name) === child;
      const isDone = name === "pipeline" && this.progress.isFinished;
      if (!isWanted || isDone) return;
      this.#fail(new Error(`The ${name} ended by itself, and said:\n${child.stderr()}`));
    });
  }
}
