/**
 * Makes requests over raw sockets, in a process of its own on Node: `_http_load.ts BODY_BYTES CORPUS_BYTES CONNECTIONS`.
 * Connections stay open; requests are made before anything is measured, but for their offsets.
 * @module
 */
import { connect, type Socket } from "node:net";
import process from "node:process";
import { SeededRandom } from "../doubles/seeded_random.ts";
import { median } from "./_bench.ts";
import { type Body, jobOf, makeBodies } from "./_http_bodies.ts";
import { answerRequests } from "./_http_talk.ts";

/** What is asked of this process. */
export interface LoadRequest {
  readonly port: number;
  /** Requests that are made. */
  readonly requests: number;
  /** Requests come at random, whatever the answers do; each connection asks again at once without it. */
  readonly open?: OpenLoad;
}

/** Requests that come by themselves. */
export interface OpenLoad {
  /** Requests per second, on average. */
  readonly rate: number;
  /** When they come follows from it. */
  readonly seed: number;
}

/** What came of it. */
export interface LoadFigures {
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Changes that this server has acknowledged so far, by writer. */
  readonly acknowledged: readonly number[];
}

const OFFSET_DIGITS = 16;
const END_OF_HEAD = "\r\n\r\n";
const [bodyBytes, corpusBytes, connectionCount] = process.argv.slice(2).map(Number);
const bodies = makeBodies(bodyBytes, corpusBytes);
let nextBody = 0;

/** One connection, with a writer of its own. */
class Connection {
  readonly #socket: Socket;
  readonly #head: Buffer;
  readonly #offsetAt: number;
  #received = "";
  #body: Body | undefined;
  #answered: (() => void) | undefined;
  /** Changes that were acknowledged. */
  offset = 0;

  constructor(port: number, index: number) {
    const head = [
      `POST /v1/jobs/${jobOf(bodyBytes)}/writers/w${index}/changes HTTP/1.1`,
      `host: 127.0.0.1:${port}`,
      "content-type: application/cbor-seq",
      `content-length: ${bodyBytes}`,
      "tidemark-run: 1",
      `tidemark-offset: ${"0".repeat(OFFSET_DIGITS)}`,
    ].join("\r\n");
    this.#offsetAt = head.length - OFFSET_DIGITS;
    this.#head = Buffer.from(head + END_OF_HEAD, "latin1");
    this.#socket = connect({ port, host: "127.0.0.1", noDelay: true });
    this.#socket.setEncoding("latin1");
    this.#socket.on("data", (text: string) => this.#receive(text));
    this.#socket.on("error", fail);
    this.#socket.on("close", () => fail(new Error("the server closed a connection")));
  }

  send(answered: () => void): void {
    this.#answered = answered;
    this.#body = bodies[nextBody];
    nextBody = (nextBody + 1) % bodies.length;
    const offset = String(this.offset).padStart(OFFSET_DIGITS, "0");
    this.#head.write(offset, this.#offsetAt, "latin1");
    this.#socket.cork();
    this.#socket.write(this.#head);
    this.#socket.write(this.#body.bytes);
    this.#socket.uncork();
  }

  /** Answers are small, and mostly come in one piece. */
  #receive(text: string): void {
    this.#received += text;
    const headEnd = this.#received.indexOf(END_OF_HEAD);
    if (headEnd < 0) return;
    const length = /\r\ncontent-length: (\d+)/i.exec(this.#received)?.[1] ?? "0";
    if (this.#received.length < headEnd + END_OF_HEAD.length + Number(length)) return;
    if (!/^HTTP\/1\.1 20[04] /.test(this.#received)) fail(new Error(this.#received));
    this.#received = "";
    this.offset += this.#body!.count;
    this.#answered!();
  }
}

function fail(error: Error): never {
  console.error("Cannot go on with the load:", error);
  process.exit(1);
}

const servers = new Map<number, Connection[]>();

function connectionsTo(port: number): Connection[] {
  let connections = servers.get(port);
  if (connections === undefined) {
    connections = Array.from({ length: connectionCount }, (_, i) => new Connection(port, i));
    servers.set(port, connections);
  }
  return connections;
}

/** Each connection asks again as soon as it is answered. */
function closedLoop(connections: readonly Connection[], requests: number): Promise<number[]> {
  const times: number[] = [];
  let begun = 0;
  return new Promise((resolve) => {
    const ask = (connection: Connection): void => {
      if (begun === requests) return;
      begun += 1;
      const startMs = performance.now();
      connection.send(() => {
        times.push(performance.now() - startMs);
        if (times.length === requests) resolve(times);
        else ask(connection);
      });
    };
    for (const connection of connections) ask(connection);
  });
}

/**
 * Requests come at random, so many per second; one that finds no connection free waits for one. Times count from when
 * it should have been sent.
 */
function openLoop(
  connections: readonly Connection[],
  requests: number,
  { rate, seed }: OpenLoad,
): Promise<number[]> {
  const random = new SeededRandom(seed);
  const gapMs = (): number => -Math.log(1 - random.nextUint32() / 2 ** 32) * 1000 / rate;
  const free = [...connections];
  const due: number[] = [];
  const times: number[] = [];
  let begun = 0;
  let nextMs = performance.now() + gapMs();
  return new Promise((resolve) => {
    const send = (): void => {
      while (due.length > 0 && free.length > 0) {
        const dueMs = due.shift()!;
        const connection = free.shift()!;
        connection.send(() => {
          times.push(performance.now() - dueMs);
          free.push(connection);
          if (times.length === requests) resolve(times);
          else send();
        });
      }
    };
    const look = (): void => {
      for (const nowMs = performance.now(); nextMs <= nowMs && begun < requests; begun++) {
        due.push(nextMs);
        nextMs += gapMs();
      }
      send();
      if (begun < requests) setTimeout(look, Math.max(0, nextMs - performance.now()));
    };
    look();
  });
}

await answerRequests(async ({ port, requests, open }: LoadRequest): Promise<LoadFigures> => {
  const connections = connectionsTo(port);
  const startMs = performance.now();
  const times = open === undefined
    ? await closedLoop(connections, requests)
    : await openLoop(connections, requests, open);
  const seconds = (performance.now() - startMs) / 1000;
  times.sort((a, b) => a - b);
  return {
    seconds,
    p50Ms: median(times),
    p99Ms: times[Math.floor(times.length * 0.99)],
    acknowledged: connections.map(({ offset }) => offset),
  };
});
process.exit(0);
