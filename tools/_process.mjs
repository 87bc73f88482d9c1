/**
 * Runs one command to its end, with its output kept.
 * Owns: child processes of the gate, their time limit, and that none outlives it.
 * @module
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

const running = new Set();

function killGroup(child, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

for (const [signal, exitCode] of [["SIGINT", 130], ["SIGTERM", 143], ["SIGHUP", 129]]) {
  process.on(signal, () => {
    for (const child of running) killGroup(child, "SIGKILL");
    process.exit(exitCode);
  });
}

/** The environment of every command: the installed programs first, and no colours in what is kept. */
export function environment(root) {
  const bin = join(root, "node_modules", ".bin");
  return {
    ...process.env,
    PATH: existsSync(bin) ? bin + delimiter + process.env.PATH : process.env.PATH,
    NO_COLOR: "1",
    FORCE_COLOR: undefined,
    DENO_NO_UPDATE_CHECK: "1",
    DENO_NO_PROMPT: "1",
  };
}

/**
 * @param {string} root the repository, for its installed programs
 * @param {string} folder to run in
 * @param {string[]} command program and arguments
 * @param {number} timeoutMsMax after which the command and its children are killed
 * @returns {Promise<{ exitCode: number, output: string, elapsedMs: number, ended: string }>}
 */
export function runCommand(root, folder, command, timeoutMsMax) {
  const startMs = performance.now();
  const chunks = [];
  const [program, ...args] = command;
  const child = spawn(program, args, {
    cwd: folder,
    env: environment(root),
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  running.add(child);
  child.stdout.on("data", (chunk) => chunks.push(chunk));
  child.stderr.on("data", (chunk) => chunks.push(chunk));
  return new Promise((resolve) => {
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      killGroup(child, "SIGKILL");
    }, timeoutMsMax);
    const finish = (exitCode, ended) => {
      clearTimeout(timer);
      running.delete(child);
      const output = Buffer.concat(chunks).toString("utf8");
      resolve({ exitCode, output, elapsedMs: performance.now() - startMs, ended });
    };
    child.on("error", (error) => finish(1, `Cannot start ${program}: ${error.message}`));
    child.on("exit", () => {
      // A grandchild that holds the pipes must not keep the gate waiting.
      setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
      }, 5_000).unref();
    });
    child.on("close", (code, signal) => {
      if (timedOut) finish(1, `killed after ${Math.round(timeoutMsMax / 1000)} s`);
      else if (code === null) finish(1, `ended by ${signal}`);
      else finish(code, code === 0 ? "" : `exit code ${code}`);
    });
  });
}
