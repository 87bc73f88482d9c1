/**
 * How long the single binary takes to start: until it has printed its version, and until `serve` listens, on a new
 * store and on one that is there. Beside it a compiled program that only prints a word, which is the least there is,
 * and the same from the sources by Bun. Each once per round, in turns. Whichever runtime runs the bench, the figures
 * are the same programs'.
 * @module
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { barAtMost, type BenchOptions, type BenchResult, median } from "./_bench.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MAIN = join(ROOT, "src/cli/main.ts");
const BUN = join(ROOT, "node_modules/.bin/bun");
const START_MS_MAX = 100;
const ROUNDS = 21;

/** A program, and whether it goes on once it has said something. */
interface Start {
  readonly name: string;
  readonly command: readonly string[];
  readonly isServer?: boolean;
}

/** Runs the bench; some 20 seconds. */
export async function run({ smoke = false }: BenchOptions): Promise<BenchResult> {
  const folder = await mkdtemp(join(tmpdir(), "tidemark-bench-"));
  try {
    const starts = smoke ? [versionOf("sources, --version", [BUN, MAIN])] : await buildAll(folder);
    const times = await measure(starts, folder, smoke ? 1 : ROUNDS);
    const rows = starts.map(({ name }, i) => ({
      "start": name,
      "median ms": median(times[i]),
      "fastest ms": Math.min(...times[i]),
      "slowest ms": Math.max(...times[i]),
    }));
    const bars = starts.flatMap(({ name }, i) =>
      name.startsWith("binary") ? [barAtMost(`${name}, ms`, START_MS_MAX, median(times[i]))] : []
    );
    return { title: "Start of the single binary", rows, bars };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function buildAll(folder: string): Promise<Start[]> {
  const [binary, hello] = [join(folder, "tidemark"), join(folder, "hello")];
  execute(["node", join(ROOT, "tools/build_binary.mjs"), "--outfile", binary]);
  await writeFile(join(folder, "hello.ts"), 'console.log("hello");\n');
  const build = ["build", "--compile", "--minify", "--bytecode", "--format=esm"];
  execute([BUN, ...build, `--outfile=${hello}`, join(folder, "hello.ts")]);
  const serve = (command: readonly string[], store: string): readonly string[] => [
    ...command,
    ...["serve", "--listen", "127.0.0.1:0", "--store", join(folder, store)],
  ];
  return [
    { name: "compiled hello", command: [hello] },
    versionOf("binary, --version", [binary]),
    { name: "binary, serve, store is there", command: serve([binary], "kept"), isServer: true },
    { name: "binary, serve, new store", command: serve([binary], "new"), isServer: true },
    versionOf("sources, --version", [BUN, MAIN]),
    { name: "sources, serve, store is there", command: serve([BUN, MAIN], "kept"), isServer: true },
  ];
}

function versionOf(name: string, command: readonly string[]): Start {
  return { name, command: [...command, "--version"] };
}

function execute(command: readonly string[]): void {
  const { status, stderr, error } = spawnSync(command[0], command.slice(1), { encoding: "utf8" });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`Cannot run ${command.join(" ")}: ${stderr}`);
}

/** Milliseconds of each round, per program. */
async function measure(
  starts: readonly Start[],
  folder: string,
  rounds: number,
): Promise<number[][]> {
  const times: number[][] = starts.map(() => []);
  // The first run of each fills the page cache, and makes the store that is kept.
  for (let round = -1; round < rounds; round++) {
    for (let turn = 0; turn < starts.length; turn++) {
      const index = (turn + Math.max(round, 0)) % starts.length;
      await rm(join(folder, "new"), { recursive: true, force: true });
      const ms = await timeOf(starts[index]);
      if (round >= 0) times[index].push(ms);
    }
  }
  return times;
}

/** Milliseconds until it has said something; a server is then ended. */
async function timeOf({ command, isServer = false }: Start): Promise<number> {
  const startMs = performance.now();
  const child: ChildProcess = spawn(command[0], command.slice(1), {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = once(child, "close");
  const spoke = once(child.stdout!, "data").then(() => performance.now() - startMs);
  const ms = await Promise.race([
    spoke,
    ended.then(([code]) => {
      throw new Error(`${command.join(" ")} ended with ${code} and said nothing`);
    }),
  ]);
  if (isServer) child.kill("SIGKILL");
  await ended;
  return ms;
}
