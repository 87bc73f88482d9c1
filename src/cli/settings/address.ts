/**
 * Addresses to listen on.
 * @module
 */

/** A host and a port. */
export interface ListenAddress {
  readonly hostname: string;
  readonly port: number;
}

/** Reads `HOST:PORT`, `[IPV6]:PORT`, `:PORT` or `PORT`; undefined when it is none. */
export function parseAddress(text: string): ListenAddress | undefined {
  const match = /^(?:(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]\s]*)):)?([0-9]{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65535) return undefined;
  return { hostname: match[1] ?? (match[2] || "127.0.0.1"), port };
}

/** The address as {@link parseAddress} reads it. */
export function formatAddress({ hostname, port }: ListenAddress): string {
  return hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;
}
