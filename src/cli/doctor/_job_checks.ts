/** What the doctor finds of the jobs of a store: who has each, and whether its catalog can be read. */
import { formatCount } from "../_format.ts";
import type { CommandContext } from "../command.ts";
import { type Check, faultOf, ok } from "./check.ts";

const OWNERS_SHOWN_MAX = 5;

/** Looks at every job; takes none. */
export async function checkJobs(context: CommandContext, path: string): Promise<Check[]> {
  const faults: Check[] = [];
  const owners: string[] = [];
  await using store = await context.openStore(path, { mode: "read", create: false });
  const jobs = await store.jobs();
  for (const job of jobs) {
    try {
      const { owner } = await store.standing(job);
      if (owner?.isAlive) {
        owners.push(`${job} by process ${owner.pid} (${owner.runtime}) on ${owner.host}`);
      }
    } catch (error) {
      faults.push(faultOf(`job ${job}`, error));
    }
  }
  const shown = owners.slice(0, OWNERS_SHOWN_MAX).join(", ");
  const more = owners.length > OWNERS_SHOWN_MAX ? ", …" : "";
  const who = owners.length === 0 ? "nobody works on them" : `${shown}${more}`;
  const all = ok("jobs", jobs.length === 0 ? "none" : `${formatCount(jobs.length, "job")}: ${who}`);
  return [all, ...faults];
}
