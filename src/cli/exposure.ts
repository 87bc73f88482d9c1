/**
 * Where a sidecar listens, and what it asks for there.
 * @module
 */
import type { Logger } from "../engine/port/logger.ts";
import type { Access } from "../http/access.ts";
import type { ServeHttpOptions, TlsFiles } from "../runtime/http_server.ts";
import { UsageError } from "./_usage_error.ts";
import { formatAddress, isLoopback, type ListenAddress } from "./settings/address.ts";
import type { Settings } from "./settings/settings.ts";

/**
 * Where to listen, and how.
 *
 * @throws {UsageError} Whoever reaches the address could do everything, or half of TLS is missing
 */
export function exposureOf(
  settings: Settings,
  access: Access | undefined,
  logger: Logger,
): ServeHttpOptions {
  const address = settings.get("listen");
  const tls = tlsOf(settings, address);
  if (!isLoopback(address)) {
    if (access === undefined && !settings.get("insecureNoAuth")) throw open(address);
    if (access === undefined) {
      logger.log(
        "warning",
        "no token is asked for: whoever reaches the address may do everything",
        {
          listen: formatAddress(address),
        },
      );
    } else if (tls === undefined) {
      logger.log(
        "warning",
        "tokens come in clear text: give --tls-cert and --tls-key, or put a proxy with TLS before it",
        {
          listen: formatAddress(address),
        },
      );
    }
  }
  const [connectionsMax, headMsMax] = [settings.get("connectionsMax"), settings.get("headMsMax")];
  return { ...address, tls, connectionsMax, headMsMax, logger };
}

/**
 * Names that requests may call the sidecar by: where no token is asked for on loopback, a page could
 * lead a name of its own there.
 */
export function hostnamesOf(
  address: ListenAddress,
  access: Access | undefined,
): readonly string[] | undefined {
  const isTrusting = access === undefined && address.path === undefined && isLoopback(address);
  return isTrusting ? [address.hostname] : undefined;
}

function tlsOf(settings: Settings, address: ListenAddress): TlsFiles | undefined {
  const [certFile, keyFile] = [settings.get("tlsCert"), settings.get("tlsKey")];
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined || keyFile === undefined) {
    const [given, missing] = keyFile === undefined
      ? [settings.nameOf("tlsCert"), "--tls-key"]
      : [settings.nameOf("tlsKey"), "--tls-cert"];
    throw new UsageError(`Cannot use ${given} alone: give ${missing} too`);
  }
  if (address.path !== undefined) {
    throw new UsageError(
      `Cannot use TLS on ${formatAddress(address)}: nobody listens in there; leave --tls-cert out`,
    );
  }
  return { certFile, keyFile };
}

function open(address: ListenAddress): UsageError {
  return new UsageError(
    `Cannot listen on ${formatAddress(address)} without tokens: whoever reaches it could do ` +
      "everything; give --token-file FILE or TIDEMARK_TOKEN, or --insecure-no-auth where the " +
      "network keeps others out",
  );
}
