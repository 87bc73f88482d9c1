/**
 * What a folder is, for `tidemark doctor`: looked at, and tried with small files.
 *
 * Owns: the ports that the engine's probe needs here.
 * Does not own: what is good and what is not (`src/cli/doctor`).
 * @module
 */
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { type DiskProbe, probeDisk } from "../engine/storage/disk_probe.ts";
import type { FileSystemStat } from "../engine/port/file_system.ts";
import { chooseFileSystem } from "./choose_file_system.ts";
import { systemProcessInfo } from "./process_info.ts";
import { systemPorts } from "./system_ports.ts";

const SYNCS = 16;
/** Right of everyone to write. */
const OTHERS_WRITE = 0o002;

/** What a folder is. */
export interface FolderLook {
  /** Whether it is there, and a folder. */
  readonly isThere: boolean;
  /** Names in it; none when it is not there. */
  readonly names: readonly string[];
  /** Whether users who are neither its owner nor in its group may write in it. */
  readonly isOpen: boolean;
  /** The file system that it is on, or would be. */
  readonly fileSystem: FileSystemStat;
}

/** Looks at a folder. @throws What the file system says */
export async function lookAtFolder(path: string): Promise<FolderLook> {
  const fileSystem = chooseFileSystem();
  const isThere = (await fileSystem.stat(path)) !== undefined;
  let at = path;
  while (await fileSystem.stat(at) === undefined && at !== dirname(at)) at = dirname(at);
  const names = isThere ? (await fileSystem.readDirectory(path)).map(({ name }) => name) : [];
  return {
    isThere,
    names,
    isOpen: isThere && (statSync(path).mode & OTHERS_WRITE) !== 0,
    fileSystem: await fileSystem.statFileSystem(at),
  };
}

/** Tries the disk of a folder with a small file of a temporary name. @throws What the file system says */
export async function tryDisk(path: string): Promise<DiskProbe> {
  const ports = { ...systemPorts(), fileSystem: chooseFileSystem(), process: systemProcessInfo() };
  return await probeDisk(ports, path, SYNCS);
}

/** Whether this runtime keeps other processes out by the kernel's own locks. */
export function hasKernelLocks(): boolean {
  return chooseFileSystem().hasKernelLock;
}
