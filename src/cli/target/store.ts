/**
 * The store that the options name.
 * @module
 */
import type { Store } from "../../engine/types.ts";
import type { OpenStoreOptions } from "../../runtime/open_store.ts";
import { loggerOf } from "../_log.ts";
import type { Report } from "../_report.ts";
import type { CommandContext, CommandOption } from "../command.ts";

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
  const { report, settings } = context;
  const create = given.create && !settings.get("existing");
  const options = { ...settings.ofStore(), logger: loggerOf(report), ...given, create };
  const store = await context.openStore(settings.get("store"), options);
  tellIfNew(store, report);
  return store;
}

/** Says where a store is that an open has made. */
export function tellIfNew({ isNew, location, id }: Store, report: Report): void {
  if (isNew) report.message(`New store ${location} (${id})`, { created: location, id });
}
