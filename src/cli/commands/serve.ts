/**
 * `serve`: a store as a sidecar, over HTTP.
 * @module
 */
import { DEFAULT_SETTINGS } from "../../engine/settings.ts";
import { createApp, type HttpApp } from "../../http/app.ts";
import { PrometheusMetrics } from "../../http/metrics.ts";
import { asTidemarkError, problemResponse } from "../../http/problem.ts";
import type { HttpServer } from "../../runtime/http_server.ts";
import { observeProcess } from "../../runtime/process_metrics.ts";
import { loggerOf } from "../_log.ts";
import { openNamedStore, STORE_OPTION, TAKE_OVER_OPTION } from "../target/store.ts";
import { StopRequest } from "../_stop_request.ts";
import { UsageError } from "../_usage_error.ts";
import { countOption } from "../_values.ts";
import type { Command, CommandContext } from "../command.ts";
import { EXIT_OK } from "../exit_codes.ts";

/** Where it listens when nothing says so. */
export const DEFAULT_LISTEN = "127.0.0.1:7460";
const SHUTDOWN_MS_MAX = 10_000;

/** The command. */
export const SERVE: Command = {
  name: "serve",
  about: "Serve a store over HTTP until a signal ends it",
  options: {
    store: STORE_OPTION,
    listen: {
      type: "string",
      value: "HOST:PORT",
      about: `where to listen (TIDEMARK_LISTEN, else ${DEFAULT_LISTEN}); port 0: any`,
    },
    "take-over": TAKE_OVER_OPTION,
    "body-bytes-max": { type: "string", value: "N", about: "largest request body (67108864)" },
    "store-bytes-max": { type: "string", value: "N", about: "bytes that the store may take (any)" },
    "job-bytes-max": { type: "string", value: "N", about: "bytes that each job may take (any)" },
    "persist-delay-ms": {
      type: "string",
      value: "N",
      about:
        `how long appends wait to share an upload (${DEFAULT_SETTINGS.persistDelayMs}); 0: not at all`,
    },
    "local-copies": {
      type: "string",
      value: "DIR",
      about: "folder near by for copies, from which restores read first (none)",
    },
    "shutdown-ms-max": {
      type: "string",
      value: "N",
      about: `time that requests have to finish after a signal (${SHUTDOWN_MS_MAX})`,
    },
  },
  sides: { store: true, url: "it is the sidecar itself that it starts" },
  notes: [
    "Makes the store where it is missing. It answers whoever reaches the address: leave it on loopback",
    "unless the network is trusted. The first signal ends it in order, a second one at once.",
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { io, options, report } = context;
  const address = parseAddress(
    options.text("listen") ?? (io.env.TIDEMARK_LISTEN || DEFAULT_LISTEN),
  );
  const bodyBytesMax = countOption(options, "body-bytes-max");
  if (bodyBytesMax === 0) throw new UsageError("Cannot use --body-bytes-max 0: wants at least 1");
  const shutdownMsMax = countOption(options, "shutdown-ms-max") ?? SHUTDOWN_MS_MAX;
  const storeBytesMax = countOption(options, "store-bytes-max");
  const jobBytesMax = countOption(options, "job-bytes-max");
  const persistDelayMs = countOption(options, "persist-delay-ms");
  const localCopies = options.text("local-copies");
  const localRecoveryPath = localCopies && io.absolutePath(localCopies);
  const stop = new StopRequest(io);
  const metrics = new PrometheusMetrics();
  const processMetrics = observeProcess(metrics);
  const app = new ComingApp();
  try {
    // The address first: where it is taken, no store is made.
    const server = await io.serve((request) => app.fetch(request), address);
    try {
      const limits = { storeBytesMax, jobBytesMax };
      const settings = { ...limits, persistDelayMs, localRecoveryPath, metrics };
      await using store = await openNamedStore(context, { mode: "own", create: true, ...settings });
      app.isHere(createApp(store, {
        bodyBytesMax,
        takeOver: options.flag("take-over"),
        isDraining: () => stop.signal !== undefined,
        logger: loggerOf(report),
        metrics,
      }));
      await announce(context, server, store.location);
      await stop.requested;
      report.message("Closing: requests under way may finish; a second signal ends at once", {
        state: "closing",
        signal: stop.signal,
      });
      await server.close(shutdownMsMax);
    } catch (error) {
      app.failed(error);
      await server.close(0);
      throw error;
    }
  } finally {
    stop.ignore();
    processMetrics.close();
  }
  report.message("Closed: everything acknowledged is durable", { state: "closed" });
  return EXIT_OK;
}

/** Holds requests that come before the store is open. */
class ComingApp implements HttpApp {
  readonly #app: Promise<HttpApp>;
  isHere: (app: HttpApp) => void = () => {};
  failed: (error: unknown) => void = () => {};

  constructor() {
    this.#app = new Promise((resolve) => {
      this.isHere = resolve;
      this.failed = (error) => {
        const answer = (): Response => problemResponse(asTidemarkError(error));
        resolve({ fetch: () => Promise.resolve(answer()) });
      };
    });
  }

  async fetch(request: Request): Promise<Response> {
    return await (await this.#app).fetch(request);
  }
}

async function announce(
  { report }: CommandContext,
  server: HttpServer,
  store: string,
): Promise<void> {
  const { url, hostname, port } = server;
  await report.announce(`Listening on ${url}, store ${store}`, { url, hostname, port, store });
}

/** Reads `HOST:PORT`, `[IPV6]:PORT`, `:PORT` or `PORT`. @throws {UsageError} */
export function parseAddress(text: string): { hostname: string; port: number } {
  const match = /^(?:(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]\s]*)):)?([0-9]{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65535) {
    throw new UsageError(`Cannot listen on ${text}: wants HOST:PORT, such as ${DEFAULT_LISTEN}`);
  }
  return { hostname: match[1] ?? (match[2] || "127.0.0.1"), port };
}
