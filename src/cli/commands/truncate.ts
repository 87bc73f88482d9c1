/**
 * `truncate`: gives up what a writer holds by now.
 * @module
 */
import { BOTH_SIDES, type Command } from "../command.ts";
import { changeWriter, WRITER_COMMAND_OPTIONS, type WriterAction } from "./_writer_command.ts";

/** The command. */
export const TRUNCATE: Command = {
  name: "truncate",
  about: "Give up all that a writer holds by now, as the pipeline has it elsewhere",
  options: WRITER_COMMAND_OPTIONS,
  sides: BOTH_SIDES,
  notes: [
    "Such as in a state: from the next checkpoint on the writer begins where it stands now. At a sidecar",
    "(--url) that is the pipeline's next one. With --store nobody else would make one, so it makes one",
    "itself, with the states of the newest. Older checkpoints keep what they hold.",
  ],
  run: (context) => changeWriter(context, ACTION),
};

const ACTION: WriterAction = {
  name: "truncate",
  describe: ({ writer, nextOffset }, job, checkpoint) =>
    `Writer ${writer} of job ${job} begins at offset ${nextOffset} from ${checkpoint} on`,
  asJson: ({ writer, nextOffset }) => ({ writer, from: nextOffset }),
  apply: async (target, position) => ({
    ...position,
    nextOffset: await target.truncateWriter(position.writer),
  }),
};
