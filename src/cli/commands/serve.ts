/**
 * `serve`: a store as a sidecar, over HTTP.
 *
 * Owns: the order of begin and end: address, store, app; signals.
 * Does not own: what is answered (`src/http`), how long the end may take (`_shutdown.ts`).
 * @module
 */
import type { Store } from "../../engine/types.ts";
import type { Access } from "../../http/access.ts";
import { createApp } from "../../http/app.ts";
import { PrometheusMetrics } from "../../http/metrics.ts";
import { ReloadingTokens } from "../../http/reloading_tokens.ts";
import type { HttpServer } from "../../runtime/http_server.ts";
import { openProcessLogs, type ProcessLogs } from "../../runtime/process_logs.ts";
import { observeProcess } from "../../runtime/process_metrics.ts";
import { SystemClock } from "../../runtime/system_clock.ts";
import { StopRequest } from "../_stop_request.ts";
import type { Command, CommandContext } from "../command.ts";
import { misspelledVariables } from "../settings/environment.ts";
import { optionsOf } from "../settings/settings.ts";
import { SERVE_KEYS } from "../settings/table.ts";
import { TAKE_OVER_OPTION } from "../target/store.ts";
import { accessOf } from "../tokens.ts";
import { exposureOf, hostnamesOf } from "../exposure.ts";
import { ComingApp } from "./_coming_app.ts";
import { shutDown } from "./_shutdown.ts";

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

/** What lives as long as the sidecar does. */
interface Sidecar {
  readonly access: Access | undefined;
  readonly logs: ProcessLogs;
  readonly stop: StopRequest;
  readonly metrics: PrometheusMetrics;
  readonly app: ComingApp;
}

async function run(context: CommandContext): Promise<number> {
  const { io, settings } = context;
  const logs = openLogs(context);
  const metrics = new PrometheusMetrics();
  const processMetrics = observeProcess(metrics);
  const stop = new StopRequest(io);
  let access: Access | undefined;
  const ignoreReload = io.onReloadSignal(() => {
    // Its terminal was closed: nobody could end it any more.
    if (io.isErrorTerminal) stop.take("SIGTERM");
    else if (access instanceof ReloadingTokens) access.reload();
  });
  try {
    access = accessOf(settings, { clock: new SystemClock(), logger: logs.logger("http") });
    return await serve(context, { access, logs, metrics, stop, app: new ComingApp() });
  } finally {
    ignoreReload();
    stop.ignore();
    processMetrics.close();
    logs.close();
  }
}

/** Serves until a signal comes; answers the exit code. */
async function serve(context: CommandContext, sidecar: Sidecar): Promise<number> {
  const { io, settings } = context;
  const { access, stop, app, logs } = sidecar;
  // The address first: where it is taken, no store is made.
  const exposure = exposureOf(settings, access, logs.logger("server"));
  for (const { name, meant } of misspelledVariables(io.env)) {
    logs.logger("serve").log("warning", "Nobody looks at a variable", { name, meant });
  }
  const server = await io.serve((request) => app.fetch(request), exposure);
  const logger = logs.logger("serve");
  const opening = openServedStore(context, sidecar);
  try {
    const store = await Promise.race([opening, stop.requested]);
    if (store !== undefined) await announce(context, server, store);
    await stop.requested;
  } catch (error) {
    app.failed(error);
    await server.close(0);
    await opening.then((store) => store.close());
    throw error;
  }
  logger.log("info", "Closing: requests under way may finish; a second signal ends at once", {
    signal: stop.signal,
  });
  const msMax = settings.get("shutdownMsMax");
  return await shutDown({ io, server, store: opening, logger, msMax });
}

async function openServedStore(context: CommandContext, sidecar: Sidecar): Promise<Store> {
  const { options, settings } = context;
  const { access, logs, metrics, stop, app } = sidecar;
  const store = await context.openStore(settings.get("store"), {
    ...settings.ofStore(),
    mode: "own",
    create: !settings.get("existing"),
    logger: logs.logger("engine"),
    metrics,
  });
  const { location, id } = store;
  if (store.isNew) logs.logger("serve").log("info", "New store", { store: location, id });
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
    logger: logs.logger("http"),
    logRequests: settings.get("logRequests"),
    metrics,
  }));
  return store;
}

/** Logs as the settings have them; `--json` makes them JSON, too, unless they say otherwise. */
function openLogs({ io, report, settings }: CommandContext): ProcessLogs {
  const isUnsaid = settings.originOf("logFormat").kind === "default";
  return openProcessLogs({
    format: isUnsaid && report.isJson ? "json" : settings.get("logFormat"),
    level: settings.get("logLevel"),
    write: (line) => io.writeError(line),
  });
}

async function announce(
  { report }: CommandContext,
  { url, hostname, port }: HttpServer,
  { location: store }: Store,
): Promise<void> {
  await report.announce(`Listening on ${url}, store ${store}`, { url, hostname, port, store });
}
