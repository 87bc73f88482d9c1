import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { describe, test } from "node:test";
import { shutDown } from "../../src/cli/commands/_shutdown.ts";
import type { Timeout } from "../../src/runtime/cli_io.ts";
import { RecordingLogger } from "../doubles/recording_logger.ts";
import { Running, tidemarkIn } from "./_process.ts";
import { run, TestIo, withFolder } from "./_run.ts";

/** Times that a test lets pass itself, the shortest first. */
class ManualTimeouts {
  readonly #waiting = new Set<{ delayMs: number; pass: () => void }>();

  readonly timeout = (delayMs: number): Timeout => {
    let pass = (): void => {};
    const over = new Promise<void>((resolve) => pass = resolve);
    const entry = { delayMs, pass };
    this.#waiting.add(entry);
    return { over, cancel: () => void this.#waiting.delete(entry) };
  };

  get delaysMs(): number[] {
    return [...this.#waiting].map(({ delayMs }) => delayMs).sort((a, b) => a - b);
  }

  /** Lets a time of this length pass. */
  async pass(delayMs: number): Promise<void> {
    const entry = [...this.#waiting].find((each) => each.delayMs === delayMs);
    assert.notEqual(entry, undefined, `nobody waits ${delayMs} ms, but ${this.delaysMs}`);
    this.#waiting.delete(entry!);
    entry!.pass();
    await settle();
  }
}

/** Lets every promise go on that can. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

/** A shutdown of doubles, and what was called. */
function begin({ requestsEnd = false, storeCloses = true, error }: {
  requestsEnd?: boolean;
  storeCloses?: boolean;
  error?: Error;
}) {
  const timeouts = new ManualTimeouts();
  const logger = new RecordingLogger();
  const calls: string[] = [];
  const never = new Promise<void>(() => {});
  const store = {
    close: () => {
      calls.push("store");
      return error ? Promise.reject(error) : storeCloses ? Promise.resolve() : never;
    },
  };
  const server = {
    close: (deadlineMs: number) => {
      calls.push(`server ${deadlineMs}`);
      return requestsEnd || deadlineMs === 0 ? Promise.resolve() : never;
    },
  };
  const ended = shutDown({
    io: timeouts,
    server,
    store: Promise.resolve(store),
    logger,
    msMax: 8000,
  });
  ended.catch(() => {
    // A test looks at it later.
  });
  return { timeouts, logger, calls, ended };
}

describe("shutDown", () => {
  test("closes the store once requests have ended, and waits for no time", async () => {
    const { ended, calls, timeouts } = begin({ requestsEnd: true });
    assert.equal(await ended, 0);
    assert.deepEqual(calls.slice(0, 2), ["server 8000", "store"]);
    assert.deepEqual(timeouts.delaysMs, []);
  });

  test("closes the store at half of the time, lets answers leave, then cuts off", async () => {
    const { ended, calls, timeouts, logger } = begin({});
    await settle();
    assert.deepEqual(calls, ["server 8000"]);
    assert.deepEqual(timeouts.delaysMs, [4000, 8000]);
    await timeouts.pass(4000);
    assert.deepEqual(calls, ["server 8000", "store"]);
    await timeouts.pass(500);
    assert.equal(await ended, 0);
    assert.equal(calls[2], "server 0");
    assert.equal(logger.records.some(({ message }) => /Cuts off/.test(message)), true);
  });

  test("gives up on a store that does not close in time, with exit code 6", async () => {
    const { ended, timeouts, logger } = begin({ requestsEnd: true, storeCloses: false });
    await settle();
    await timeouts.pass(8000);
    assert.equal(await ended, 6);
    const [told] = logger.records.filter(({ level }) => level === "error");
    assert.match(told.message, /Gave up closing: .*durable is safe.*buffered may be lost/);
    assert.deepEqual(told.fields, { shutdownMsMax: 8000 });
  });

  test("rejects with what kept the store from closing", async () => {
    const { ended } = begin({ requestsEnd: true, error: new Error("disk") });
    await assert.rejects(ended, /disk/);
  });
});

test("SIGHUP ends a sidecar in order whose terminal was closed, and no other", () =>
  withFolder(async (folder) => {
    for (const isErrorTerminal of [true, false]) {
      const hangUps: (() => void)[] = [];
      const io: TestIo = new TestIo({
        isErrorTerminal,
        io: {
          onReloadSignal: (listener) => (hangUps.push(listener), () => {}),
          writeOutput: () => {
            for (const hangUp of hangUps) hangUp();
            if (!isErrorTerminal) setImmediate(() => io.signal("SIGINT"));
            return Promise.resolve();
          },
        },
      });
      const store = join(folder, "store");
      const { code, stderr } = await io.run(["serve", "--listen", ":0", "--store", store]);
      assert.equal(code, 0, stderr);
      assert.match(stderr, isErrorTerminal ? /signal="SIGTERM"/ : /signal="SIGINT"/);
    }
  }));

test("SIGTERM ends a sidecar in time whose store does not even open", async () => {
  const io = new TestIo({ openStore: () => new Promise(() => {}) });
  const ran = io.run(["serve", "--listen", ":0", "--shutdown-ms-max", "1"]);
  while (!io.isListeningToSignals) await new Promise((resolve) => setImmediate(resolve));
  io.signal("SIGTERM");
  const { code, stdout, stderr } = await ran;
  assert.deepEqual([code, stdout], [6, ""], stderr);
  assert.match(stderr, /Gave up closing/);
});

/** Sends the head of an append and a part of its body. */
async function stall(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  const head = [
    "POST /v1/jobs/j/writers/w/changes HTTP/1.1",
    `host: ${hostname}:${port}`,
    "content-type: application/x-ndjson",
    "content-length: 1000",
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n{"data":"never`);
  return socket.resume();
}

/** Waits until the sidecar says that it took so many changes. */
async function took(url: string, count: number): Promise<void> {
  for (;;) {
    const { writers } = await (await fetch(`${url}/v1/jobs/j`)).json();
    if (writers[0].nextOffset === count) return;
  }
}

test("SIGTERM ends a sidecar in time with requests under way, and answers whoever waits", () =>
  withFolder(async (folder) => {
    const store = join(folder, "store");
    const flags = ["--persist-delay-ms", "600000", "--shutdown-ms-max", "4000"];
    const serve = ["serve", "--store", store, "--listen", "127.0.0.1:0", ...flags];
    await using sidecar = new Running([...await tidemarkIn(folder), ...serve]);
    const [url] = await sidecar.said("stdout", /http:\/\/127\.0\.0\.1:\d+/);
    const changes = `${url}/v1/jobs/j/writers/w/changes`;
    const post = (query: string, body: string): Promise<Response> =>
      fetch(`${changes}${query}`, {
        method: "POST",
        headers: { "content-type": "application/x-ndjson" },
        body,
      });
    await fetch(`${url}/v1/jobs/j`, { method: "PUT" });
    const much = await post("?ack=buffered", `{"data":"${"x".repeat(999)}"}\n`.repeat(24_000));
    assert.equal(much.status, 200);
    assert.equal((await fetch(`${url}/v1/jobs/j/checkpoints`, { method: "POST" })).status, 201);
    // Nobody reads this, nobody ends that, and the third waits for an upload that is not due.
    const restore = await fetch(`${changes}?at=latest`);
    assert.equal(restore.status, 200);
    const stalled = await stall(url);
    const isCut = once(stalled.on("error", () => {}), "close");
    const waiting = post("", '{"data":"last"}\n');
    await took(url, 24_001);
    // Reads tokens anew, and ends nothing.
    sidecar.signal("SIGHUP");
    assert.equal((await fetch(`${url}/readyz`)).status, 200);
    sidecar.signal("SIGTERM");
    await sidecar.said("stderr", /Closing/);
    const answer = await waiting;
    assert.deepEqual([answer.status, (await answer.json()).ack], [200, "durable"]);
    await isCut;
    const { code, stderr } = await sidecar.ended;
    assert.equal(code, 0, stderr);
    assert.match(stderr, /Cuts off/);
    // A restore that is cut never looks whole.
    const text = await restore.text().catch(() => "");
    assert.equal(/\{"end":/.test(text), false);
    const args = ["restore", "--store", store, "--job", "j", "--writer", "w", "--at", "tail"];
    assert.match((await run([...args, "--from", "24000"])).stdout, /^last\n$/);
  }));
