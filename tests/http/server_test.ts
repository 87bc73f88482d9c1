import assert from "node:assert/strict";
import { channel } from "node:diagnostics_channel";
import type { Server } from "node:http";
import { describe, test } from "node:test";
import { type FetchHandler, type HttpServer, serveHttp } from "../../src/runtime/http_server.ts";

const LONG_MS = 60_000;
/** Only Node's server cuts off requests that take long. */
const skip = "Deno" in globalThis || "Bun" in globalThis ? "this server has no such limit" : false;

/** A step that another part of a test waits for. */
function step(): { done: Promise<void>; finish: () => void } {
  let finish = (): void => {};
  const done = new Promise<void>((resolve) => finish = resolve);
  return { done, finish };
}

async function withServer(
  handler: FetchHandler,
  use: (server: HttpServer) => Promise<void>,
): Promise<void> {
  const server = await serveHttp(handler, { port: 0 });
  try {
    await use(server);
  } finally {
    await server.close(0);
  }
}

describe("serveHttp", () => {
  test("listens on loopback at a free port, and says which", () =>
    withServer(
      async (request) => new Response(`${request.method} ${await request.text()}`),
      async (server) => {
        assert.equal(server.hostname, "127.0.0.1");
        assert.equal(server.port! > 0, true);
        assert.equal(server.url, `http://127.0.0.1:${server.port}`);
        const answer = await fetch(server.url, { method: "POST", body: "hello" });
        assert.equal(await answer.text(), "POST hello");
      },
    ));

  test("fails with the address in its message when it is taken", () =>
    withServer(() => Promise.resolve(new Response()), async ({ port }) => {
      await assert.rejects(
        serveHttp(() => Promise.resolve(new Response()), { port }),
        (error: Error & { code?: string }) => {
          assert.equal(error.code, "listen-failed");
          assert.match(error.message, new RegExp(`^Cannot listen on 127\\.0\\.0\\.1:${port}: `));
          return true;
        },
      );
    }));

  test("lets a request under way finish when it closes, and takes no other", async () => {
    const [arrived, released] = [step(), step()];
    const server = await serveHttp(async () => {
      arrived.finish();
      await released.done;
      return new Response("finished");
    }, { port: 0 });
    const answer = fetch(server.url).then((response) => response.text());
    await arrived.done;
    const closed = server.close(LONG_MS);
    released.finish();
    assert.equal(await answer, "finished");
    await closed;
    await assert.rejects(fetch(server.url));
  });

  test("lets a stream under way finish when it closes", async () => {
    const released = step();
    const server = await serveHttp(() => {
      let parts = 0;
      const body = new ReadableStream<Uint8Array>({
        async pull(controller) {
          if (++parts === 2) await released.done;
          if (parts === 4) controller.close();
          else controller.enqueue(new TextEncoder().encode(`part ${parts};`));
        },
      }, { highWaterMark: 0 });
      return Promise.resolve(new Response(body));
    }, { port: 0 });
    const response = await fetch(server.url);
    const closed = server.close(LONG_MS);
    released.finish();
    assert.equal(await response.text(), "part 1;part 2;part 3;");
    await closed;
  });

  test("tells a stream that its reader has gone", async () => {
    const gone = step();
    await withServer(() => {
      const body = new ReadableStream<Uint8Array>({
        async pull(controller) {
          await Promise.resolve();
          controller.enqueue(new Uint8Array(65_536));
        },
        cancel: () => gone.finish(),
      }, { highWaterMark: 0 });
      return Promise.resolve(new Response(body));
    }, async ({ url }) => {
      const abort = new AbortController();
      await fetch(url, { signal: abort.signal });
      abort.abort();
      await gone.done;
    });
  });

  test("cuts off what is late", async () => {
    const [arrived, released] = [step(), step()];
    const server = await serveHttp(async () => {
      arrived.finish();
      await released.done;
      return new Response("too late");
    }, { port: 0 });
    const answer = fetch(server.url).then(() => "answered", () => "cut off");
    await arrived.done;
    await server.close(1);
    released.finish();
    // Deno leaves the connection to whoever holds it, so there the answer still arrives.
    assert.match(await answer, /^(answered|cut off)$/);
  });

  test("keeps connections for as long as their clients do", () =>
    withServer(() => Promise.resolve(new Response("ok")), async ({ url }) => {
      const response = await fetch(url);
      assert.equal(await response.text(), "ok");
      // Node announces after how long it closes one.
      assert.equal(response.headers.get("keep-alive"), null);
    }));

  test("closes though a client keeps its connection", async () => {
    const server = await serveHttp(() => Promise.resolve(new Response("ok")), { port: 0 });
    for (let i = 0; i < 3; i++) await (await fetch(server.url)).text();
    await server.close(LONG_MS);
  });

  test("gives a long body its time, but not a long head", { skip }, async () => {
    let found: Server | undefined;
    const note = (message: unknown) => found = (message as { server: Server }).server;
    const requests = channel("http.server.request.start");
    requests.subscribe(note);
    try {
      await withServer(() => Promise.resolve(new Response("ok")), async ({ url }) => {
        assert.equal(await (await fetch(url)).text(), "ok");
      });
    } finally {
      requests.unsubscribe(note);
    }
    assert.deepEqual([found?.requestTimeout, found?.headersTimeout], [0, 15_000]);
  });
});
