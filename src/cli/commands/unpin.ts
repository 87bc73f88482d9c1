/**
 * `unpin`: leaves a checkpoint to retention again.
 * @module
 */
import { openTarget, OWN_OPTIONS } from "../target/open_target.ts";
import { parseUuid, UUID_POSITIONAL } from "../_values.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import { EXIT_OK } from "../exit_codes.ts";

/** The command. */
export const UNPIN: Command = {
  name: "unpin",
  about: "Leave a checkpoint to retention again",
  positional: UUID_POSITIONAL,
  options: OWN_OPTIONS,
  sides: BOTH_SIDES,
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { options, positionals, report } = context;
  const job = options.required("job");
  const uuid = parseUuid("UUID", positionals[0]);
  await using target = await openTarget(context, "own");
  await target.unpin(uuid);
  await report.result(`Unpinned checkpoint ${uuid} of job ${job}`, { job, uuid });
  return EXIT_OK;
}
