/**
 * Addresses to listen on.
 * @module
 */
import type { AbsolutePath, Reader } from "./setting.ts";

/** A host and a port, or the path of a Unix socket. */
export type ListenAddress =
  | { readonly hostname: string; readonly port: number; readonly path?: undefined }
  | { readonly path: string };

const SOCKET_PREFIX = "unix:";

/** Reads an address; the path of a socket is made absolute. */
export function addressReader(example: string): Reader<ListenAddress> {
  const read = (text: string, absolutePath: AbsolutePath): ListenAddress | undefined => {
    const address = parseAddress(text);
    return address?.path === undefined ? address : { path: absolutePath(address.path) };
  };
  return {
    placeholder: "HOST:PORT",
    wants: `HOST:PORT, such as ${example}, or unix:PATH`,
    ofText: read,
    ofJson: (json, absolutePath) => typeof json === "string" ? read(json, absolutePath) : undefined,
    toText: formatAddress,
  };
}

/** Reads `HOST:PORT`, `[IPV6]:PORT`, `:PORT`, `PORT` or `unix:PATH`; undefined when it is none. */
export function parseAddress(text: string): ListenAddress | undefined {
  if (text.startsWith(SOCKET_PREFIX)) {
    const path = text.slice(SOCKET_PREFIX.length);
    return path === "" || path.includes("\0") ? undefined : { path };
  }
  const match = /^(?:(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]\s]*)):)?([0-9]{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65535) return undefined;
  return { hostname: match[1] ?? (match[2] || "127.0.0.1"), port };
}

/** The address as {@link parseAddress} reads it. */
export function formatAddress(address: ListenAddress): string {
  if (address.path !== undefined) return `${SOCKET_PREFIX}${address.path}`;
  const { hostname, port } = address;
  return hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;
}

/** Whether only this machine reaches the address. */
export function isLoopback(address: ListenAddress): boolean {
  if (address.path !== undefined) return true;
  return /^(?:localhost|127(?:\.[0-9]{1,3}){3}|::1)$/i.test(address.hostname);
}
