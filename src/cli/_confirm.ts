/** What a command that destroys asks before it does. */
import { TidemarkError } from "../engine/errors.ts";
import { UsageError } from "./_usage_error.ts";
import type { CommandContext, CommandOption } from "./command.ts";

/** The option that shows the plan, and does nothing. */
export const DRY_RUN_OPTION: CommandOption = {
  type: "boolean",
  about: "only say what would be done",
};

/** The option that answers beforehand. */
export const YES_OPTION: CommandOption = {
  type: "boolean",
  about: "do it without asking; needed where nobody can be asked",
};

/**
 * Says no, before anything is opened, where nobody has said yes and nobody can be asked.
 *
 * @param look The option that shows the plan, if there is one.
 * @param because Why it asks. @default "it destroys"
 * @throws {UsageError}
 */
export function requireAssent(
  { io, options }: CommandContext,
  command: string,
  look: string | undefined,
  because = "it destroys",
): void {
  if (options.flag("yes") || (io.isInputTerminal && io.isErrorTerminal)) return;
  const next = look === undefined ? "give --yes" : `look at the plan with ${look}, then give --yes`;
  throw new UsageError(
    `Cannot ${command}: ${because}, and there is no terminal to ask at; ${next}`,
    command,
  );
}

/**
 * Asks, unless `--yes` has answered already.
 *
 * @param plan What would be done.
 * @param options `word`: what must be typed, where a yes comes too easily. @default yes
 * @throws {TidemarkError} `aborted` when the answer is not yes
 */
export async function confirm(
  context: CommandContext,
  plan: string,
  { word }: { readonly word?: string } = {},
): Promise<void> {
  const { io, options, report } = context;
  if (options.flag("yes")) return;
  report.note(plan);
  report.ask(word === undefined ? "Do it? [y/N]" : `Type ${word} to do it:`);
  const answer = (await readLine(io.readInput())).trim();
  if (word === undefined ? /^(y|yes)$/i.test(answer) : answer === word) return;
  throw new TidemarkError("aborted", `Did nothing, as the answer was not ${word ?? "yes"}`);
}

async function readLine(input: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of input) {
    text += decoder.decode(part, { stream: true });
    if (text.includes("\n")) break;
  }
  return text.split("\n")[0];
}
