/** Places on this machine to keep objects in. @module */
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { StoreSettings } from "../engine/settings.ts";
import type { StorageBackend } from "../engine/storage/backend.ts";
import { MemoryBackend } from "../engine/storage/memory_backend.ts";
import { PosixBackend } from "../engine/storage/posix_backend.ts";
import { chooseFileSystem } from "./choose_file_system.ts";
import { systemProcessInfo } from "./process_info.ts";
import { systemPorts, type SystemPortsOptions } from "./system_ports.ts";

/**
 * Options of {@link openBackend}.
 *
 * @example
 * ```ts
 * import { openBackend, type OpenBackendOptions } from "@tidemark/tidemark";
 *
 * const options: OpenBackendOptions = { fileSystem: "node" };
 * console.assert(openBackend("/var/lib/pipeline", options).name === "posix");
 * ```
 */
export interface OpenBackendOptions extends SystemPortsOptions {
  /** Which file system implementation to use; `auto` chooses by runtime. @default "auto" */
  readonly fileSystem?: StoreSettings["fileSystem"];
}

/**
 * A backend of a folder, or of memory. Nothing is touched before the first call; `prepare` makes the folder, and
 * checks whether it can keep what is promised.
 *
 * @param location A path, a `file:` URL, or `memory:`.
 * @param options What it reports to. @default {}
 * @returns The backend; close it at the end.
 *
 * @example
 * ```ts
 * import { openBackend } from "@tidemark/tidemark";
 *
 * const backend = openBackend("memory:");
 * await backend.prepare({ create: true });
 * await backend.put("greeting", new TextEncoder().encode("hello"));
 * console.assert((await backend.head("greeting"))?.size === 5);
 * await backend.close();
 * ```
 */
export function openBackend(
  location: string | URL,
  options: OpenBackendOptions = {},
): StorageBackend {
  const ports = systemPorts(options);
  const place = String(location);
  if (place === "memory:") return new MemoryBackend(ports);
  return new PosixBackend({
    ...ports,
    root: resolve(place.startsWith("file:") ? fileURLToPath(place) : place),
    fileSystem: chooseFileSystem(options.fileSystem),
    process: systemProcessInfo(),
  });
}
