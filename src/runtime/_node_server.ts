/** Listens on Node. */
import type { IncomingMessage, Server as NodeServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Listener, ListenOptions } from "./_listener.ts";
import { readDirectly } from "./_node_body.ts";
import { claimSocket } from "./_unix_socket.ts";

/** Listens on Node. */
export async function listenOnNode(options: ListenOptions): Promise<Listener> {
  const { place } = options;
  const server = await serverOf(options);
  const listen = (where: string | { host: string; port: number }): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(where, () => {
        server.off("error", reject);
        resolve();
      });
    });
  if (place.path === undefined) await listen({ host: place.hostname, port: place.port });
  else await claimSocket(place.path, listen);
  const endHandshakes = options.tls === undefined ? () => {} : watchHandshakes(server);
  let isClosing = false;
  server.on("request", (_request, response) => {
    // A connection kept alive would hold the end up until its timeout.
    response.once("close", () => isClosing && setImmediate(() => server.closeIdleConnections()));
  });
  return {
    address: place.path === undefined ? addressOf(server) : undefined,
    finish() {
      isClosing = true;
      return new Promise((resolve) => {
        server.close(() => resolve());
        endHandshakes();
      });
    },
    async cut() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

async function serverOf({ handler, tls, limits, logger }: ListenOptions): Promise<NodeServer> {
  const { createAdaptorServer } = await import("@hono/node-server");
  const { connectionsMax, headMsMax, headBytesMax } = limits;
  const serverOptions = {
    maxHeaderSize: headBytesMax,
    headersTimeout: headMsMax,
    connectionsCheckingInterval: Math.min(headMsMax, 5000),
    // Node would cut a body off after 300 s, however well it flows.
    requestTimeout: 0,
    // Nor is a connection closed that is kept alive: whoever uses it again at that moment would get
    // no answer.
    keepAliveTimeout: 0,
  };
  const server = createAdaptorServer({
    // HTTP/1.1 is all that is spoken.
    fetch: (request, { incoming }) => handler(readDirectly(request, incoming as IncomingMessage)),
    // Answers of Node's own class cost more than all else of a small request.
    overrideGlobalObjects: true,
    ...(tls === undefined ? { serverOptions } : {
      createServer: createSecureServer,
      // Node's own is 120 s.
      serverOptions: { ...serverOptions, ...tls, handshakeTimeout: headMsMax },
    }),
  }) as NodeServer;
  server.maxConnections = connectionsMax;
  let isTold = false;
  server.on("drop", () => {
    // Those that only wait make room for others.
    server.closeIdleConnections();
    if (!isTold) logger.log("warning", "connections are refused: too many", { connectionsMax });
    isTold = true;
  });
  return server;
}

/**
 * Connections before their handshake is done: the server knows no requests of them, and so would close none, yet waits
 * for each. Answers what cuts them off.
 */
function watchHandshakes(server: NodeServer): () => void {
  const sockets = new Map<string, Socket>();
  // Both sockets of a connection have the same far end.
  const farEnd = ({ remoteAddress, remotePort }: Socket): string =>
    `${remoteAddress} ${remotePort}`;
  server.on("connection", (socket: Socket) => {
    const place = farEnd(socket);
    sockets.set(place, socket);
    socket.once("close", () => sockets.get(place) === socket && sockets.delete(place));
  });
  server.on("secureConnection", (socket: Socket) => void sockets.delete(farEnd(socket)));
  return () => {
    for (const socket of sockets.values()) socket.destroy();
  };
}

function addressOf(server: NodeServer): { hostname: string; port: number } {
  const { address, port } = server.address() as AddressInfo;
  return { hostname: address, port };
}
