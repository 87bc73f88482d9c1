/**
 * `pin`: keeps a checkpoint.
 * @module
 */
import { openTarget, OWN_OPTIONS } from "../target/open_target.ts";
import { parseUuid, UUID_POSITIONAL } from "../_values.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import { EXIT_OK } from "../exit_codes.ts";

/** The command. */
export const PIN: Command = {
  name: "pin",
  about: "Keep a checkpoint, whatever retention says",
  positional: UUID_POSITIONAL,
  options: {
    ...OWN_OPTIONS,
    reason: { type: "string", value: "TEXT", about: "why, for people (pinned)" },
  },
  sides: BOTH_SIDES,
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { options, positionals, report } = context;
  const job = options.required("job");
  const uuid = parseUuid("UUID", positionals[0]);
  const reason = options.text("reason");
  await using target = await openTarget(context, "own");
  await target.pin(uuid, reason);
  await report.result(
    `Pinned checkpoint ${uuid} of job ${job}${reason === undefined ? "" : `: ${reason}`}`,
    { job, uuid, reason: reason ?? "pinned" },
  );
  return EXIT_OK;
}
