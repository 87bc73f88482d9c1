/**
 * What a command line needs of the process it runs in.
 *
 * Owns: standard streams, files named as arguments, signals, the exit.
 * Does not own: what is written to them (`src/cli`).
 * @module
 */
import process from "node:process";
import { dirname, resolve } from "node:path";
import { isatty } from "node:tty";
import {
  checkInputFile,
  createOutputFile,
  type InputFile,
  openInputFile,
  type OutputFile,
  readFileInPieces,
} from "./_cli_files.ts";
import { readStandardInput, writeStandardOutput } from "./_cli_streams.ts";
import {
  type FetchHandler,
  type HttpServer,
  serveHttp,
  type ServeHttpOptions,
} from "./http_server.ts";

import { tryDisk } from "./folder_look.ts";
import { makeTemporaryFolder, type TemporaryFolder } from "./temporary_folder.ts";

export type { InputFile, OutputFile } from "./_cli_files.ts";
export { BrokenPipeError } from "./_cli_streams.ts";

/** Signals that ask a process to end. */
export type StopSignal = "SIGINT" | "SIGTERM";

/** A time to wait for. */
export interface Timeout {
  /** Settles when the time is over; never once it is forgotten. */
  readonly over: Promise<void>;
  /** Forgets it. */
  cancel(): void;
}

/** The process as a command sees it; tests pass one of their own. */
export interface CliIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether a person watches stderr. */
  readonly isErrorTerminal: boolean;
  /** Width of the terminal that stderr is, in columns; 0 where that is not known. */
  errorColumns(): number;
  /** Whether a person types into stdin. */
  readonly isInputTerminal: boolean;
  /** Standard input, piece by piece. */
  readInput(): AsyncIterable<Uint8Array>;
  /**
   * Writes to stdout; settles when there is room for more.
   *
   * @throws {BrokenPipeError} when nobody reads any more
   * @throws {TidemarkError} `storage-full`, `storage-unavailable`
   */
  writeOutput(bytes: Uint8Array): Promise<void>;
  /** Writes to stderr. */
  writeError(text: string): void;
  /**
   * Checks that {@link readFile} can begin.
   *
   * @returns The file's size in bytes; undefined for what has none, such as a pipe.
   * @throws {TidemarkError} as {@link readFile}
   */
  checkFile(path: string): Promise<number | undefined>;
  /**
   * A file's bytes, piece by piece.
   *
   * @throws {TidemarkError} `invalid-request`, `storage-denied`, `storage-unavailable`
   */
  readFile(path: string): AsyncIterable<Uint8Array>;
  /** Opens a file to read parts of it. @throws {TidemarkError} as {@link readFile} */
  openFile(path: string): Promise<InputFile>;
  /**
   * Begins a file.
   *
   * @throws {TidemarkError} `invalid-request`, `storage-denied`, `storage-full`,
   *   `storage-unavailable`
   */
  createFile(path: string): Promise<OutputFile>;
  /** Makes a path absolute. @param from Folder that it starts from. @default the working folder */
  absolutePath(path: string, from?: string): string;
  /** The folder that a path is in. */
  folderOf(path: string): string;
  /** Makes a folder in `parent` for a while. */
  temporaryFolder(parent: string, prefix: string): Promise<TemporaryFolder>;
  /** Syncs a small file of a folder some times; answers how long each took, in milliseconds. */
  measureSyncs(folder: string): Promise<readonly number[]>;
  serve(handler: FetchHandler, options: ServeHttpOptions): Promise<HttpServer>;
  fetch(request: Request): Promise<Response>;
  /** Calls `listener` at each signal that asks the process to end, until the answer is called. */
  onStopSignal(listener: (signal: StopSignal) => void): () => void;
  /** Calls `listener` at each signal that asks for settings to be read anew, until the answer is called. */
  onReloadSignal(listener: () => void): () => void;
  /** A time that can be waited for, and forgotten. */
  timeout(delayMs: number): Timeout;
  /** Waits. */
  sleep(delayMs: number): Promise<void>;
  monotonicMs(): number;
  /** Wall-clock time in milliseconds since 1970. */
  nowMs(): number;
  /** Ends the process at once. */
  exit(code: number): void;
}

/** The {@link CliIo} of this process. */
export function createCliIo(): CliIo {
  return {
    env: readableEnvironment(),
    isErrorTerminal: process.stderr.isTTY === true,
    errorColumns: () => process.stderr.columns ?? 0,
    isInputTerminal: isatty(0),
    readInput: readStandardInput,
    writeOutput: writeStandardOutput,
    writeError: (text) => void process.stderr.write(text),
    checkFile: checkInputFile,
    readFile: readFileInPieces,
    openFile: openInputFile,
    createFile: createOutputFile,
    absolutePath: (path, from = "") => resolve(from, path),
    folderOf: dirname,
    temporaryFolder: makeTemporaryFolder,
    measureSyncs: async (folder) => (await tryDisk(folder)).syncMs,
    serve: serveHttp,
    fetch: (request) => fetch(request),
    onStopSignal,
    onReloadSignal,
    timeout,
    sleep: (delayMs) => new Promise((resolve) => setTimeout(resolve, delayMs)),
    monotonicMs: () => performance.now(),
    nowMs: () => Date.now(),
    exit: (code) => process.exit(code),
  };
}

function onStopSignal(listener: (signal: StopSignal) => void): () => void {
  process.on("SIGINT", listener);
  process.on("SIGTERM", listener);
  return () => {
    process.off("SIGINT", listener);
    process.off("SIGTERM", listener);
  };
}

/** The environment; what Deno doesn't let the process see counts as unset. */
function readableEnvironment(): CliIo["env"] {
  const valueOf = (name: string | symbol) => unlessDenied(() => process.env[String(name)]);
  return new Proxy<CliIo["env"]>({}, {
    get: (_target, name) => valueOf(name),
    ownKeys: () => unlessDenied(() => Object.keys(process.env)) ?? [],
    getOwnPropertyDescriptor(_target, name) {
      const value = valueOf(name);
      return value === undefined ? value : { value, enumerable: true, configurable: true };
    },
  });
}

function unlessDenied<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if ((error as Error).name === "NotCapable") return undefined;
    throw error;
  }
}

function onReloadSignal(listener: () => void): () => void {
  process.on("SIGHUP", listener);
  return () => void process.off("SIGHUP", listener);
}

function timeout(delayMs: number): Timeout {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<void>((resolve) => timer = setTimeout(resolve, delayMs));
  return { over, cancel: () => clearTimeout(timer) };
}

/**
 * Runs a command line to its end and ends the process with its code.
 *
 * @param main Answers the exit code.
 */
export async function runProcess(
  main: (args: string[], io: CliIo) => Promise<number>,
): Promise<void> {
  process.stderr.on("error", () => {
    // Whoever read the messages is gone, and nobody left to tell: what is being done goes on.
  });
  process.exitCode = await main(process.argv.slice(2), createCliIo());
  process.exit();
}
