/** What each runtime's server gives, and is given. */
import type { Logger } from "../engine/port/logger.ts";

/** Answers one request. */
export type FetchHandler = (request: Request) => Promise<Response>;

/** Where to listen: on an address, or on a Unix socket. */
export type ListenPlace =
  | { readonly hostname: string; readonly port: number; readonly path?: undefined }
  | { readonly path: string };

/** What a server keeps of one connection, as far as its runtime can. */
export interface ConnectionLimits {
  /** Connections at a time. */
  readonly connectionsMax: number;
  /** Time that the head of a request may take. */
  readonly headMsMax: number;
  /** Bytes that a head may have. */
  readonly headBytesMax: number;
}

/** A certificate and its key, as PEM. */
export interface TlsTexts {
  readonly cert: string;
  readonly key: string;
}

/** What a runtime's server is made of. */
export interface ListenOptions {
  readonly handler: FetchHandler;
  readonly place: ListenPlace;
  readonly tls: TlsTexts | undefined;
  readonly limits: ConnectionLimits;
  readonly logger: Logger;
}

/** A server that listens. */
export interface Listener {
  /** Undefined on a Unix socket. */
  readonly address: { readonly hostname: string; readonly port: number } | undefined;
  /** Stops listening; settles when every request under way has been answered. */
  finish(): Promise<void>;
  /** Cuts off what is still under way. */
  cut(): Promise<void>;
}
