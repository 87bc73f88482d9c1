/** What a sidecar says of its store, and gives out whole. @module */
import type { At, StoreStatus, WaitOptions } from "../engine/types.ts";

/**
 * How a sidecar and its store are.
 *
 * @example
 * ```ts
 * import { openStore } from "@tidemark/tidemark";
 * import { type SidecarStatus, TidemarkClient } from "@tidemark/tidemark/client";
 * import { createApp } from "@tidemark/tidemark/http";
 *
 * await using store = await openStore("memory:"); // a sidecar within this process
 * await using client = new TidemarkClient("http://sidecar", { fetch: createApp(store).fetch });
 * const status: SidecarStatus = await client.status();
 * console.assert(status.store === store.id && status.problem === undefined);
 * ```
 */
export interface SidecarStatus extends Omit<StoreStatus, "jobs"> {
  /** The store's uuid. */
  readonly store: string;
  /** Where the store is, for people. */
  readonly location: string;
  /** Version of Tidemark. */
  readonly version: string;
  /** Version of the format that it stores in. */
  readonly formatVersion: number;
  /** How long the sidecar has been up, in milliseconds. */
  readonly uptimeMs: number;
  /** How many jobs there are. */
  readonly jobs: number;
  /** Jobs that are open in it. */
  readonly openJobs: StoreStatus["jobs"];
}

/**
 * Options of {@link TidemarkClient.exportJob}.
 *
 * @example
 * ```ts
 * import { openStore } from "@tidemark/tidemark";
 * import { type RemoteExportOptions, TidemarkClient } from "@tidemark/tidemark/client";
 * import { createApp } from "@tidemark/tidemark/http";
 *
 * await using store = await openStore("memory:"); // a sidecar within this process
 * await using client = new TidemarkClient("http://sidecar", { fetch: createApp(store).fetch });
 * const { uuid } = await client.job("orders").checkpoint();
 * const options: RemoteExportOptions = { at: uuid };
 * await client.importJob("copy", client.exportJob("orders", options));
 * console.assert((await client.jobs()).join() === "copy,orders");
 * ```
 */
export interface RemoteExportOptions extends WaitOptions {
  /** `tail`: all of it, with its checkpoints; `latest` or a uuid: that checkpoint alone. @default "tail" */
  at?: At;
}
