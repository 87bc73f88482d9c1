/** Chooses the file system by setting, or by the runtime. @module */
import process from "node:process";
import type { FileSystem } from "../engine/port/file_system.ts";
import { BunFileSystem } from "./bun_file_system.ts";
import { DenoFileSystem } from "./deno_file_system.ts";
import { NodeFileSystem } from "./node_file_system.ts";

/** Which file system to use: `auto` is the runtime's own. */
export type FileSystemSetting = "auto" | "node" | "deno" | "bun";

const MAKE: Readonly<Record<Exclude<FileSystemSetting, "auto">, () => FileSystem>> = {
  node: () => new NodeFileSystem(),
  deno: () => new DenoFileSystem(),
  bun: () => new BunFileSystem(),
};

/** Which runtime this is. */
export function runtimeOf(
  versions: Readonly<Record<string, string | undefined>>,
): keyof typeof MAKE {
  if (versions.deno !== undefined) return "deno";
  return versions.bun !== undefined ? "bun" : "node";
}

/**
 * Makes the file system of a setting.
 *
 * @param setting `node` works on every runtime, `deno` and `bun` on their own only. @default "auto"
 * @throws {TypeError} when the setting is none, or can't work on this runtime
 */
export function chooseFileSystem(setting: FileSystemSetting = "auto"): FileSystem {
  const name = setting === "auto" ? runtimeOf(process.versions) : setting;
  const make = Object.hasOwn(MAKE, name) ? MAKE[name] : undefined;
  if (make === undefined) {
    throw new TypeError(
      `Cannot use file system ${JSON.stringify(setting)}: wants "auto", "node", "deno" or "bun"`,
    );
  }
  return make();
}
