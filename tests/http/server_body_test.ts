import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { describe, test } from "node:test";
import { encodeChanges } from "../../mod.ts";
import { createApp, type HttpAppOptions } from "../../src/http/mod.ts";
import { serveHttp } from "../../src/runtime/http_server.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { ManualClock } from "../doubles/manual_clock.ts";

const BODY_BYTES = 400_000;
const PATH = "/v1/jobs/orders/writers/totals/changes";

/** One change that makes a body of so many bytes. */
function bodyOf(bytes: number): Uint8Array {
  const data = new Uint8Array(bytes - 7).map((_, i) => i % 251);
  return encodeChanges([{ keyGroup: 1, data }]).bytes;
}

/** A server that holds one body of {@link BODY_BYTES} at a time. */
async function withSidecar(
  use: (port: number) => Promise<void>,
  options: HttpAppOptions = {},
): Promise<void> {
  // Long enough for bodies to wait for each other.
  await using store = await openStore("memory:", { persistDelayMs: 5 });
  await store.job("orders");
  const limits = { bodyBytesMax: BODY_BYTES, bodyBytesInFlightMax: BODY_BYTES, ...options };
  const server = await serveHttp(createApp(store, limits).fetch, { port: 0 });
  try {
    await use(server.port!);
  } finally {
    await server.close(0);
  }
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1" }, () => resolve(socket));
    socket.once("error", reject);
  });
}

function headOf(length: number, more: readonly string[] = []): string {
  return [
    `POST ${PATH} HTTP/1.1`,
    "host: 127.0.0.1",
    "content-type: application/cbor-seq",
    `content-length: ${length}`,
    ...more,
    "",
    "",
  ].join("\r\n");
}

function write(socket: Socket, part: string | Uint8Array): Promise<void> {
  return new Promise((resolve) => socket.write(part, () => resolve()));
}

/** The first status that the server answers; "none" when it closes without one. */
function statusOn(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    socket.once("data", (bytes) => resolve(/^HTTP\/1\.1 (\d+)/.exec(String(bytes))?.[1] ?? "none"));
    socket.once("close", () => resolve("none"));
  });
}

function append(port: number, body: Uint8Array): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}${PATH}`, {
    method: "POST",
    headers: { "content-type": "application/cbor-seq" },
    body: body as Uint8Array<ArrayBuffer>,
  });
}

async function nextOffset(port: number): Promise<number> {
  const answer = await append(port, bodyOf(BODY_BYTES));
  assert.equal(answer.status, 200, await answer.clone().text());
  return (await answer.json()).nextOffset;
}

describe("a body on a socket", () => {
  test("arrives whole, in however many pieces it comes", () =>
    withSidecar(async (port) => {
      const body = bodyOf(BODY_BYTES);
      const socket = await open(port);
      await write(socket, headOf(body.length));
      for (const [from, to] of [[0, 1], [1, 70_000], [70_000, BODY_BYTES]]) {
        await write(socket, body.subarray(from, to));
      }
      assert.equal(await statusOn(socket), "200");
      socket.destroy();
      const url = `http://127.0.0.1:${port}${PATH}?at=tail`;
      const read = await fetch(url, { headers: { accept: "application/cbor-seq" } });
      const bytes = new Uint8Array(await read.arrayBuffer());
      assert.deepEqual(bytes.subarray(0, body.length), body);
    }));

  test("holds no memory once its client has gone away", () =>
    withSidecar(async (port) => {
      const body = bodyOf(BODY_BYTES);
      for (const cut of [0, 1, 100_000]) {
        const socket = await open(port);
        await write(socket, headOf(body.length));
        await write(socket, body.subarray(0, cut));
        const closed = new Promise((resolve) => socket.once("close", resolve));
        socket.destroy();
        await closed;
        // The server may hear of it later: until then it has no room for another.
        for (let attempt = 0;; attempt++) {
          assert.ok(attempt < 500, "the body is let go");
          const answer = await append(port, body);
          await answer.body?.cancel();
          if (answer.status !== 503) break;
        }
      }
      assert.equal(await nextOffset(port), 4);
    }));

  test("is refused by the server when it states a length and comes in chunks", () =>
    withSidecar(async (port) => {
      const socket = await open(port);
      const status = statusOn(socket);
      await write(socket, headOf(3, ["transfer-encoding: chunked"]));
      const chunk = bodyOf(BODY_BYTES + 100_000);
      socket.write(`${chunk.length.toString(16)}\r\n`);
      socket.write(chunk);
      socket.write("\r\n0\r\n\r\n");
      assert.match(await status, /^(?:400|413|none)$/);
      socket.destroy();
    }));

  test("is given up when it stalls, and holds no memory then", async () => {
    const clock = new ManualClock();
    await withSidecar(async (port) => {
      const socket = await open(port);
      const status = statusOn(socket);
      await write(socket, headOf(BODY_BYTES));
      await write(socket, new Uint8Array(2000));
      while (clock.pendingCount === 0) await new Promise((resolve) => setImmediate(resolve));
      // At the least rate that is allowed it would have come whole.
      await clock.advance(1.25 * BODY_BYTES / 1024 * 1000);
      assert.equal(await status, "408");
      socket.destroy();
      assert.equal(await nextOffset(port), 1);
    }, { clock, bodyIdleMsMax: 100_000 });
  });

  test("stays what it was, although the memory of those before it is used again", () =>
    withSidecar(async (port) => {
      const sent: Uint8Array[] = [];
      const appendOne = async (marker: number): Promise<void> => {
        // Below, at and above the size from which memory is used again.
        const bytesOf = [30_000, 90_000, 128 * 1024 - 7, 140_000];
        const data = new Uint8Array(bytesOf[marker % 4]).fill(marker);
        const { bytes } = encodeChanges([{ keyGroup: 1, data }]);
        const response = await append(port, bytes);
        assert.equal(response.status, 200, await response.clone().text());
        sent[(await response.json()).offset] = bytes;
      };
      for (let round = 0; round < 4; round++) {
        await Promise.all([1, 2, 3, 4].map((marker) => appendOne(round * 8 + marker)));
      }
      const url = `http://127.0.0.1:${port}${PATH}?at=tail`;
      const read = await fetch(url, { headers: { accept: "application/cbor-seq" } });
      const bytes = new Uint8Array(await read.arrayBuffer());
      let at = 0;
      for (const one of sent) {
        assert.deepEqual(bytes.subarray(at, at + one.length), one);
        at += one.length;
      }
      assert.equal(sent.length, 16);
    }));
});
