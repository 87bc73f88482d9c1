/** Bytes on their way out, to stdout or to a file that gets its name when it is whole. */
import type { CommandContext, CommandOption } from "./command.ts";
import { EXIT_CODE_OF_SIGNAL } from "./exit_codes.ts";
import type { StopRequest } from "./_stop_request.ts";

/** A source that is cut off while it reads has so long to end. */
const RETURN_MS_MAX = 1000;

/** The option that names the file. */
export const OUTPUT_OPTION: CommandOption = {
  type: "string",
  short: "o",
  value: "FILE",
  about: "file to write, which appears when it is whole (stdout)",
};

/** Where to, and what ends it. */
export interface WriteOutOptions {
  /** A file's path; `-` is stdout. */
  readonly output: string;
  readonly stop: StopRequest;
}

/** What became of it: the source's own result, or the exit code after a signal. */
export type WrittenOut<Result> =
  | { readonly code?: undefined; readonly bytes: number; readonly result: Result }
  | { readonly code: number };

/** Writes all pieces of a source; a signal ends it before, and says so. */
export async function writeOut<Result>(
  { io, report }: CommandContext,
  source: AsyncGenerator<Uint8Array, Result>,
  { output, stop }: WriteOutOptions,
): Promise<WrittenOut<Result>> {
  const file = output === "-" ? undefined : await io.createFile(output);
  const write = (bytes: Uint8Array) =>
    file === undefined ? io.writeOutput(bytes) : file.write(bytes);
  let bytes = 0;
  try {
    while (true) {
      // A source or a reader that has paused would hold the end up.
      const next = await Promise.race([source.next(), stop.requested]);
      if (next === undefined || stop.signal !== undefined) break;
      if (next.done) {
        await file?.commit();
        return { bytes, result: next.value };
      }
      await Promise.race([write(next.value), stop.requested]);
      bytes += next.value.length;
    }
  } finally {
    await Promise.race([source.return?.(undefined as Result), io.sleep(RETURN_MS_MAX)]);
    await file?.discard();
  }
  const text = file === undefined
    ? "Interrupted: what was written to stdout is not whole"
    : `Interrupted: ${output} was not written`;
  report.message(text, { interrupted: stop.signal, output });
  return { code: EXIT_CODE_OF_SIGNAL[stop.signal ?? "SIGINT"] };
}
