/**
 * The orderly end of a sidecar: requests, then the store, within one time for both.
 *
 * Half of the time is for requests under way. Then the store closes, which makes everything durable
 * and answers whoever waits for that; what is unanswered a moment later is cut off.
 */
import type { Logger } from "../../engine/port/logger.ts";
import type { Store } from "../../engine/types.ts";
import type { CliIo } from "../../runtime/cli_io.ts";
import type { HttpServer } from "../../runtime/http_server.ts";
import { EXIT_CODE_OF, EXIT_OK } from "../exit_codes.ts";

/** Time for answers to leave once the store has closed. */
const ANSWER_MS_MAX = 500;

/** What is to end, and how long it may take. */
export interface ShutdownOptions {
  readonly io: Pick<CliIo, "timeout">;
  readonly server: Pick<HttpServer, "close">;
  /** The store, or what becomes of it: it may not be open yet. */
  readonly store: Promise<Pick<Store, "close">>;
  readonly logger: Logger;
  readonly msMax: number;
}

/** Ends a sidecar; answers the exit code. Rejects when the store could not make everything durable. */
export async function shutDown(options: ShutdownOptions): Promise<number> {
  const { io, server, logger, msMax } = options;
  const deadline = io.timeout(msMax);
  const ending = end(options);
  try {
    const isWhole = await Promise.race([ending.then(() => true), deadline.over.then(() => false)]);
    if (isWhole) {
      logger.log("info", "Closed: everything acknowledged is durable");
      return EXIT_OK;
    }
    const message = "Gave up closing: what was acknowledged as durable is safe, " +
      "what was only buffered may be lost";
    logger.log("error", message, { shutdownMsMax: msMax });
    ending.catch((error) => logger.log("error", "Could not close", { error }));
    return EXIT_CODE_OF.unavailable;
  } finally {
    deadline.cancel();
    void server.close(0);
  }
}

async function end({ io, server, store, logger, msMax }: ShutdownOptions): Promise<void> {
  const answered = server.close(msMax).then(() => true);
  await within(io, msMax / 2, answered);
  await (await store).close();
  if (await within(io, Math.min(ANSWER_MS_MAX, msMax / 4), answered)) return;
  logger.log("warning", "Cuts off requests that have not ended");
  await server.close(0);
}

/** Whether something ends in time. */
async function within(
  io: ShutdownOptions["io"],
  delayMs: number,
  ended: Promise<boolean>,
): Promise<boolean> {
  const timeout = io.timeout(delayMs);
  try {
    return await Promise.race([ended, timeout.over.then(() => false)]);
  } finally {
    timeout.cancel();
  }
}
