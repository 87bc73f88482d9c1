/**
 * `retire`: ends a writer that goes away.
 * @module
 */
import { BOTH_SIDES, type Command } from "../command.ts";
import { changeWriter, WRITER_COMMAND_OPTIONS, type WriterAction } from "./_writer_command.ts";

/** The command. */
export const RETIRE: Command = {
  name: "retire",
  about: "End a writer that goes away: the next checkpoint is the last that holds it",
  options: WRITER_COMMAND_OPTIONS,
  sides: BOTH_SIDES,
  notes: [
    "At a sidecar (--url) it takes effect with the pipeline's next checkpoint. With --store nobody else",
    "would make one, so it makes one itself. Its name is free again in the job's next run.",
  ],
  run: (context) => changeWriter(context, ACTION),
};

const ACTION: WriterAction = {
  name: "retire",
  describe: ({ writer, nextOffset }, job, checkpoint) =>
    `Writer ${writer} of job ${job} ends at offset ${nextOffset}: ${checkpoint} is the last that ` +
    "holds its changes",
  asJson: (position) => position,
  apply: async (target, position) => {
    await target.retireWriter(position.writer);
    return { ...position, isClosed: true };
  },
};
