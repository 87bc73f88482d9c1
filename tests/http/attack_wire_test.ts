import assert from "node:assert/strict";
import process from "node:process";
import { describe, test } from "node:test";
import { createApp, type HttpAppOptions } from "../../src/http/mod.ts";
import {
  type HttpServer,
  serveHttp,
  type ServeHttpOptions,
} from "../../src/runtime/http_server.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { ManualClock } from "../doubles/manual_clock.ts";
import { RawConnection, statusesOf } from "./_raw.ts";

const MIB = 1024 * 1024;
const LONG_MS = 60_000;
const isNode = !("Deno" in globalThis) && !("Bun" in globalThis);
const HOST = "Host: 127.0.0.1\r\n";
const POST = `POST /taken HTTP/1.1\r\n${HOST}Content-Type: text/plain\r\n`;
const SMUGGLED = `GET /smuggled HTTP/1.1\r\n${HOST}\r\n`;

/** Requests whose end two readers may see at different places. */
const SHAPES: Readonly<Record<string, string>> = {
  "a length and chunks": `${POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  "chunks and a length": `${POST}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`,
  "two lengths": `${POST}Content-Length: 5\r\nContent-Length: 0\r\n\r\n`,
  "a list of lengths": `${POST}Content-Length: 0, 0\r\n\r\n`,
  "a signed length": `${POST}Content-Length: +0\r\n\r\n`,
  "a length in hexadecimal": `${POST}Content-Length: 0x0\r\n\r\n`,
  "a length below 0": `${POST}Content-Length: -1\r\n\r\n`,
  "a coding of no name": `${POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
  "a coding after chunks": `${POST}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
  "a space before the colon": `${POST}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`,
  "a folded line": `${POST}X: a\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  "a chunk of no size": `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n`,
  "a chunk of 2^72":
    `${POST}Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nabc\r\n0\r\n\r\n`,
};

/** What is no HTTP, or too much of it. */
const GARBAGE: Readonly<Record<string, string>> = {
  "a TLS hello": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
  "a request of 1991": "GET /taken\r\n\r\n",
  "a NUL in a name": `GET /taken HTTP/1.1\r\n${HOST}X\0: a\r\n\r\n`,
  "a NUL in a value": `GET /taken HTTP/1.1\r\n${HOST}X: a\0b\r\n\r\n`,
  "a NUL in the path": `GET /tak\0en HTTP/1.1\r\n${HOST}\r\n`,
  "a header of 1 MiB": `GET /taken HTTP/1.1\r\n${HOST}X: ${"a".repeat(MIB)}\r\n\r\n`,
  "a path of 1 MiB": `GET /${"a".repeat(MIB)} HTTP/1.1\r\n${HOST}\r\n`,
  "10,000 headers": `GET /taken HTTP/1.1\r\n${HOST}${"X-Flood: aaaaaaaa\r\n".repeat(10_000)}\r\n`,
};

/** What a body that stalls may be. */
const STALLING = [
  ["states/s", "application/octet-stream"],
  ["writers/w/changes", "application/cbor-seq"],
  ["writers/w/changes", "application/x-ndjson"],
  ["checkpoints", "application/json"],
];

async function withPaths(
  use: (server: HttpServer, paths: string[]) => Promise<void>,
): Promise<void> {
  const paths: string[] = [];
  const server = await serveHttp(async (request) => {
    paths.push(new URL(request.url).pathname);
    try {
      await request.arrayBuffer();
      return new Response("taken");
    } catch {
      return new Response("bad", { status: 400 });
    }
  }, { port: 0 });
  try {
    await use(server, paths);
  } finally {
    await server.close(0);
  }
}

async function withApp(
  options: HttpAppOptions & ServeHttpOptions,
  use: (server: HttpServer) => Promise<void>,
): Promise<void> {
  await using store = await openStore("memory:");
  await store.job("j");
  const app = createApp(store, options);
  const server = await serveHttp((request) => app.fetch(request), { port: 0, ...options });
  try {
    await use(server);
  } finally {
    await server.close(0);
  }
}

async function answers(server: HttpServer): Promise<void> {
  const answer = await fetch(`${server.url}/healthz`);
  assert.equal(answer.status, 200);
  await answer.body?.cancel();
}

describe("requests that end at two places", () => {
  for (const [what, text] of Object.entries(SHAPES)) {
    test(`are refused, and what hides in them is no request: ${what}`, () =>
      withPaths(async (server, paths) => {
        using connection = new RawConnection(server.port!);
        connection.send(`${text}${SMUGGLED}`);
        await connection.closed;
        assert.equal(paths.includes("/smuggled"), false, connection.received);
        assert.equal(statusesOf(connection.received).includes(200), false, connection.received);
        await answers(server);
      }));
  }
});

describe("what is no request", () => {
  for (const [what, text] of Object.entries(GARBAGE)) {
    test(`is refused at once: ${what}`, () =>
      withPaths(async (server, paths) => {
        using connection = new RawConnection(server.port!);
        connection.send(text);
        await connection.closed;
        assert.deepEqual(paths, []);
        await answers(server);
      }));
  }

  test("follows a request that is one: the first is answered, the rest is not taken for any", () =>
    withPaths(async (server, paths) => {
      using connection = new RawConnection(server.port!);
      connection.send(`GET /taken HTTP/1.1\r\n${HOST}\r\n${"\0garbage\xff\r\n".repeat(1000)}`);
      await connection.heard(/taken$/);
      // Deno leaves it open.
      if (!("Deno" in globalThis)) await connection.closed;
      assert.deepEqual(paths.filter((path) => path !== "/taken"), []);
      await answers(server);
    }));
});

describe("connections that stall", () => {
  test("do not keep others waiting, and take little memory: 200 of them", async () => {
    const clock = new ManualClock();
    const limits = {
      clock,
      bodyBytesMax: 8 * MIB,
      streamsMax: 4,
      bodyIdleMsMax: 1000,
      streamIdleMsMax: 5000,
    };
    await withApp(limits, async (server) => {
      const changes = `${server.url}/v1/jobs/j/writers/w/changes`;
      const append = async (): Promise<number> => {
        const body = new TextEncoder().encode(`{"data":"${"x".repeat(MIB)}"}\n`.repeat(4));
        const headers = { "content-type": "application/x-ndjson" };
        return (await fetch(changes, { method: "POST", headers, body })).status;
      };
      for (let round = 0; round < 2; round++) assert.equal(await append(), 200);
      const before = process.memoryUsage().rss;
      const stalled: RawConnection[] = [];
      try {
        const kinds = [
          "",
          `GET /healthz HTTP/1.1\r\n${HOST}X-Sl`,
          `POST /v1/jobs/j/states/s HTTP/1.1\r\n${HOST}Content-Type: application/octet-stream\r\nContent-Length: 9999\r\n\r\nabc`,
          `POST /v1/jobs/j/writers/v/changes HTTP/1.1\r\n${HOST}Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`,
          `GET /v1/jobs/j/writers/w/changes?at=tail HTTP/1.1\r\n${HOST}\r\n`,
        ];
        for (let n = 0; n < 200; n++) {
          const connection = new RawConnection(server.port!);
          stalled.push(connection);
          connection.send(kinds[n % kinds.length]);
          if (n % kinds.length === 4) connection.pause();
          if (n % 50 === 49) await answers(server);
        }
        for (let round = 0; round < 5; round++) {
          await answers(server);
          assert.equal(await append(), 200);
        }
        const grownMiB = (process.memoryUsage().rss - before) / MIB;
        assert.ok(grownMiB < 500, `${grownMiB} MiB`);
        // What they held is let go of, though they are still there.
        const restore = async (): Promise<number> => {
          const answer = await fetch(`${changes}?at=tail`);
          await answer.body?.cancel();
          return answer.status;
        };
        const writeState = async (): Promise<number> => {
          const headers = { "content-type": "application/octet-stream" };
          const asked = { method: "POST", headers, body: "abc" };
          return (await fetch(`${server.url}/v1/jobs/j/states/s`, asked)).status;
        };
        assert.deepEqual([await restore(), await writeState()], [503, 503]);
        await clock.advance(5000);
        // What was held is let go of as the connections' own turns come, some of it after a while.
        assert.equal(await untilRoom(restore, clock), 200);
        assert.equal(await untilRoom(writeState, clock), 201);
      } finally {
        for (const connection of stalled) connection[Symbol.dispose]();
      }
      await answers(server);
    });
  });

  for (const [path, type] of STALLING) {
    test(`with a body are answered, and closed where the runtime can: ${path}, ${type}`, async () => {
      const clock = new ManualClock();
      await withApp({ clock, bodyIdleMsMax: 1000 }, async (server) => {
        using connection = new RawConnection(server.port!);
        connection.send(`POST /v1/jobs/j/${path} HTTP/1.1\r\n${HOST}Content-Type: ${type}\r\n`);
        connection.send("Content-Length: 100\r\n\r\nabc");
        while (clock.pendingCount === 0) await clock.advance(0);
        await clock.advance(2000);
        const received = await connection.heard(/"status":408/);
        assert.deepEqual(statusesOf(received), [408]);
        assert.match(received, /connection: close/i);
        // Deno keeps it until its client goes.
        if (!("Deno" in globalThis)) await connection.closed;
      });
    });
  }

  test("are refused above the limit; those that only wait make room", {
    skip: isNode ? false : "this server can't count its connections",
  }, () =>
    withApp({ connectionsMax: 2 }, async (server) => {
      using first = new RawConnection(server.port!);
      using second = new RawConnection(server.port!);
      for (const connection of [first, second]) {
        connection.send(`GET /healthz HTTP/1.1\r\n${HOST}\r\n`);
        await connection.heard(/"ok"/);
      }
      using third = new RawConnection(server.port!);
      await Promise.all([third.closed, first.closed, second.closed]);
      using fourth = new RawConnection(server.port!);
      fourth.send(`GET /healthz HTTP/1.1\r\n${HOST}\r\n`);
      assert.deepEqual(statusesOf(await fourth.heard(/"ok"/)), [200]);
    }));
});

const TRIES_MAX = 100;

/** Asks again, a second later each time, as long as there is no room; answers the last status. */
async function untilRoom(ask: () => Promise<number>, clock: ManualClock): Promise<number> {
  let status = await ask();
  for (let tries = 1; status === 503 && tries < TRIES_MAX; tries++) {
    await clock.advance(1000);
    status = await ask();
  }
  return status;
}

test("methods that nobody knows change nothing", () =>
  withApp({}, async (server) => {
    for (const method of ["FOO", "DELETED", "delete", "TRACE", "PRI", "\x01"]) {
      using connection = new RawConnection(server.port!);
      connection.send(
        `${method} /v1/jobs/j?confirm=j HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`,
      );
      await connection.closed;
      assert.equal((await fetch(`${server.url}/v1/jobs/j`)).status, 200, method);
    }
    await server.close(LONG_MS);
  }));
