/** Listens on Bun. */
import { claimSocket } from "./_unix_socket.ts";
import type { Listener, ListenOptions } from "./_listener.ts";

/** Bun counts in whole seconds, up to this many. */
const IDLE_S_MAX = 255;

type BunServer = ReturnType<typeof Bun.serve<undefined>>;

/**
 * Bun has no limit of connections. One that sends no whole head is idle, however it drips, and is
 * closed; from the first head on the app's own limits count, as a slow restore may be silent for long.
 */
export async function listenOnBun(options: ListenOptions): Promise<Listener> {
  const { handler, place, tls, limits } = options;
  const common = {
    fetch(request: Request, server: { timeout(request: Request, seconds: number): void }) {
      server.timeout(request, 0);
      return handler(request);
    },
    // The app has its own cap.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  };
  const idleTimeout = Math.min(Math.ceil(limits.headMsMax / 1000), IDLE_S_MAX);
  let server: BunServer | undefined;
  if (place.path === undefined) {
    const { hostname, port } = place;
    server = await Promise.resolve(Bun.serve({ ...common, idleTimeout, hostname, port, tls }));
  } else {
    await claimSocket(place.path, (unix) => {
      server = Bun.serve({ ...common, unix });
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
