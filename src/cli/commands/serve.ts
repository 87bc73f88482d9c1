/**
 * `serve`: a store as a sidecar, over HTTP.
 * @module
 */
import { createApp, type HttpApp } from "../../http/app.ts";
import { PrometheusMetrics } from "../../http/metrics.ts";
import { asTidemarkError, problemResponse } from "../../http/problem.ts";
import type { HttpServer } from "../../runtime/http_server.ts";
import { observeProcess } from "../../runtime/process_metrics.ts";
import { loggerOf } from "../_log.ts";
import { optionsOf } from "../settings/settings.ts";
import { SERVE_KEYS } from "../settings/table.ts";
import { openNamedStore, TAKE_OVER_OPTION } from "../target/store.ts";
import { SystemClock } from "../../runtime/system_clock.ts";
import { accessOf } from "../tokens.ts";
import { exposureOf, hostnamesOf } from "./_exposure.ts";
import { StopRequest } from "../_stop_request.ts";
import type { Command, CommandContext } from "../command.ts";
import { EXIT_OK } from "../exit_codes.ts";

/** The command. */
export const SERVE: Command = {
  name: "serve",
  about: "Serve a store over HTTP until a signal ends it",
  options: { ...optionsOf(SERVE_KEYS), "take-over": TAKE_OVER_OPTION },
  sides: { store: true, url: "it is the sidecar itself that it starts" },
  notes: [
    "Makes the store where it is missing. At another address than loopback it wants tokens: give",
    "--token-file or TIDEMARK_TOKEN. The first signal ends it in order, a second one at once.",
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { io, options, report, settings } = context;
  const logger = loggerOf(report);
  const access = accessOf(settings, { clock: new SystemClock(), logger });
  const exposure = exposureOf(settings, access, logger);
  const stop = new StopRequest(io);
  const metrics = new PrometheusMetrics();
  const processMetrics = observeProcess(metrics);
  const app = new ComingApp();
  try {
    // The address first: where it is taken, no store is made.
    const server = await io.serve((request) => app.fetch(request), exposure);
    try {
      const create = !settings.get("existing");
      await using store = await openNamedStore(context, { mode: "own", create, metrics });
      app.isHere(createApp(store, {
        bodyBytesMax: settings.get("bodyBytesMax"),
        takeOver: options.flag("take-over"),
        isDraining: () => stop.signal !== undefined,
        requestsMax: settings.get("requestsMax"),
        streamsMax: settings.get("streamsMax"),
        bodyIdleMsMax: settings.get("bodyIdleMsMax"),
        streamIdleMsMax: settings.get("streamIdleMsMax"),
        access,
        hostnames: hostnamesOf(settings.get("listen"), access),
        corsOrigins: settings.get("corsOrigin"),
        logger,
        metrics,
      }));
      await announce(context, server, store.location);
      await stop.requested;
      report.message("Closing: requests under way may finish; a second signal ends at once", {
        state: "closing",
        signal: stop.signal,
      });
      await server.close(settings.get("shutdownMsMax"));
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
