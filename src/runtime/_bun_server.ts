/** Listens on Bun. */
import { readDirectly } from "./_bun_body.ts";
import { claimSocket } from "./_unix_socket.ts";
import type { Listener, ListenOptions } from "./_listener.ts";

type BunServer = ReturnType<typeof Bun.serve<undefined>>;

/**
 * Bun has no limit of connections. The head of a connection's first request has some 12 s, whatever it
 * is told; later ones have any time, as a slow restore may be silent for long.
 */
export async function listenOnBun({ handler, place, tls }: ListenOptions): Promise<Listener> {
  // The app has its own cap.
  const maxRequestBodySize = Number.MAX_SAFE_INTEGER;
  // Bun would cut off after 10 s what is silent: on a socket too, of which its types know nothing.
  const idleTimeout = 0;
  const fetch = (request: Request): Promise<Response> => handler(readDirectly(request));
  const common = { fetch, maxRequestBodySize };
  let server: BunServer | undefined;
  if (place.path === undefined) {
    const { hostname, port } = place;
    server = await Promise.resolve(Bun.serve({ ...common, idleTimeout, hostname, port, tls }));
  } else {
    await claimSocket(place.path, (unix) => {
      server = Bun.serve({ ...common, idleTimeout: idleTimeout as unknown as undefined, unix });
    });
  }
  return listenerOf(server!, place.path === undefined ? place : undefined);
}

function listenerOf(
  server: BunServer,
  wanted: { readonly hostname: string; readonly port: number } | undefined,
): Listener {
  return {
    address: wanted && {
      hostname: server.hostname ?? wanted.hostname,
      port: server.port ?? wanted.port,
    },
    finish: () => server.stop(),
    cut: () => server.stop(true),
  };
}
