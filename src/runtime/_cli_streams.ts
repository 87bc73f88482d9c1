/** Standard input and output, by what each runtime does well. */
import process from "node:process";
import { TidemarkError } from "../engine/errors.ts";

/** Nobody reads the output any more, as after `| head`. */
export class BrokenPipeError extends Error {
  override readonly name = "BrokenPipeError";
}

/** Standard input, piece by piece. */
export function readStandardInput(): AsyncIterable<Uint8Array> {
  if ("Deno" in globalThis) return Deno.stdin.readable;
  if ("Bun" in globalThis) return Bun.stdin.stream() as unknown as AsyncIterable<Uint8Array>;
  return process.stdin;
}

/**
 * Writes all of `bytes` to standard output.
 *
 * @throws {BrokenPipeError}
 * @throws {TidemarkError} `storage-full`, `storage-unavailable`
 */
export async function writeStandardOutput(bytes: Uint8Array): Promise<void> {
  try {
    if ("Deno" in globalThis) await writeOnDeno(bytes);
    else await writeOnNode(bytes);
  } catch (error) {
    if (isBrokenPipe(error)) throw new BrokenPipeError("Nobody reads the output", { cause: error });
    throw unwritable(error);
  }
}

function unwritable(cause: unknown): TidemarkError {
  const errno = (cause as { code?: unknown }).code;
  if (errno === "ENOSPC" || errno === "EDQUOT") {
    return new TidemarkError("storage-full", "Cannot write to stdout: no space", {
      details: { errno },
      cause,
    });
  }
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new TidemarkError("storage-unavailable", `Cannot write to stdout: ${reason}`, {
    details: { errno },
    cause,
  });
}

async function writeOnDeno(bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    written += await Deno.stdout.write(bytes.subarray(written));
  }
}

function writeOnNode(bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    // A failed write is also an event, which would end the process if nobody listened.
    const onError = (error: Error): void => reject(error);
    process.stdout.once("error", onError);
    process.stdout.write(bytes, (error) => {
      if (error) return reject(error);
      process.stdout.off("error", onError);
      resolve();
    });
  });
}

function isBrokenPipe(error: unknown): boolean {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return code === "EPIPE" || name === "BrokenPipe";
}
