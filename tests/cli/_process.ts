/**
 * The command line as a process, on the runtime that runs the test.
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

/** Root of the checkout. */
export const ROOT: string = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

const MAIN = join(ROOT, "src/cli/main.ts");

/** The runtime that runs this test. */
export const RUNTIME: "deno" | "bun" | "node" = process.versions.deno !== undefined
  ? "deno"
  : process.versions.bun !== undefined
  ? "bun"
  : "node";

/**
 * The command line of Tidemark on this runtime. Node takes longer to translate the sources than to
 * run them, so for Node they are bundled first, into `folder`.
 */
export async function tidemarkIn(folder: string): Promise<string[]> {
  if (RUNTIME === "deno") return [process.execPath, "run", "-A", "--quiet", MAIN];
  if (RUNTIME === "bun") return [process.execPath, MAIN];
  const bundle = join(folder, "tidemark.mjs");
  const build = ["build", MAIN, "--target=node", "--format=esm", `--outfile=${bundle}`];
  const { code, stderr } = await execute([join(ROOT, "node_modules/.bin/bun"), ...build]);
  if (code !== 0) throw new Error(`Cannot bundle ${MAIN}: ${stderr}`);
  return [process.execPath, bundle];
}

/** How a process ended. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A process under way; `await using` kills it. */
export class Running implements AsyncDisposable {
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  #output = { stdout: "", stderr: "" };
  #watchers: (() => void)[] = [];
  #isGone = false;

  constructor(command: readonly string[], cwd: string = ROOT) {
    const [program, ...args] = command;
    const env = environment();
    const child = spawn(program, args, { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
    this.#child = child;
    // One that ends before it has read all of its input is judged by how it ends.
    child.stdin.on("error", (error: Error & { code?: string }) => {
      if (error.code !== "EPIPE" && error.code !== "ERR_STREAM_DESTROYED") throw error;
    });
    child.once("exit", () => this.#isGone = true);
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8").on("data", (text: string) => {
        this.#output[name] += text;
        for (const watcher of this.#watchers) watcher();
      });
    }
    this.ended = once(child, "close").then(([code]) => ({ code, ...this.#output }));
  }

  /** Waits until an output matches; fails when the process ends before. */
  async said(name: "stdout" | "stderr", pattern: RegExp): Promise<RegExpExecArray> {
    const found = new Promise<RegExpExecArray>((resolve) => {
      const look = (): void => {
        const match = pattern.exec(this.#output[name]);
        if (match !== null) resolve(match);
      };
      this.#watchers.push(look);
      look();
    });
    const ended = this.ended.then(({ code, stdout, stderr }) => {
      throw new Error(`Ended with ${code} before it said ${pattern}: ${stdout}${stderr}`);
    });
    return await Promise.race([found, ended]);
  }

  /** Writes to its standard input. */
  write(text: string): void {
    this.#child.stdin!.write(text);
  }

  /** Reads its messages no more. */
  leaveErrors(): void {
    this.#child.stderr!.destroy();
  }

  /** Ends its standard input. */
  end(text = ""): void {
    this.#child.stdin!.end(text);
  }

  signal(name: "SIGTERM" | "SIGINT" | "SIGHUP" | "SIGKILL"): void {
    // Not by the child's own method: Deno then reports the signal in place of the exit code.
    if (!this.#isGone) process.kill(this.#child.pid!, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.signal("SIGKILL");
    await this.ended;
  }
}

/** What this process has of an environment, settings of Tidemark aside. */
function environment(): Record<string, string | undefined> {
  const given = Object.entries(process.env).filter(([name]) => !name.startsWith("TIDEMARK_"));
  return Object.fromEntries(given);
}

/** Runs a command to its end. */
export async function execute(
  command: readonly string[],
  options: { stdin?: string; cwd?: string } = {},
): Promise<Ended> {
  await using running = new Running(command, options.cwd);
  running.end(options.stdin);
  return await running.ended;
}
