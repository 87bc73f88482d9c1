/** Facts of this process and of its neighbours, from the operating system. @module */
import fs from "node:fs";
import os from "node:os";
import process from "node:process";
import { type ProcessInfo, unseenBootId } from "../engine/port/process_info.ts";

const UNSEEN = new Set([
  "ENOENT",
  "ESRCH",
  "EACCES",
  "EPERM",
  "EINVAL",
  "ERR_SYSTEM_ERROR",
  "NotCapable",
]);

/** What the kernel says; undefined where it has no such entry, or where it may not be seen. */
function readIfSeen(read: () => string): string | undefined {
  try {
    return read().trim();
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException;
    if (UNSEEN.has(code ?? name)) return undefined;
    throw error;
  }
}

/** State and start (ticks after boot) of a process. The name before them may hold anything, even brackets. */
function readProcessStat(processId: number): { state: string; startTicks: string } | undefined {
  const stat = readIfSeen(() => fs.readFileSync(`/proc/${processId}/stat`, "utf8"));
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { state: fields[0], startTicks: fields[19] };
}

function nameInPasswordFile(uid: string): string | undefined {
  const lines = readIfSeen(() => fs.readFileSync("/etc/passwd", "utf8"))?.split("\n") ?? [];
  return lines.map((line) => line.split(":")).find((fields) => fields[2] === uid)?.[0];
}

function userName(): string {
  const uid = readIfSeen(() => String(process.getuid?.() ?? "no uid")) ?? "unknown uid";
  const told = readIfSeen(() => os.userInfo().username);
  // Bun takes the name from the environment and has "unknown" where it isn't there.
  const name = told === undefined || told === "unknown" ? nameInPasswordFile(uid) : told;
  // A user id without an entry in the password file is common in containers.
  return `${name ?? "uid"} (${uid})`;
}

/** `deno`, `bun` or `node`, with its version. */
export function runtimeName(): string {
  const { bun, deno, node } = process.versions as Record<string, string | undefined>;
  if (deno !== undefined) return `deno ${deno}`;
  return bun !== undefined ? `bun ${bun}` : `node ${node}`;
}

/** Operating system and processor, such as `linux-x64`. */
export function platformName(): string {
  return `${process.platform}-${process.arch}`;
}

function isRunning(processId: number): boolean | undefined {
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ESRCH") return false;
    return code === "EPERM" ? true : undefined;
  }
}

/** Asks the operating system about this process, once. */
export function systemProcessInfo(): ProcessInfo {
  // Process ids mean something within one namespace only.
  const namespace = readIfSeen(() => fs.readlinkSync("/proc/self/ns/pid")) ?? "";
  const hostName = readIfSeen(() => os.hostname()) ?? "unknown";
  const own = readProcessStat(process.pid);
  return {
    hostName,
    bootId: readIfSeen(() => fs.readFileSync("/proc/sys/kernel/random/boot_id", "utf8")) ??
      unseenBootId(hostName),
    processId: process.pid,
    processStart: `${own?.startTicks ?? ""} ${namespace}`,
    user: userName(),
    runtime: runtimeName(),
    isAlive(processId, processStart) {
      const [startTicks, itsNamespace] = processStart.split(/ (.*)/);
      if (itsNamespace !== namespace) return undefined;
      const isPresent = isRunning(processId);
      if (isPresent !== true || startTicks === "") return isPresent;
      const found = readProcessStat(processId);
      if (found === undefined) return undefined;
      return found.startTicks === startTicks && found.state !== "Z" && found.state !== "X";
    },
  };
}
