/**
 * What the matrix of commands and sides runs of each command: one command line, on the job that is
 * prepared.
 * @module
 */
import { changesFromLines } from "../../src/engine/format/change_input.ts";
import { formatHash } from "../../src/engine/format/hash_text.ts";
import { xxh64 } from "../../wasm/mod.ts";
import type { Side } from "../../src/cli/command.ts";
import type { RunOptions, TestIo } from "./_run.ts";

/** What a command line may name of the prepared store. */
export interface Prepared {
  /** Uuids of the job's checkpoints, oldest first. */
  readonly uuids: readonly string[];
  /** A folder for what the command writes; its own on each side. */
  readonly folder: string;
}

/** One command line of the matrix. */
export interface SideCase {
  /** Arguments behind the command's name, the side's own aside. */
  args(prepared: Prepared): readonly string[];
  readonly options?: (io: () => TestIo) => RunOptions;
  /** Fields of the answer that can't be the same on both sides, and why. */
  /** How it ends. @default 0 */
  readonly code?: number;
  /** Whether stdout is data, and no answer in JSON. @default false */
  readonly isText?: boolean;
  /** Sides on which it is confirmed with `--yes`, which the other does not take. @default none */
  readonly yes?: readonly Side[];
  /** The part of the answer that is the same on both sides, where more than a field differs. */
  // deno-lint-ignore no-explicit-any
  alike?(answer: any): unknown;
  readonly differs?: Readonly<Record<string, string>>;
}

const J = ["--job", "j"];
const NEW_EPOCH = "with --store the command is an owner of its own";
const W = [...J, "--writer", "w"];

/** Waits that end with a signal: a command that follows looks so often, and ends. */
function endAfter(io: () => TestIo, waits: number): () => Promise<void> {
  return async () => {
    await Promise.resolve();
    if (--waits === 0) io().signal("SIGINT");
  };
}

/** A folder on the disk in memory in place of one below the store. */
const MEASURED = {
  temporaryFolder: () =>
    Promise.resolve({ path: "/disk/bench", [Symbol.asyncDispose]: () => Promise.resolve() }),
  measureSyncs: () => Promise.resolve([1, 2, 3]),
};

/** An export of one change. */
function exportOf(writer: string, data: string): string {
  const { bytes } = changesFromLines(new TextEncoder().encode(data));
  const end = { writer, from: 0, to: 1, hash: formatHash(xxh64(bytes)) };
  return [{ writer, offset: 0, data }, { end: { writers: [end] } }]
    .map((line) => `${JSON.stringify(line)}\n`).join("");
}

/** By command; the matrix fails for one that is not here. */
export const SIDE_CASES: Readonly<Record<string, SideCase>> = {
  serve: {
    args: () => ["--listen", "127.0.0.1:0"],
    options: (io) => ({
      io: {
        serve: () =>
          Promise.resolve({
            hostname: "127.0.0.1",
            port: 1,
            url: "http://127.0.0.1:1",
            close: () => Promise.resolve(),
          }),
        writeOutput: (bytes) => {
          io().signal("SIGTERM");
          return io().write(bytes);
        },
      },
    }),
  },
  append: { args: () => W, options: () => ({ stdin: "four\nfive\n" }) },
  checkpoint: {
    args: () => [...J, "--identifier", "evening", "--steps", "9", "--state", "index=-"],
    options: () => ({ stdin: "a state" }),
    differs: { epoch: NEW_EPOCH },
  },
  status: {
    args: () => [],
    alike: ({ store, jobs, warnings }) => {
      const { location: _at, uptimeMs: _since, ...facts } = store;
      const { owner: _owner, isServing: _isServing, ...job } = jobs[0];
      return { facts, job, warnings };
    },
  },
  ls: { args: () => J },
  show: { args: () => J },
  restore: { args: ({ folder }) => [...W, "--at", "tail", "-o", `${folder}/out`] },
  tail: {
    args: () => [...J, "--from", "1", "--format", "ndjson"],
    options: (io) => ({ io: { sleep: endAfter(io, 2) } }),
    code: 130,
    isText: true,
  },
  state: { args: ({ folder }) => ["index", ...J, "-o", `${folder}/out`] },
  export: { args: ({ folder }) => [...J, "--at", "tail", "-o", `${folder}/out`] },
  import: { args: () => J, options: () => ({ stdin: exportOf("v", "four") }) },
  resume: { args: ({ uuids }) => [...J, "--at", uuids[0]], differs: { epoch: NEW_EPOCH } },
  retire: {
    args: () => [...W, "--yes"],
    differs: { checkpoint: "with --store nobody else would make it" },
  },
  truncate: {
    args: () => [...W, "--yes"],
    differs: { checkpoint: "with --store nobody else would make it" },
  },
  verify: { args: () => [...J, "--full"] },
  du: { args: () => J },
  retention: { args: () => [...J, "--max-count", "7"] },
  pin: { args: ({ uuids }) => [...J, uuids[0], "--reason", "why not"] },
  unpin: { args: ({ uuids }) => [...J, uuids[1]] },
  delete: { args: ({ uuids }) => [...J, uuids[0], "--yes"] },
  bench: {
    args: () => ["--time", "20ms", "--bytes-max", "65536"],
    options: () => ({ io: MEASURED }),
    yes: ["url"],
    alike: ({ place: _place, sync: _sync, notes: _notes, ...figures }) =>
      Object.entries(figures).map(([name, value]) => [name, Object.keys(Object(value))]),
  },
  doctor: { args: () => [], differs: { checks: "each side has its own", result: "of these" } },
  config: { args: () => [], differs: { settings: "it shows which side was named" } },
  "delete-job": { args: () => [...J, "--yes"] },
  gc: { args: ({ uuids }) => [...J, "--yes", "--now", "--except", uuids[1]] },
  salvage: {
    args: () => [...J, "--dry-run"],
    differs: { id: "it names the plan of this very store" },
  },
};
