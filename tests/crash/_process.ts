/**
 * Processes for the crash tests: a sidecar or a command of any runtime, killed and stopped by signals.
 * Owns: spawning, signals, reaping. Does not own: HTTP, what the sidecar does.
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** A runtime that Tidemark runs on. */
export type Runtime = "deno" | "bun" | "node";

/** All of them. */
export const RUNTIMES: readonly Runtime[] = ["deno", "bun", "node"];

/** The runtime that runs this very test: its sidecars are under test. */
export const THIS_RUNTIME: Runtime = process.versions.deno !== undefined
  ? "deno"
  : process.versions.bun !== undefined
  ? "bun"
  : "node";

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const NODE = THIS_RUNTIME === "node" ? process.execPath : "node";
const BIN = join(ROOT, "node_modules", ".bin");

/** Tidemark's command line. */
export const CLI = join("src", "cli", "main.ts");

/**
 * Makes the command line of a program of this repository under a runtime; its arguments follow. Node takes longer to
 * translate the sources than to run them, so for Node they are bundled first, into `folder`.
 */
export async function prepare(
  runtime: Runtime,
  program: string,
  folder: string,
): Promise<string[]> {
  if (runtime === "deno") return [join(BIN, "deno"), "run", "-A", "--quiet", program];
  if (runtime === "bun") return [join(BIN, "bun"), program];
  const bundle = join(folder, basename(program).replace(/\.ts$/, ".mjs"));
  const flags = ["--target=node", "--format=esm", `--outfile=${bundle}`];
  const { code, stderr } = await run([join(BIN, "bun"), "build", program, ...flags]);
  if (code !== 0) throw new Error(`Cannot bundle ${program}: ${stderr}`);
  return [NODE, bundle];
}

/** How a process ended, and what it said. */
export interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** No test takes as long, on however busy a machine; one that does hangs. */
export const TIMEOUT_MS = 900_000;

/** No process of a test lives as long; one that does hangs, and whoever waits for it is to see that. */
const LIFE_MS_MAX = 600_000;

/** A running process. `await using` kills it. */
export class RunningProcess implements AsyncDisposable {
  /** Settles when the process is gone and its output is read. */
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  readonly #stdout: string[] = [];
  readonly #stderr: string[] = [];
  #isGone = false;

  constructor(command: readonly string[], onLine: (line: string) => void = () => {}) {
    const [program, ...args] = command;
    const child = spawn(program, args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    const watchdog = setTimeout(() => this.signal("SIGKILL"), LIFE_MS_MAX);
    child.once("exit", () => {
      this.#isGone = true;
      clearTimeout(watchdog);
    });
    createInterface({ input: child.stdout }).on("line", (line) => {
      this.#stdout.push(line);
      onLine(line);
    });
    createInterface({ input: child.stderr }).on("line", (line) => this.#stderr.push(line));
    this.ended = once(child, "close").then(([code, signal]) => ({
      code,
      signal,
      stdout: this.#stdout.join("\n"),
      stderr: this.#stderr.join("\n"),
    }));
  }

  /** Sends a signal; one that is gone already is left alone. */
  signal(name: "SIGKILL" | "SIGTERM" | "SIGSTOP" | "SIGCONT"): void {
    if (!this.#isGone) process.kill(this.#child.pid!, name);
  }

  /** Kills without warning, and waits until the process is gone. */
  async kill(): Promise<Ended> {
    this.signal("SIGKILL");
    return await this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

/** Runs a program to its end. */
export async function run(commandLine: readonly string[]): Promise<Ended> {
  await using child = new RunningProcess(commandLine);
  return await child.ended;
}

/** A sidecar: its process, and its address once it listens. */
export class Sidecar implements AsyncDisposable {
  readonly process: RunningProcess;
  /** Settles with the URL when the sidecar says that it listens; fails when it ends before. */
  readonly url: Promise<string>;

  constructor(commandLine: readonly string[]) {
    const { promise, resolve, reject } = deferred<string>();
    this.process = new RunningProcess(commandLine, (line) => {
      const url = /http:\/\/[\w.]+:\d+/.exec(line)?.[0];
      if (url !== undefined) resolve(url);
    });
    this.process.ended.then(({ code, signal, stderr }) =>
      reject(new Error(`The sidecar ended (${signal ?? code}) before it listened: ${stderr}`))
    );
    this.url = promise;
    promise.catch(() => {
      // Who kills it before it listens does not wait for the address; who does gets the error.
    });
  }

  /** A sidecar as users start it, on any free port. */
  static serve(cliCommand: readonly string[], store: string): Sidecar {
    return new Sidecar([...cliCommand, "serve", "--store", store, "--listen", "127.0.0.1:0"]);
  }

  /** Asks the sidecar to end, and waits until it has. */
  async end(): Promise<Ended> {
    this.process.signal("SIGTERM");
    return await this.process.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.kill();
  }
}

/** A promise with its handles; Node 20 has no `Promise.withResolvers`. */
export function deferred<T>(): {
  promise: Promise<T>;
  resolve: (value: T) => void;
  reject: (error: Error) => void;
} {
  let resolve!: (value: T) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
