/**
 * Builds the single binary by `bun build --compile`, with the facts of its build in it.
 *
 *   node tools/build_binary.mjs                      dist/tidemark, for this machine
 *   node tools/build_binary.mjs --outfile PATH       elsewhere
 *   node tools/build_binary.mjs --target linux-arm64 dist/tidemark-linux-arm64
 *   node tools/build_binary.mjs --all                every target, each under its name
 *   node tools/build_binary.mjs --linux              those that are supported
 *
 * Bun fetches what another target needs from npm.
 * @module
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { runMain } from "./_main.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SUPPORTED = ["linux-x64", "linux-arm64"];
const UNSUPPORTED = ["darwin-x64", "darwin-arm64", "windows-x64"];

/** @param {string[]} command */
function output(command) {
  const { status, stdout, stderr, error } = spawnSync(command[0], command.slice(1), {
    cwd: ROOT,
    encoding: "utf8",
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`Cannot run ${command.join(" ")}: ${stderr}${stdout}`);
  return stdout.trim();
}

/** What the sources are: by the commit and its date, so that the same sources make the same binary. */
function sourceFacts() {
  if (spawnSync("git", ["rev-parse", "HEAD"], { cwd: ROOT }).status !== 0) {
    return { commit: "unknown", committedAt: "unknown", isChanged: false };
  }
  const [commit, committedAt] = output(["git", "log", "-1", "--format=%H %cI"]).split(" ");
  return { commit, committedAt, isChanged: output(["git", "status", "--porcelain"]) !== "" };
}

/** @param {string} target @param {string} outfile */
function build(target, outfile) {
  const facts = { ...sourceFacts(), target };
  output([
    join(ROOT, "node_modules/.bin/bun"),
    ...["build", "--compile", "--minify", "--bytecode", "--format=esm"],
    `--target=bun-${target}`,
    `--define=TIDEMARK_BUILD=${JSON.stringify(facts)}`,
    `--outfile=${outfile}`,
    join(ROOT, "src/cli/main.ts"),
  ]);
  console.log(`${outfile}: ${target}, ${facts.commit}${facts.isChanged ? ", with changes" : ""}`);
  if (!UNSUPPORTED.includes(target)) return;
  console.log(`  not supported: docs/PLATFORMS.md says what does not hold on ${target}`);
}

function hostTarget() {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  return `${platform}-${process.arch}`;
}

/** @param {string} target */
function outfileOf(target) {
  return join(ROOT, `dist/tidemark-${target}${target.startsWith("windows") ? ".exe" : ""}`);
}

/** @returns {void} */
function main() {
  const { values } = parseArgs({
    options: {
      outfile: { type: "string" },
      target: { type: "string" },
      linux: { type: "boolean", default: false },
      all: { type: "boolean", default: false },
    },
  });
  const targets = values.all ? [...SUPPORTED, ...UNSUPPORTED] : values.linux ? SUPPORTED : [];
  for (const target of targets) build(target, outfileOf(target));
  if (targets.length > 0) return;
  const target = values.target ?? hostTarget();
  if (![...SUPPORTED, ...UNSUPPORTED].includes(target)) {
    throw new RangeError(
      `Cannot build for ${target}: there are ${[...SUPPORTED, ...UNSUPPORTED].join(", ")}`,
    );
  }
  const named = values.target === undefined ? join(ROOT, "dist/tidemark") : outfileOf(target);
  build(target, values.outfile ?? named);
}

await runMain(main);
