/**
 * The demo: counts the words of a real text by a pipeline that keeps its state in a Tidemark sidecar,
 * kills both again and again, and compares the result with a count made in one go.
 *
 *     npm run demo -- [--seed N] [--runtime bun|deno|node] [--megabytes N]
 *
 * @module
 */
import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { planKills } from "./kill_plan.ts";
import { megabytes, Screen, thousands } from "./screen.ts";
import { Supervisor } from "./supervisor.ts";
import { gatherText } from "./text.ts";
import { compareCounts, countWords } from "./words.ts";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const BIN = join(ROOT, "node_modules", ".bin");
const CLI = join(ROOT, "src", "cli", "main.ts");
const CLI_OF_RUNTIME: Readonly<Record<string, readonly string[]>> = {
  bun: [join(BIN, "bun"), CLI],
  deno: [join(BIN, "deno"), "run", "-A", CLI],
  node: [process.execPath, "--import", "tsx", CLI],
};
const SEED_COUNT = 1_000_000;
const RESTORE_BYTES_MAX = 2 ** 28;

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: `${Math.floor(Math.random() * SEED_COUNT)}` },
    runtime: { type: "string", default: "bun" },
    megabytes: { type: "string", default: "4" },
  },
});
const cli = CLI_OF_RUNTIME[values.runtime];
if (cli === undefined) {
  const names = Object.keys(CLI_OF_RUNTIME).join(", ");
  throw new RangeError(`Cannot run the sidecar under "${values.runtime}": the choice is ${names}`);
}
const folder = await mkdtemp(join(tmpdir(), "tidemark-demo-"));
try {
  await demonstrate(Number(values.seed), Number(values.megabytes));
  await rm(folder, { recursive: true });
} catch (error) {
  console.error(error);
  console.error(`\nThe demo failed. Its seed is ${values.seed}; store and text are in ${folder}`);
  process.exit(1);
}

async function demonstrate(seed: number, size: number): Promise<void> {
  const screen = new Screen();
  screen.title("Tidemark: a word count that survives kill -9");

  const { text, files } = await gatherText(join(ROOT, "node_modules"), size * 1e6);
  const textPath = join(folder, "text.txt");
  await writeFile(textPath, text);
  const textBytes = (await stat(textPath)).size;
  const lineCount = text.split("\n").length;
  const lines = thousands(lineCount);
  screen.say(
    "text",
    `${lines} lines, ${megabytes(textBytes)}, from ${files} files of node_modules`,
  );
  screen.say("seed", `${seed}; "npm run demo -- --seed ${seed}" plans the same kills`);

  const store = join(folder, "store");
  const supervisor = new Supervisor({ cli, store, textPath, lineCount, screen });
  await supervisor.run(planKills(seed));

  const found = await restoreCounts(store);
  compareCounts(found, countWords(text));
  screen.say("equal", `${thousands(found.size)} words on disk, each as often as counted in one go`);

  const { progress, kills } = supervisor;
  screen.table([
    ["lines", lines, `and ${thousands(progress.linesRewound)} again after a rewind`],
    [
      "changes",
      thousands(progress.changes),
      `and ${thousands(progress.changesSent - progress.changes)} again`,
    ],
    ["bytes in", megabytes(progress.bytesSent), "of changes"],
    ["bytes on disk", megabytes(await bytesBelow(store)), "the whole store"],
    ["checkpoints", thousands(progress.checkpoints)],
    [
      "kills",
      `${kills.sidecar + kills.pipeline}`,
      `sidecar (${values.runtime}) ${kills.sidecar}, pipeline ${kills.pipeline}`,
    ],
    ["repeated requests", `${progress.repeatedRequests}`, "unanswered when the sidecar was killed"],
    ["time", `${(screen.elapsedMs / 1000).toFixed(1)} s`],
  ]);
}

/** Reads the newest checkpoint back from disk by the command line; no sidecar runs any more. */
async function restoreCounts(store: string): Promise<Map<string, number>> {
  const [program, ...args] = cli;
  const what = ["--store", store, "--job", "word-count", "--writer", "counts"];
  const { stdout } = await promisify(execFile)(
    program,
    [...args, "restore", ...what, "--at", "latest", "--format", "lines"],
    { maxBuffer: RESTORE_BYTES_MAX },
  );
  const counts = new Map<string, number>();
  for (const line of stdout.trimEnd().split("\n")) {
    const [word, count] = line.split("\t");
    counts.set(word, Number(count));
  }
  return counts;
}

async function bytesBelow(path: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(path, { recursive: true })) {
    const info = await stat(join(path, name));
    if (info.isFile()) bytes += info.size;
  }
  return bytes;
}
