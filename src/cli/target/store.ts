/**
 * The store that the options name.
 * @module
 */
import type { Store } from "../../engine/types.ts";
import type { OpenStoreOptions } from "../../runtime/open_store.ts";
import { loggerOf } from "../_log.ts";
import type { CommandContext, CommandOption } from "../command.ts";

/** Where the store is when nothing says so. */
export const DEFAULT_STORE = "./tidemark-data";

/** The option that says which store. */
export const STORE_OPTION: CommandOption = {
  type: "string",
  value: "DIR",
  about: `folder of the store (TIDEMARK_STORE, else ${DEFAULT_STORE})`,
};

/** The option that takes jobs over. */
export const TAKE_OVER_OPTION: CommandOption = {
  type: "boolean",
  about: "take the job from a live process here, fencing it",
  only: { side: "store", because: "a sidecar owns its jobs itself" },
};

/** Opens the store that the options name, and says so when that made it. */
export async function openNamedStore(
  context: CommandContext,
  given: OpenStoreOptions,
): Promise<Store> {
  const { io, options, report } = context;
  const folder = options.text("store") ?? (io.env.TIDEMARK_STORE || DEFAULT_STORE);
  const logger = loggerOf(report);
  const store = await context.openStore(io.absolutePath(folder), { ...given, logger });
  if (store.isNew) {
    report.message(`Created store ${store.location}`, { created: store.location });
  }
  return store;
}
