import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, test } from "node:test";
import { type ClientOptions, TidemarkClient } from "../../src/client/mod.ts";
import type { TidemarkError } from "../../src/engine/errors.ts";
import { systemFetch } from "../../src/runtime/system_fetch.ts";
import { ManualClock } from "../doubles/manual_clock.ts";
import { pass } from "./_client.ts";

const TOKEN = "a-token-that-nobody-sees";

/** A client whose requests are answered by turns. */
function clientOf(answers: (() => Response)[], options: ClientOptions = {}) {
  const clock = new ManualClock();
  const seen: Request[] = [];
  const client = new TidemarkClient("http://127.0.0.1:7460", {
    clock,
    fetch(request) {
      seen.push(request);
      return Promise.resolve((answers.shift() ?? (() => Response.json({ jobs: [] })))());
    },
    ...options,
  });
  return { client, clock, seen };
}

function problem(status: number, code: string, headers: Record<string, string> = {}): Response {
  const body = JSON.stringify({ code, detail: `It is ${code}`, outcome: "not-applied" });
  return new Response(body, {
    status,
    headers: { "content-type": "application/problem+json", ...headers },
  });
}

describe("a request", () => {
  test("carries the token, and follows nobody elsewhere", async () => {
    const { client, seen } = clientOf([], { token: TOKEN });
    await client.jobs();
    assert.equal(seen[0].headers.get("authorization"), `Bearer ${TOKEN}`);
    assert.equal(seen[0].redirect, "manual");
    const elsewhere = new Response(null, { status: 307, headers: { location: "http://evil/" } });
    const led = clientOf([() => elsewhere], { token: TOKEN });
    await assert.rejects(led.client.jobs(), { code: "server-unreachable" });
    assert.equal(led.seen.length, 1);
  });

  test("tells nobody of the token", async () => {
    for (const token of ["", "two words", "new\nline", "wäve"]) {
      assert.throws(() => new TidemarkClient("http://h", { token }), ({ message }: TypeError) => {
        return token === "" || !message.includes(token);
      });
    }
    assert.throws(() => new TidemarkClient("http://user:secret@h"), ({ message }: TypeError) => {
      return message.includes("token") && !message.includes("secret");
    });
    const { client } = clientOf([() => problem(401, "unauthorized")], { token: TOKEN });
    await assert.rejects(client.jobs(), (error: TidemarkError) => {
      const told = JSON.stringify([error.message, error.details, String(error.stack)]);
      return error.code === "unauthorized" && !told.includes(TOKEN);
    });
  });

  test("is repeated where the answer says nothing of it, and not where it says no", async () => {
    const passing = [408, 429, 502, 503, 504].map((status) => () => new Response("", { status }));
    const some = clientOf(passing);
    await pass(some.clock, some.client.jobs());
    assert.equal(some.seen.length, 6);
    for (const [status, code] of [[404, "job-not-found"], [403, "forbidden"], [500, "corrupt"]]) {
      const { client, seen } = clientOf([() => problem(Number(status), String(code))]);
      await assert.rejects(client.jobs(), { code });
      assert.equal(seen.length, 1);
    }
  });

  test("is not repeated where somebody else answers", async () => {
    const html = { headers: { "content-type": "text/html" } };
    for (const answer of [new Response("<html>", html), new Response("<html>", { status: 404 })]) {
      const { client, seen } = clientOf([() => answer]);
      await assert.rejects(client.jobs(), { code: "server-unreachable" });
      assert.equal(seen.length, 1);
    }
  });

  test("waits no longer than an hour, whatever it is asked", async () => {
    const { client, clock } = clientOf(
      [() => problem(503, "backpressure", { "retry-after": "999999999" })],
      { retryDeadlineMs: 1e9 },
    );
    await pass(clock, client.jobs());
    assert.ok(clock.monotonicMs() >= 3_600_000 && clock.monotonicMs() < 3_700_000);
    const soon = clientOf([() => problem(503, "backpressure", { "retry-after": "60" })], {
      retryDeadlineMs: 59_000,
    });
    await assert.rejects(soon.client.jobs(), { code: "backpressure" });
    assert.equal(soon.clock.monotonicMs(), 0, "a wait beyond the deadline is not begun");
  });

  test("is sent once with a deadline of 0", async () => {
    const { client, seen } = clientOf([() => new Response("", { status: 503 })], {
      retryDeadlineMs: 0,
    });
    await assert.rejects(client.jobs(), { code: "server-unreachable" });
    assert.equal(seen.length, 1);
  });

  test("ends with its signal, also between attempts", async () => {
    const { client, clock } = clientOf([() => new Response("", { status: 503 })]);
    const leave = new AbortController();
    const asked = client.jobs({ signal: leave.signal });
    await clock.advance(0);
    leave.abort(new Error("enough"));
    await assert.rejects(asked, /enough/);
    assert.equal(clock.pendingCount, 0);
  });
});

