/**
 * Listens on a socket and hands every request to an app, on the runtime at hand.
 *
 * Owns: the socket, its address, the orderly end.
 * Does not own: what is answered (`src/http`).
 * @module
 */
import type { Server as NodeServer } from "node:http";
import type { AddressInfo } from "node:net";
import { TidemarkError } from "../engine/errors.ts";

/** Answers one request. */
export type FetchHandler = (request: Request) => Promise<Response>;

/** Options of {@link serveHttp}. */
export interface ServeHttpOptions {
  /** Name or address to listen on. @default "127.0.0.1" */
  hostname?: string;
  /** Port to listen on; 0 takes any free one. @default 7460 */
  port?: number;
}

/** A server that listens. */
export interface HttpServer {
  /** Address that it listens on. */
  readonly hostname: string;
  /** Port that it listens on; the real one where 0 was asked for. */
  readonly port: number;
  /** Where clients find it. */
  readonly url: string;
  /**
   * Takes no more connections, lets requests under way finish, and ends.
   *
   * @param deadlineMs After so many milliseconds requests still under way are cut off.
   */
  close(deadlineMs: number): Promise<void>;
}

/** What each runtime gives. */
interface Listener {
  readonly hostname: string;
  readonly port: number;
  /** Stops listening; settles when every request under way has been answered. */
  finish(): Promise<void>;
  /** Cuts off what is still under way. */
  cut(): Promise<void>;
}

/**
 * Starts to listen.
 *
 * @throws {TidemarkError} `listen-failed` when the address is taken, not allowed, or not of this
 * machine
 */
export async function serveHttp(
  handler: FetchHandler,
  options: ServeHttpOptions = {},
): Promise<HttpServer> {
  const { hostname = "127.0.0.1", port = 7460 } = options;
  const listener = await listen(handler, hostname, port).catch((cause) => {
    throw listenFailed(hostname, port, cause);
  });
  const host = listener.hostname.includes(":") ? `[${listener.hostname}]` : listener.hostname;
  return {
    hostname: listener.hostname,
    port: listener.port,
    url: `http://${host}:${listener.port}`,
    close: (deadlineMs) => closeWithin(listener, deadlineMs),
  };
}

function listen(handler: FetchHandler, hostname: string, port: number): Promise<Listener> {
  if ("Deno" in globalThis) return listenOnDeno(handler, hostname, port);
  if ("Bun" in globalThis) return listenOnBun(handler, hostname, port);
  return listenOnNode(handler, hostname, port);
}

async function closeWithin(listener: Listener, deadlineMs: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const deadline = new Promise<"late">((resolve) => {
    timer = setTimeout(() => resolve("late"), deadlineMs);
  });
  try {
    const finished = listener.finish().then(() => "finished" as const);
    if (await Promise.race([finished, deadline]) === "late") await listener.cut();
  } finally {
    clearTimeout(timer);
  }
}

async function listenOnDeno(
  handler: FetchHandler,
  hostname: string,
  port: number,
): Promise<Listener> {
  const server = await Promise.resolve(Deno.serve({ hostname, port, onListen() {} }, handler));
  return {
    hostname: server.addr.hostname,
    port: server.addr.port,
    finish: () => server.shutdown(),
    // Deno can't cut connections once it shuts down; they end when their handlers do, or with the
    // process.
    cut: () => Promise.resolve(),
  };
}

async function listenOnBun(
  handler: FetchHandler,
  hostname: string,
  port: number,
): Promise<Listener> {
  const server = await Promise.resolve(Bun.serve({
    hostname,
    port,
    fetch: handler,
    // The app has its own cap, and a slow restore or append may be silent for long.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    idleTimeout: 0,
  }));
  return {
    hostname: server.hostname ?? hostname,
    port: server.port ?? port,
    finish: () => server.stop(),
    cut: () => server.stop(true),
  };
}

async function listenOnNode(
  handler: FetchHandler,
  hostname: string,
  port: number,
): Promise<Listener> {
  const { createAdaptorServer } = await import("@hono/node-server");
  const server = createAdaptorServer({
    fetch: handler,
    overrideGlobalObjects: false,
  }) as NodeServer;
  // Node would cut a body off after 300 s, however well it flows; heads keep their 60 s.
  server.requestTimeout = 0;
  // Nor is a connection closed that is kept alive: whoever uses it again at that moment would get no answer.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, hostname, resolve);
  });
  const address = server.address() as AddressInfo;
  let isClosing = false;
  server.on("request", (_request, response) => {
    // A connection kept alive would hold the end up until its timeout.
    response.once("close", () => isClosing && setImmediate(() => server.closeIdleConnections()));
  });
  return {
    hostname: address.address,
    port: address.port,
    finish() {
      isClosing = true;
      return new Promise((resolve) => server.close(() => resolve()));
    },
    async cut() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

function listenFailed(hostname: string, port: number, cause: unknown): TidemarkError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new TidemarkError(
    "listen-failed",
    `Cannot listen on ${hostname}:${port}: ${reason}; choose another address or port, ` +
      `or port 0 for any free one`,
    { details: { hostname, port }, cause },
  );
}
