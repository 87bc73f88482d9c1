/**
 * Runs command lines in this process: real files and stores, everything else is the test's.
 * @module
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { main } from "../../src/cli/cli.ts";
import type { OpenStore } from "../../src/cli/command.ts";
import { type CliIo, createCliIo, type StopSignal } from "../../src/runtime/cli_io.ts";

/** What a command line did. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stdoutBytes: Uint8Array;
  readonly stderr: string;
  /** The result as JSON. */
  // deno-lint-ignore no-explicit-any
  readonly json: any;
}

/** What a command line is given besides its arguments. */
export interface RunOptions {
  stdin?: string | Uint8Array | AsyncIterable<Uint8Array>;
  env?: Record<string, string>;
  isErrorTerminal?: boolean;
  isInputTerminal?: boolean;
  io?: Partial<CliIo>;
  /** Opens stores. @default as the process does */
  openStore?: OpenStore;
}

/** An input or output of a test: parts of the process. */
export class TestIo {
  readonly io: CliIo;
  readonly #stdout: Uint8Array[] = [];
  readonly #signals = new Set<(signal: StopSignal) => void>();
  stderr = "";
  /** Codes that the process was ended with at once. */
  readonly exits: number[] = [];
  readonly #openStore: OpenStore | undefined;

  constructor(options: RunOptions = {}) {
    const { stdin = "", env = {}, isErrorTerminal = false, isInputTerminal = false } = options;
    this.#openStore = options.openStore;
    this.io = {
      ...createCliIo(),
      env,
      isErrorTerminal,
      isInputTerminal,
      readInput: () =>
        typeof stdin === "string" || stdin instanceof Uint8Array ? once(stdin) : stdin,
      writeOutput: (bytes) => this.write(bytes),
      writeError: (text) => void (this.stderr += text),
      onStopSignal: (listener) => {
        this.#signals.add(listener);
        return () => void this.#signals.delete(listener);
      },
      sleep: () => Promise.resolve(),
      exit: (code) => void this.exits.push(code),
      ...options.io,
    };
  }

  /** Takes what a command writes to stdout. */
  write(bytes: Uint8Array): Promise<void> {
    this.#stdout.push(bytes.slice());
    return Promise.resolve();
  }

  /** Whether a command waits for signals by now. */
  get isListeningToSignals(): boolean {
    return this.#signals.size > 0;
  }

  /** Sends a signal. */
  signal(name: StopSignal): void {
    for (const listener of this.#signals) listener(name);
  }

  get stdoutBytes(): Uint8Array {
    const bytes = new Uint8Array(this.#stdout.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of this.#stdout) {
      bytes.set(part, at);
      at += part.length;
    }
    return bytes;
  }

  get stdout(): string {
    return new TextDecoder().decode(this.stdoutBytes);
  }

  /** Runs a command line to its end. */
  async run(args: readonly string[]): Promise<Ran> {
    const code = await main(args, this.io, this.#openStore);
    const { stdout, stdoutBytes, stderr } = this;
    const isJson = args.includes("--json") && stdout.startsWith("{");
    return {
      code,
      stdout,
      stdoutBytes,
      stderr,
      // Data, which may look like it, is not read before somebody asks.
      get json() {
        return isJson ? JSON.parse(stdout) : undefined;
      },
    };
  }
}

/** Runs one command line. */
export async function run(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return await new TestIo(options).run(args);
}

/** Gives a new folder to `use`, and removes it. */
export async function withFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tidemark-cli-"));
  try {
    await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Gives the path of a store with some changes in writer `w` of job `j` to `use`. */
export async function withStore(
  use: (store: string, folder: string) => Promise<void>,
  lines = "one\ntwo\nthree\n",
): Promise<void> {
  await withFolder(async (folder) => {
    const store = join(folder, "store");
    await run(["append", "--store", store, "--job", "j", "--writer", "w"], { stdin: lines });
    await use(store, folder);
  });
}

async function* once(input: string | Uint8Array): AsyncGenerator<Uint8Array> {
  const bytes = typeof input === "string" ? new TextEncoder().encode(input) : input;
  if (bytes.length > 0) yield await Promise.resolve(bytes);
}
