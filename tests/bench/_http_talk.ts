/** Processes that are asked line by line: each line of JSON on stdin is answered by one on stdout. @module */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** How to begin a TypeScript program on this runtime, as a sidecar is begun. */
export function thisRuntime(): string[] {
  if (process.versions.deno !== undefined) {
    return [process.execPath, "run", ...taskFlags(), "-A", "--quiet"];
  }
  if (process.versions.bun !== undefined) return [process.execPath];
  const [program, ...flags] = node();
  return [program, ...sidecarFlags(), ...flags];
}

/** What `deno task serve` begins Deno's engine with. */
function taskFlags(): string[] {
  return readFileSync(`${ROOT}deno.json`, "utf8").match(/--v8-flags=[\w,-]+/g) ?? [];
}

/** What `npx tidemark` begins Node with. */
function sidecarFlags(): string[] {
  return launcher().match(/--[\w-]+=\w+/g) ?? [];
}

/** The variables that it begins Node with, unless they are set. */
function sidecarVariables(): Record<string, string> {
  if (process.versions.deno !== undefined || process.versions.bun !== undefined) return {};
  const set = launcher().matchAll(/^export (\w+)="\$\{\1:-(\w+)\}"$/gm);
  return Object.fromEntries([...set].map(([, name, value]) => [name, value]));
}

function launcher(): string {
  return readFileSync(`${ROOT}bin/tidemark`, "utf8");
}

/** How to begin one on Node, from any runtime; on Node as this process was begun. */
export function node(): string[] {
  const { deno, bun } = process.versions;
  if (deno !== undefined || bun !== undefined) return ["node", "--import", "tsx"];
  return [process.execPath, ...process.execArgv];
}

/** A process that answers. */
export class Talk {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #what: string;

  constructor([program, ...flags]: readonly string[], file: string, args: readonly string[]) {
    this.#what = `${file} ${args.join(" ")}`;
    const path = fileURLToPath(new URL(`./${file}`, import.meta.url));
    this.#child = spawn(program, [...flags, path, ...args], {
      cwd: ROOT,
      env: { ...sidecarVariables(), ...process.env },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#lines = linesOf(this.#child.stdout!)[Symbol.asyncIterator]();
  }

  /** Sends a request and waits for its answer; one at a time. */
  async ask<Answer>(request: unknown): Promise<Answer> {
    this.#child.stdin!.write(`${JSON.stringify(request)}\n`);
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`Cannot ask ${this.#what}: it has ended`);
    return JSON.parse(value) as Answer;
  }

  /** Waits until the process has ended by itself, as it does when nothing more is asked. */
  async end(): Promise<void> {
    const { stdin, exitCode } = this.#child;
    const ended = exitCode ?? new Promise((resolve) => this.#child.once("exit", resolve));
    stdin!.end();
    const code = await ended;
    if (code !== 0) throw new Error(`Cannot end ${this.#what}: it ended with ${code}`);
  }

  /** Ends the process at once. */
  kill(): void {
    this.#child.kill("SIGKILL");
  }
}

/** The other side: answers each request until there are no more. */
export async function answerRequests<Request>(
  answer: (request: Request) => unknown,
): Promise<void> {
  for await (const line of linesOf(process.stdin)) {
    process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line)) ?? null)}\n`);
  }
}

function linesOf(input: NodeJS.ReadableStream): Interface {
  return createInterface({ input });
}
