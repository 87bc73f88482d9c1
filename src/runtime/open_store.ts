/** Opens stores with the ports of the runtime: the one way into the engine for those who import it. @module */
import { resolve } from "node:path";
import type { Clock } from "../engine/port/clock.ts";
import type { Logger } from "../engine/port/logger.ts";
import type { Metrics } from "../engine/port/metrics.ts";
import type { Ports } from "../engine/port/ports.ts";
import { resolveSettings, type StoreSettings } from "../engine/settings.ts";
import type { StorageBackend } from "../engine/storage/backend.ts";
import { OpenStore } from "../engine/store.ts";
import type { Store } from "../engine/types.ts";
import { openBackend } from "./open_backend.ts";
import { systemPorts } from "./system_ports.ts";
import { WorkerCodecThread } from "./worker_codec_thread.ts";

/**
 * Settings of a store, and what it reports to.
 *
 * @example
 * ```ts
 * import { openStore, type OpenStoreOptions } from "@tidemark/tidemark";
 *
 * const options: OpenStoreOptions = {
 *   compression: "none",
 *   logger: { log: (level, message, fields) => console.error(level, message, fields) },
 * };
 * await using store = await openStore("memory:", options);
 * console.assert(store.location === "memory");
 * ```
 */
export interface OpenStoreOptions extends Partial<StoreSettings> {
  /** Where the engine reports what no caller waits for. @default silent */
  logger?: Logger;
  /** Where the engine counts. @default nowhere */
  metrics?: Metrics;
  /** Where the engine takes the time from: a test gives one that it moves on itself. @default the machine's clock */
  clock?: Clock;
}

/**
 * Opens a store: a folder, memory, or a backend of your own. In mode `own` it is made where it is missing.
 *
 * @param location A path, a `file:` URL, `memory:` for a store that ends with the process, or a backend.
 * @param options Settings that differ from the default, a logger, metrics, a clock. @default {}
 * @returns The open store; close it, or hold it with `await using`.
 * @throws {TidemarkError} `store-not-found` in mode `read`, or with `create: false`; `not-a-store` where a folder holds
 * something else; `unsupported-file-system` where the guarantees can't be kept; `unsupported-format` of a newer
 * release; `corrupt` when the marker can't be read; and what the storage answered: `storage-full`,
 * `storage-unavailable`, `storage-denied`, `symbolic-link`
 * @throws {TypeError} A setting that does not exist, or is of the wrong type.
 * @throws {RangeError} A value that is not allowed, or two that do not go together.
 *
 * @example
 * ```ts
 * import { openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * const writer = job.writer("totals");
 * writer.append(0, new TextEncoder().encode("first"));
 * await writer.persist();
 * await job.checkpoint({ identifier: "after the first" });
 * for await (const { offset, data } of job.restore()) {
 *   console.log(offset, new TextDecoder().decode(data));
 * }
 * ```
 */
export async function openStore(
  location: string | URL | StorageBackend,
  options: OpenStoreOptions = {},
): Promise<Store> {
  const { logger, metrics, clock, ...given } = options;
  const settings = resolveSettings(given);
  const ports = systemPorts({ logger, metrics, clock });
  const { fileSystem } = settings;
  if (settings.codecThreads > 0 && !isPlace(location)) throw sharedWithOthers(settings);
  const backend = isPlace(location) ? openBackend(location, { ...ports, fileSystem }) : location;
  const local = openLocal(backend, settings, ports);
  const { codecThreads: threads } = settings;
  const codecThread = threads > 0
    ? new WorkerCodecThread({ logger: ports.logger, threads })
    : undefined;
  return await OpenStore.open(backend, settings, ports, { local, codecThread });
}

/** Most that a backend could do with bytes in shared memory, web APIs refuse. */
function sharedWithOthers({ codecThreads }: StoreSettings): RangeError {
  return new RangeError(
    `Setting codecThreads is ${codecThreads}, with a backend of your own: wants 0, as what a thread has encoded lies in shared memory`,
  );
}

function isPlace(location: string | URL | StorageBackend): location is string | URL {
  return typeof location === "string" || location instanceof URL;
}

/** The folder of local copies. @throws {RangeError} It and the store's lie within each other. */
function openLocal(
  main: StorageBackend,
  { localRecoveryPath, fileSystem }: StoreSettings,
  ports: Ports,
): StorageBackend | undefined {
  if (localRecoveryPath === null) return undefined;
  const root = resolve(localRecoveryPath);
  if (isWithin(root, main.location) || isWithin(main.location, root)) {
    throw new RangeError(
      `Setting localRecoveryPath is ${root}, and the store is in ${main.location}: wants two folders apart`,
    );
  }
  return openBackend(root, { ...ports, fileSystem });
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}
