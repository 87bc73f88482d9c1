import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { describe, test } from "node:test";
import { APPEND_MEMORY } from "../../src/engine/changelog/append_memory.ts";
import { TidemarkError } from "../../src/engine/errors.ts";
import { type DirectBody, READ_BODY } from "../../src/engine/port/request_body.ts";
import { BodyBudget, readBody } from "../../src/http/_body.ts";
import { BodyWatch } from "../../src/http/_body_watch.ts";
import { readDirectly } from "../../src/runtime/_node_body.ts";
import { ManualClock } from "../doubles/manual_clock.ts";

const BODY = new Uint8Array([130, 0, 65, 5]);
const NO_PROGRESS = { waits: () => {}, came: () => {} };

function requestWith(read: NonNullable<DirectBody[typeof READ_BODY]>): Request & DirectBody {
  const headers = { "content-length": String(BODY.length) };
  const request = new Request("http://127.0.0.1/", { method: "POST", headers });
  return Object.assign(request, { [READ_BODY]: read });
}

/** Reads the body of a request, with a budget for one. */
function readWith(request: Request, clock = new ManualClock()) {
  const budget = new BodyBudget(BODY.length);
  const reading = readBody(request, BODY.length, budget, new BodyWatch(clock, 1000));
  return { budget, reading };
}

describe("a body that a server reads", () => {
  test("is answered, and holds its budget until it is released", async () => {
    const { budget, reading } = readWith(requestWith(() => Promise.resolve(BODY)));
    const held = await reading;
    assert.deepEqual([held.bytes, budget.usedBytes], [BODY, BODY.length]);
    held.release();
    assert.equal(budget.usedBytes, 0);
  });

  test("gives its budget back when it can't be read, also where that is said at once", async () => {
    for (
      const fail of [
        () => Promise.reject(new Error("gone")),
        () => {
          throw new Error("gone");
        },
        () => Promise.resolve(BODY.subarray(1)),
      ]
    ) {
      const { budget, reading } = readWith(requestWith(fail));
      await assert.rejects(reading, (error) => {
        assert.ok(error instanceof TidemarkError && error.code === "invalid-request");
        return true;
      });
      assert.equal(budget.usedBytes, 0);
    }
  });

  test("gives it back once when it stalls, whatever it comes to in the end", async () => {
    for (
      const late of [(): Uint8Array => BODY, (): never => {
        throw new Error("gone");
      }]
    ) {
      const clock = new ManualClock();
      let end = (): void => {};
      const ended = new Promise<void>((resolve) => end = resolve);
      const { budget, reading } = readWith(requestWith(() => ended.then(late)), clock);
      const refused = assert.rejects(reading, /brought less than/);
      for (let looks = 0; looks < 8; looks++) await clock.advance(250);
      await refused;
      assert.equal(budget.usedBytes, 0);
      end();
      await ended;
      await Promise.resolve();
      assert.equal(budget.usedBytes, 0);
    }
  });
});

describe("readDirectly on Node", () => {
  /** Begins to read from a stream that stands for a request's. */
  function begin() {
    // As a request, which is not closed before it is answered.
    const incoming = new PassThrough({ autoDestroy: false });
    const request = new Request("http://127.0.0.1/", { method: "POST" });
    const direct = readDirectly(request, incoming as unknown as IncomingMessage) as DirectBody;
    const reading = direct[READ_BODY]!(BODY.length, APPEND_MEMORY, NO_PROGRESS);
    return { incoming, reading };
  }

  /** Who listens; the stream has some listeners of its own. */
  function listenersOf(incoming: PassThrough): number[] {
    return ["data", "end", "error", "close"].map((event) => incoming.listenerCount(event));
  }

  test("holds on to nothing of a request whose body it has read", async () => {
    const before = listenersOf(new PassThrough());
    const { incoming, reading } = begin();
    incoming.write(BODY.subarray(0, 1));
    incoming.end(BODY.subarray(1));
    assert.deepEqual(new Uint8Array(await reading), BODY);
    assert.deepEqual(listenersOf(incoming), before);
  });

  test("fails with what the stream fails with, or when the client goes away", async () => {
    const before = listenersOf(new PassThrough());
    for (
      const [reason, wanted] of [[new Error("reset"), /reset/], [undefined, /went away/]] as const
    ) {
      const { incoming, reading } = begin();
      incoming.write(BODY.subarray(0, 1));
      const failed = assert.rejects(reading, wanted);
      incoming.destroy(reason);
      await failed;
      assert.deepEqual(listenersOf(incoming), before);
    }
  });
});
