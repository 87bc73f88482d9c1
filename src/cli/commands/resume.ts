/**
 * `resume`: rewinds a job to where its pipeline starts again.
 * @module
 */
import { FALLBACK_OPTION, openTarget, OWN_OPTIONS } from "../target/open_target.ts";
import { formatTable } from "../_format.ts";
import { atOption, u64ListOption } from "../_values.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import { EXIT_OK } from "../exit_codes.ts";

/** The command. */
export const RESUME: Command = {
  name: "resume",
  about: "Rewind a job to a checkpoint; answers where its pipeline starts again",
  options: {
    ...OWN_OPTIONS,
    at: { type: "string", value: "AT", about: "latest (default), tail, or a checkpoint's uuid" },
    "accept-fingerprint": {
      type: "string",
      value: "N,N",
      about: "fingerprints that the checkpoint may have besides the job's",
    },
    fallback: FALLBACK_OPTION,
  },
  sides: BOTH_SIDES,
  notes: ["Appends of earlier runs are refused from then on."],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { options, report } = context;
  const at = atOption(options);
  const acceptFingerprints = u64ListOption(options, "accept-fingerprint");
  await using target = await openTarget(context, "own");
  const result = await target.resume({
    at,
    acceptFingerprints,
    fallback: options.flag("fallback") || undefined,
  });
  const from = result.checkpoint === undefined ? "nothing" : `checkpoint ${result.checkpoint.uuid}`;
  const rows = result.writers.map(({ writer, nextOffset }) => [writer, String(nextOffset)]);
  const dropped = result.dropped.map(({ writer, from, to }) => `${writer} ${from} to ${to}`);
  const text = [
    `Job ${options.required("job")} starts again from ${at === "tail" ? "its tail" : from}, ` +
    `run ${result.run}`,
    ...(rows.length === 0 ? [] : [formatTable([["WRITER", "NEXT OFFSET"], ...rows])]),
    ...(dropped.length === 0 ? [] : [
      `Dropped, with files that stay until a checkpoint is published: ${dropped.join(", ")}`,
    ]),
  ].join("\n");
  await report.result(text, { ...result, checkpoint: result.checkpoint ?? null });
  return EXIT_OK;
}
