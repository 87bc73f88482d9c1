/**
 * How a sidecar is reached.
 * @module
 */
import type { CliIo } from "../../runtime/cli_io.ts";
import { unixFetch } from "../../runtime/unix_fetch.ts";
import type { Settings } from "../settings/settings.ts";
import { clientToken } from "../tokens.ts";

/** The way to a sidecar. */
export interface SidecarPlace {
  /** What paths are added to. */
  readonly base: string;
  readonly fetch: CliIo["fetch"];
  /** What it is asked with. */
  readonly token: string | undefined;
}

/**
 * Finds the way to a sidecar: over TCP, or a Unix socket.
 *
 * @throws {TidemarkError} `invalid-request`, `storage-denied`: the token can't be read
 * @throws {UsageError} The token file holds only hashes
 */
export function sidecarAt(io: CliIo, url: string, settings: Settings): SidecarPlace {
  const token = clientToken(settings);
  const socket = socketOf(url);
  if (socket === undefined) return { base: url, fetch: io.fetch, token };
  return { base: "http://localhost", fetch: unixFetch(io.absolutePath(socket)), token };
}

/** The path of a Unix socket, where the address is one. */
function socketOf(url: string): string | undefined {
  return /^(?:http\+)?unix:(?:\/\/(?=\/))?(.+)$/.exec(url)?.[1];
}
