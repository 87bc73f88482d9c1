/**
 * Runs the commands of a page as they stand there, in Bash, with the command line on the runtime that runs the test.
 * @module
 */
import { spawnSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import process from "node:process";
import { buildBinary } from "../cli/_binary.ts";
import { execute, ROOT, RUNTIME, tidemarkIn } from "../cli/_process.ts";

/** Programs that the pages use. */
const PROGRAMS = ["bash", "curl"];

/** Why tours can't run on this machine; false when they can. */
export const skip: string | false = reasonToSkip();

function reasonToSkip(): string | false {
  const missing = PROGRAMS.filter((name) => spawnSync(name, ["--version"]).error !== undefined);
  return missing.length > 0 && `${missing.join(" and ")} missing`;
}

/**
 * A port for this process. It is asked for before the sidecar has it, so it lies below those that the system hands
 * out to others.
 */
export const PORT: number = 20_000 + process.pid % 12_000;

const WAIT =
  `curl -s --retry 30 --retry-delay 1 --retry-all-errors http://127.0.0.1:${PORT}/readyz`;

/** Begins a sidecar on {@link PORT}, as lines of a script. */
export const SIDECAR = `tidemark serve & ${WAIT} > ready.json`;

/** A block of commands, and what they are said to answer. */
export interface Tour {
  readonly commands: string;
  /** Lines of answers, in order; `…` stands for anything. */
  readonly answers: readonly string[];
}

/** The first block of commands below a heading, or of the page. */
export async function tourOf(page: string, heading = ""): Promise<Tour> {
  const text = await readFile(join(ROOT, page), "utf8");
  const section = text.slice(text.indexOf(heading));
  const block = /^\`\`\`sh\n([\s\S]*?)^\`\`\`$/m.exec(section)?.[1];
  if (block === undefined || !text.includes(heading)) {
    throw new Error(`${page} has no commands below ${JSON.stringify(heading)}`);
  }
  const answers = block.split("\n").filter((line) => line.startsWith("# "));
  return { commands: block, answers: answers.map((line) => line.slice("# ".length)) };
}

/** A section of a page that has commands: all of them, and what they answer. */
export interface Section extends Tour {
  readonly title: string;
}

/** The sections of a page that have commands; what comes before the first heading has the page's title. */
export async function sectionsOf(page: string): Promise<Section[]> {
  const text = await readFile(join(ROOT, page), "utf8");
  // A line of an answer begins as the title of the page does.
  return text.replace(/^# /, "").split(/^## /m).flatMap((section) => {
    const [title] = section.split("\n");
    const blocks = [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block);
    if (blocks.length === 0) return [];
    const commands = blocks.join("");
    const answers = commands.split("\n").filter((line) => line.startsWith("# "));
    return [{ title, commands, answers: answers.map((line) => line.slice("# ".length)) }];
  });
}

/**
 * What the command line is run from. On Node the sources as they are take their time, so that a page may be run from
 * a bundle instead.
 */
export type From = "sources" | "bundle" | "binary";

/** How the command line is called here. */
async function tidemark(folder: string, from: From): Promise<string[]> {
  if (from === "binary") {
    const built = join(folder, "built");
    await mkdir(built);
    return [await buildBinary(built)];
  }
  if (RUNTIME === "node" && from === "sources") {
    return [join(ROOT, "bin/tidemark")];
  }
  return await tidemarkIn(folder);
}

/** Makes `tidemark` and `npx tidemark` commands of this checkout and this runtime. */
async function makeCommands(folder: string, from: From): Promise<string> {
  const bin = join(folder, "bin");
  await mkdir(bin);
  const words = await tidemark(bin, from);
  const call = `exec ${words.map((word) => `'${word}'`).join(" ")} "$@"`;
  const others = `{ echo "npx $1 is no part of the tour" >&2; exit 1; }`;
  const commands = { tidemark: call, npx: `[ "$1" = tidemark ] || ${others}\nshift\n${call}` };
  for (const [name, body] of Object.entries(commands)) {
    await writeFile(join(bin, name), `#!/usr/bin/env bash\n${body}\n`, { mode: 0o755 });
  }
  return bin;
}

/**
 * Runs commands to their end, in a folder; what they began in the background is gone then.
 *
 * @returns What they wrote to standard output.
 */
export async function runTour(
  folder: string,
  commands: string,
  from: From,
): Promise<string> {
  const bin = await makeCommands(folder, from);
  const script = [
    // As in a terminal, a job is a group of processes.
    "set -euo pipefail -m",
    `trap 'for job in $(jobs -p); do kill -9 -- -$job || true; done 2> /dev/null' EXIT`,
    `export PATH="${bin}${delimiter}$PATH" TIDEMARK_LISTEN=127.0.0.1:${PORT}`,
    commands.replaceAll("127.0.0.1:7460", `127.0.0.1:${PORT}`),
    "wait",
  ].join("\n");
  const { code, stdout, stderr } = await execute(["bash", "-c", script], { cwd: folder });
  // What a runtime says on its own account is nothing that a page speaks of.
  const remark = /.*(?:legacy|deprecat|experimental).*/i.exec(stderr)?.[0];
  if (remark !== undefined) throw new Error(`The commands were not silent: ${remark}`);
  if (code === 0) return stdout;
  throw new Error(`The commands ended with ${code}: ${stderr}\nBefore that:\n${stdout}`);
}

/** The first answer that is not in the output, in order; undefined when all are. */
export function missingAnswer(output: string, answers: readonly string[]): string | undefined {
  let at = 0;
  for (const answer of answers) {
    const pattern = answer.split("…").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const match = new RegExp(pattern.join("[^\\n]*?")).exec(output.slice(at));
    if (match === null) return answer;
    at += match.index + match[0].length;
  }
  return undefined;
}
