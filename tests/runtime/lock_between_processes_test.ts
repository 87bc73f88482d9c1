/** The lock between real processes, on every mix of the runtimes. */
import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn, spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "./temporary_folder.ts";

const PROJECT = fileURLToPath(new URL("../..", import.meta.url));
const HOLDER = fileURLToPath(new URL("lock_holder.ts", import.meta.url));

const BUN = "node_modules/.bin/bun";

const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  node: ["node"],
  deno: ["node_modules/.bin/deno", "run", "-A"],
  bun: [BUN, "run"],
};

const MISSING = Object.entries(COMMANDS)
  .filter(([, [program]]) => spawnSync(program, ["--version"], { cwd: PROJECT }).status !== 0)
  .map(([name]) => name);

/** Makes one file of the holder's program, which starts sooner than its sources: a module or a binary. */
function build(target: string, ...options: string[]): void {
  const built = spawnSync(BUN, ["build", ...options, `--outfile=${target}`, HOLDER], {
    cwd: PROJECT,
    encoding: "utf8",
  });
  assert.equal(built.status, 0, built.stderr);
}

class Holder {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<void>;

  constructor(readonly runtime: string, module: string, folder: string) {
    const [program, ...args] = COMMANDS[runtime];
    this.#child = spawn(program, [...args, module, folder], {
      cwd: PROJECT,
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
    this.#ended = new Promise((resolve) => this.#child.once("exit", () => resolve()));
  }

  get processId(): number | undefined {
    return this.#child.pid;
  }

  async answer(): Promise<string> {
    const { value, done } = await this.#lines.next();
    assert.ok(done !== true, `${this.runtime} ended`);
    return value;
  }

  async ask(command: string): Promise<string> {
    this.#child.stdin.write(`${command}\n`);
    return await this.answer();
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }

  async end(): Promise<void> {
    this.#child.stdin.end();
    await this.#ended;
  }
}

async function start(
  runtimes: readonly string[],
  module: string,
  folder: string,
): Promise<Holder[]> {
  const holders = runtimes.map((runtime) => new Holder(runtime, module, folder));
  for (const holder of holders) assert.equal(await holder.answer(), "ready");
  return holders;
}

const RUNTIMES = Object.keys(COMMANDS);

async function takeTurns(owner: Holder, rival: Holder): Promise<void> {
  const pair = `${owner.runtime} and ${rival.runtime}`;
  assert.equal(await owner.ask("lock"), "locked 0", pair);
  assert.equal(await rival.ask("lock"), `job-busy ${owner.processId}`, pair);
  assert.equal(await owner.ask("unlock"), "unlocked", pair);
  assert.equal(await rival.ask("lock"), "locked 0", pair);
  assert.equal(await owner.ask("take-over"), "locked 1", pair);
  assert.equal(await rival.ask("unlock"), "unlocked", pair);
  assert.equal(await rival.ask("lock"), `job-busy ${owner.processId}`, pair);
}

async function dieAndFollow(owner: Holder, rival: Holder): Promise<void> {
  await owner.kill();
  assert.equal(await rival.ask("lock"), "locked 0", `${owner.runtime} killed, ${rival.runtime}`);
  assert.equal(await rival.ask("unlock"), "unlocked");
}

test("PosixBackend.lock keeps processes of all runtimes apart, and kill -9 frees it", {
  skip: MISSING.length > 0 && `needs ${MISSING.join(", ")}`,
}, async () => {
  await using folder = await temporaryFolder();
  const module = `${folder.path}/holder.mjs`;
  build(module, "--target=node");
  const rivals = await start(RUNTIMES, module, folder.path);
  const owners = await start(rivals.flatMap(() => RUNTIMES), module, folder.path);
  try {
    for (const [index, owner] of owners.entries()) {
      const rival = rivals[Math.floor(index / RUNTIMES.length)];
      await takeTurns(owner, rival);
      await dieAndFollow(owner, rival);
    }
    await Promise.all(rivals.map((rival) => rival.end()));
  } finally {
    await Promise.all([...rivals, ...owners].map((holder) => holder.kill()));
  }
});

test("Bun's kernel lock works in a compiled binary", {
  skip: MISSING.includes("bun") && "needs bun",
}, async () => {
  await using folder = await temporaryFolder();
  const binary = `${folder.path}/holder`;
  build(binary, "--compile", "--minify", "--bytecode", "--format=esm");
  const child = spawnSync(binary, [folder.path], { input: "lock\nunlock\n", encoding: "utf8" });
  assert.deepEqual(child.stdout.split("\n"), ["ready", "locked 0", "unlocked", ""], child.stderr);
  const left = await readFile(`${folder.path}/jobs/j/LOCK`, "utf8");
  assert.match(left, /"kernelLock":true,"released":true/);
});
