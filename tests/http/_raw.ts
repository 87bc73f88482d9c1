/**
 * Connections to a server, byte by byte: what no well-behaved client sends.
 * @module
 */
import { connect, type Socket } from "node:net";

/** One connection. */
export class RawConnection implements Disposable {
  readonly #socket: Socket;
  readonly closed: Promise<void>;
  received = "";
  #watchers: (() => void)[] = [];

  /** @param place A port of loopback, or the path of a socket. */
  constructor(place: number | string) {
    this.#socket = typeof place === "number" ? connect(place, "127.0.0.1") : connect(place);
    this.closed = new Promise((resolve) => this.#socket.once("close", () => resolve()));
    this.#socket.on("error", () => undefined);
    this.#socket.on("data", (bytes: Uint8Array) => {
      this.received += new TextDecoder("latin1").decode(bytes);
      for (const watcher of this.#watchers) watcher();
    });
  }

  /** Sends text, each character one byte. */
  send(text: string): void {
    this.#socket.write(Uint8Array.from(text, (letter) => letter.charCodeAt(0)));
  }

  /** Takes nothing any more. */
  pause(): void {
    this.#socket.pause();
  }

  /** Waits until what was received matches, or the connection ends; answers everything received. */
  async heard(pattern: RegExp): Promise<string> {
    const found = new Promise<void>((resolve) => {
      const look = (): void => {
        if (pattern.test(this.received)) resolve();
      };
      this.#watchers.push(look);
      look();
    });
    await Promise.race([found, this.closed]);
    return this.received;
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

/** Statuses of the answers in what was received. */
export function statusesOf(received: string): number[] {
  return [...received.matchAll(/^HTTP\/1\.[01] ([0-9]{3})/gm)].map(([, status]) => Number(status));
}