describe("options", () => {
  test("that are not allowed are named", () => {
    const wrong: [object, typeof TypeError | typeof RangeError, RegExp][] = [
      [{ batchBytes: 1 }, TypeError, /Unknown option "batchBytes": wants one of .*batchBytesMax/],
      [{ batchBytesMax: "1" }, TypeError, /batchBytesMax is "1": wants a whole number of bytes/],
      [{ batchDelayMs: -1 }, RangeError, /batchDelayMs is -1: .* from 0 to 2147483647/],
      [{ batchBytesMax: 2 ** 26, inFlightBytesMax: 1 }, RangeError, /is above inFlightBytesMax 1/],
    ];
    for (const [options, kind, message] of wrong) {
      assert.throws(() => new TidemarkClient("http://h", options), (error: Error) => {
        return error instanceof kind && message.test(error.message);
      });
    }
    for (const url of ["ftp://h", "h:1", "http://h?x=1", "http://h#x", "unix:"]) {
      assert.throws(() => new TidemarkClient(url), TypeError, url);
    }
    new TidemarkClient("http://h", { inFlightBytesMax: 10, bodyBytesMax: 10, clock: undefined });
  });
});

describe("the runtime's fetch", () => {
  test("is told to wait as long as it takes", async () => {
    const server = await listen((_request, answer) => answer.end("{}"), 0);
    const seen: unknown[] = [];
    const { fetch: real } = globalThis;
    try {
      const { port } = server.address() as { port: number };
      globalThis.fetch = ((request: Request, init: unknown) => {
        seen.push(init);
        return real(request, init as RequestInit);
      }) as typeof fetch;
      const patient = systemFetch();
      const answer = await patient(new Request(`http://127.0.0.1:${port}/`));
      assert.equal(await answer.text(), "{}");
    } finally {
      globalThis.fetch = real;
      server.close();
      server.closeAllConnections();
    }
    const [init] = seen as { timeout?: boolean; dispatcher?: object }[];
    // Deno's has no limit of its own.
    if (process.versions.bun !== undefined) assert.equal(init.timeout, false);
    else if (process.versions.deno === undefined) {
      assert.equal(init.dispatcher?.constructor.name, "Agent");
    }
  });
});

test("a client reaches a sidecar at a socket of the file system", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tidemark-client-"));
  const path = join(folder, "sidecar.sock");
  const server = await listen((request, answer) => {
    answer.setHeader("content-type", "application/json");
    answer.end(
      JSON.stringify({ jobs: [{ job: request.url?.endsWith("/v1/jobs") ? "j" : "other" }] }),
    );
  }, path);
  try {
    await using client = new TidemarkClient(`unix:${path}`, { retryDeadlineMs: 0 });
    assert.equal(client.url, `unix:${path}`);
    assert.deepEqual(await client.jobs(), ["j"]);
    await using gone = new TidemarkClient(`unix:${path}.gone`, { retryDeadlineMs: 0 });
    await assert.rejects(gone.jobs(), ({ code, message }: TidemarkError) => {
      return code === "server-unreachable" && message.includes(`unix:${path}.gone`);
    });
  } finally {
    server.close();
    server.closeAllConnections();
    await rm(folder, { recursive: true });
  }
});

function listen(listener: RequestListener, at: number | string): Promise<Server> {
  const server = createServer(listener);
  return new Promise((resolve) => {
    if (typeof at === "string") server.listen(at, () => resolve(server));
    else server.listen(at, "127.0.0.1", () => resolve(server));
  });
}
