/**
 * The client of a Tidemark sidecar, for pipelines on Deno, Bun and Node. It speaks as the library does, so that moving
 * from one to the other is a change of imports.
 *
 * @example
 * ```ts
 * import { openStore } from "@tidemark/tidemark";
 * import { TidemarkClient } from "@tidemark/tidemark/client";
 * import { createApp } from "@tidemark/tidemark/http";
 *
 * // A sidecar within this process; yours is `new TidemarkClient("http://127.0.0.1:7460")`.
 * await using store = await openStore("memory:");
 * await using client = new TidemarkClient("http://sidecar", { fetch: createApp(store).fetch });
 * const job = client.job("orders");
 * const { checkpoint } = await job.resume();
 * job.writer("totals").append(0, new TextEncoder().encode("apples +3"));
 * await job.checkpoint({ metadata: { line: 1 } });
 * console.assert(checkpoint === undefined);
 * ```
 *
 * @module
 */
export { TidemarkClient } from "./client.ts";
export type { ClientOptions } from "./client_settings.ts";
export type { RemoteExportOptions, SidecarStatus } from "./store_types.ts";
export type {
  CreateJobOptions,
  JobDescription,
  RemoteCheckpointOptions,
  RemoteJob,
  RemoteJobOptions,
  RemoteJobReader,
  RemoteWriter,
} from "./types.ts";
