/**
 * A child process that speaks in lines, and can be killed without warning.
 * @module
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { createInterface } from "node:readline";

/** A running process. */
export interface Child {
  /** Settles when the process has ended and all its output is read. */
  readonly ended: Promise<void>;
  /** Ends the process with a signal, and waits until it is gone. */
  kill(signal: "SIGKILL" | "SIGTERM"): Promise<void>;
  /** What it wrote to stderr so far. */
  stderr(): string;
}

const running = new Set<number>();

// However the demo ends, it leaves no process behind.
process.on("exit", () => {
  for (const pid of running) process.kill(pid, "SIGKILL");
});

/** Starts a program; hands every line of its stdout to `onLine`. */
export function startChild(command: readonly string[], onLine: (line: string) => void): Child {
  const [program, ...args] = command;
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  const pid = child.pid;
  if (pid === undefined) throw new Error(`Cannot start ${program}: it is not there`);
  running.add(pid);
  child.once("exit", () => running.delete(pid));

  const errors: string[] = [];
  child.stderr.setEncoding("utf8").on("data", (text: string) => errors.push(text));
  createInterface({ input: child.stdout }).on("line", onLine);
  const ended = once(child, "close").then(() => {});

  return {
    ended,
    async kill(signal) {
      if (running.has(pid)) process.kill(pid, signal);
      await ended;
    },
    stderr: () => errors.join(""),
  };
}
