/** Listens on Deno. */
import { readDirectly } from "./_deno_body.ts";
import type { Listener, ListenOptions, ListenPlace } from "./_listener.ts";
import { claimSocket } from "./_unix_socket.ts";

const AGAIN_MS = 100;

/**
 * Deno's server has no limit of connections or of time for a head, and stops listening for good
 * where no descriptor is left for a connection. Then it is begun anew; connections that are open
 * live on.
 */
export async function listenOnDeno(options: ListenOptions): Promise<Listener> {
  let server = await begin(options, options.place);
  const address = "port" in server.addr
    ? { hostname: server.addr.hostname, port: server.addr.port }
    : undefined;
  const place = address ?? options.place;
  let isClosing = false;
  const follow = (): void => {
    server.finished.catch((error) => {
      if (isClosing) return;
      options.logger.log("error", "the server stopped listening: it begins anew", {
        reason: String(error),
      });
      setTimeout(again, AGAIN_MS);
    });
  };
  const again = async (): Promise<void> => {
    if (isClosing) return;
    try {
      const next = await begin(options, place);
      if (isClosing) return await next.shutdown();
      server = next;
      follow();
    } catch {
      setTimeout(again, AGAIN_MS * 10);
    }
  };
  follow();
  return {
    address,
    finish() {
      isClosing = true;
      return server.shutdown();
    },
    // Deno can't cut connections once it shuts down; they end when their handlers do, or with the
    // process.
    cut: () => Promise.resolve(),
  };
}

async function begin(
  { handler, tls }: ListenOptions,
  place: ListenPlace,
): Promise<Deno.HttpServer<Deno.NetAddr> | Deno.HttpServer<Deno.UnixAddr>> {
  const onListen = (): void => {};
  const answer = (request: Request): Promise<Response> => handler(readDirectly(request));
  if (place.path === undefined) {
    const { hostname, port } = place;
    return Deno.serve({ hostname, port, onListen, ...tls }, answer);
  }
  let server: Deno.HttpServer<Deno.UnixAddr> | undefined;
  await claimSocket(place.path, (path) => {
    server = Deno.serve({ path, onListen }, answer);
  });
  return server!;
}
