/**
 * Listens on a socket and hands every request to an app, on the runtime at hand.
 *
 * Owns: the socket, its address, TLS, the limits of a connection, the orderly end.
 * Does not own: what is answered (`src/http`).
 * @module
 */
import { TidemarkError } from "../engine/errors.ts";
import { type Logger, SILENT_LOGGER } from "../engine/port/logger.ts";
import { listenOnBun } from "./_bun_server.ts";
import { listenOnDeno } from "./_deno_server.ts";
import type { FetchHandler, Listener, ListenOptions, ListenPlace } from "./_listener.ts";
import { listenOnNode } from "./_node_server.ts";
import { readTlsFiles, type TlsFiles } from "./_tls_files.ts";
import { leaveSocket } from "./_unix_socket.ts";

export type { FetchHandler } from "./_listener.ts";
export type { TlsFiles } from "./_tls_files.ts";

/** Options of {@link serveHttp}. */
export interface ServeHttpOptions {
  /** Name or address to listen on. @default "127.0.0.1" */
  hostname?: string;
  /** Port to listen on; 0 takes any free one. @default 7460 */
  port?: number;
  /** Path of a Unix socket to listen on, in place of an address. @default none */
  path?: string;
  /** Certificate and key. @default no TLS */
  tls?: TlsFiles;
  /** Connections at a time, where the runtime can count them (Node). @default 1024 */
  connectionsMax?: number;
  /** Time for the head of a request, in ms (Node; Bun has some 12 s for the first). @default 15000 */
  headMsMax?: number;
  /** Bytes of a request's head (Node; others have their own). @default 16384 */
  headBytesMax?: number;
  /** Told of what no caller waits for. @default silent */
  logger?: Logger;
}

/** A server that listens. */
export interface HttpServer {
  /** Address that it listens on; none on a Unix socket. */
  readonly hostname?: string;
  /** Port that it listens on; the real one where 0 was asked for. */
  readonly port?: number;
  /** Where clients find it. */
  readonly url: string;
  /**
   * Takes no more connections, lets requests under way finish, and ends.
   *
   * @param deadlineMs After so many milliseconds requests still under way are cut off.
   */
  close(deadlineMs: number): Promise<void>;
}

/**
 * Starts to listen.
 *
 * @throws {TidemarkError} `listen-failed` when the address is taken, not allowed, or not of this
 * machine; `invalid-request`, `storage-denied` when certificate or key can't be used
 */
export async function serveHttp(
  handler: FetchHandler,
  options: ServeHttpOptions = {},
): Promise<HttpServer> {
  const { hostname = "127.0.0.1", port = 7460, path, logger = SILENT_LOGGER } = options;
  const { connectionsMax = 1024, headMsMax = 15_000, headBytesMax = 16_384 } = options;
  const tls = options.tls && readTlsFiles(options.tls);
  const limits = { connectionsMax, headMsMax, headBytesMax };
  const place = path === undefined ? { hostname, port } : { path };
  const listener = await listen({ handler, place, tls, limits, logger }).catch((cause) => {
    throw listenFailed(place, cause);
  });
  const leave = (): void => {
    if (path !== undefined) leaveSocket(path);
  };
  return {
    ...listener.address,
    url: urlOf(listener, place, tls === undefined ? "http" : "https"),
    close: (deadlineMs) => closeWithin(listener, deadlineMs, leave),
  };
}

function listen(options: ListenOptions): Promise<Listener> {
  if ("Deno" in globalThis) return listenOnDeno(options);
  if ("Bun" in globalThis) return listenOnBun(options);
  return listenOnNode(options);
}

function urlOf({ address }: Listener, place: ListenPlace, scheme: string): string {
  if (place.path !== undefined || address === undefined) return `unix:${place.path}`;
  const { hostname, port } = address;
  return `${scheme}://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}

/** @param leave Called when no more connections are taken. */
async function closeWithin(
  listener: Listener,
  deadlineMs: number,
  leave: () => void,
): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const deadline = new Promise<"late">((resolve) => {
    timer = setTimeout(() => resolve("late"), deadlineMs);
  });
  try {
    const finished = listener.finish().then(() => "finished" as const);
    leave();
    if (await Promise.race([finished, deadline]) === "late") await listener.cut();
  } finally {
    clearTimeout(timer);
  }
}

function listenFailed(place: ListenPlace, cause: unknown): unknown {
  if (cause instanceof TidemarkError) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  if (place.path !== undefined) {
    return new TidemarkError(
      "listen-failed",
      `Cannot listen on unix:${place.path}: ${reason}; choose another path`,
      { details: { path: place.path }, cause },
    );
  }
  const { hostname, port } = place;
  return new TidemarkError(
    "listen-failed",
    `Cannot listen on ${hostname}:${port}: ${reason}; choose another address or port, ` +
      `or port 0 for any free one`,
    { details: { hostname, port }, cause },
  );
}
