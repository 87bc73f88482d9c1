import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BodyWatch } from "../../src/http/_body_watch.ts";
import type { HttpAppOptions } from "../../src/http/mod.ts";
import { ManualClock } from "../doubles/manual_clock.ts";
import { TidemarkError } from "../../src/engine/errors.ts";
import { type Answer, TestApp, withJob } from "./_app.ts";
import { jobWith, storeWith } from "./_failing_store.ts";
import { createApp } from "../../src/http/mod.ts";

const BYTES = "application/octet-stream";
const NDJSON = "application/x-ndjson";
const STATE = "/v1/jobs/j/states/s";
const CHANGES = "/v1/jobs/j/writers/w/changes";

/** A body that a test sends piece by piece. */
class SlowBody {
  readonly stream: ReadableStream<Uint8Array>;
  isCancelled = false;
  #controller!: ReadableStreamDefaultController<Uint8Array>;

  constructor() {
    this.stream = new ReadableStream<Uint8Array>({
      start: (controller) => void (this.#controller = controller),
      cancel: () => void (this.isCancelled = true),
    });
  }

  send(bytes: number): void {
    this.#controller.enqueue(new Uint8Array(bytes));
  }

  end(): void {
    this.#controller.close();
  }
}

function upload(app: TestApp, body: SlowBody, path = STATE, type = BYTES): Promise<Answer> {
  return app.ask("POST", path, { body: body.stream, type });
}

/** Waits until bodies are watched. */
async function watched(clock: ManualClock): Promise<void> {
  while (clock.pendingCount === 0) await clock.advance(0);
}

async function withClock(
  use: (app: TestApp, clock: ManualClock) => Promise<void>,
  options: HttpAppOptions = {},
): Promise<void> {
  const clock = new ManualClock();
  await withJob((app) => use(app, clock), { clock, bodyIdleMsMax: 1000, ...options });
}

describe("a body that stalls", () => {
  for (const [what, path, type] of [["an append", CHANGES, NDJSON], ["a state", STATE, BYTES]]) {
    test(`is told so, and its connection is closed: ${what}`, () =>
      withClock(async (app, clock) => {
        const body = new SlowBody();
        const asked = upload(app, body, path, type);
        body.send(1);
        await watched(clock);
        await clock.advance(2000);
        const answer = await asked;
        assert.deepEqual([answer.status, answer.json.code], [408, "invalid-request"]);
        assert.equal(answer.headers.get("connection"), "close");
        assert.deepEqual(answer.json.details, { idleMsMax: 1000, bytesMin: 1024 });
        assert.equal(body.isCancelled, true);
        assert.equal(clock.pendingCount, 0);
      }));
  }

  test("gives way to others: four stalled states hold nobody up for long", () =>
    withClock(async (app, clock) => {
      const stalled = Array.from({ length: 4 }, () => {
        const body = new SlowBody();
        const asked = upload(app, body);
        body.send(1);
        return asked;
      });
      await watched(clock);
      const refused = await app.ask("POST", STATE, { body: "x", type: BYTES });
      assert.deepEqual([refused.status, refused.json.code], [503, "backpressure"]);
      await clock.advance(2000);
      for (const answer of await Promise.all(stalled)) assert.equal(answer.status, 408);
      assert.equal((await app.ask("POST", STATE, { body: "x", type: BYTES })).status, 201);
    }));

  test("is not watched any more once its state was refused", async () => {
    const clock = new ManualClock();
    const refused = new TidemarkError("backpressure", "Cannot write state s now");
    const job = jobWith({ writeState: () => Promise.reject(refused) });
    const store = storeWith(() => Promise.resolve(job));
    const app = new TestApp(store, createApp(store, { clock, bodyIdleMsMax: 1000 }));
    const body = new SlowBody();
    body.send(1);
    assert.equal((await upload(app, body)).status, 503);
    await clock.advance(2000);
    assert.equal(clock.pendingCount, 0);
  });

  test("gives its memory back", () =>
    withClock(async (app, clock) => {
      const headers = { "content-length": "64" };
      const body = new SlowBody();
      const type = NDJSON;
      const stalled = app.ask("POST", CHANGES, { body: body.stream, type, headers });
      await watched(clock);
      const quick = { body: `{"data":"${"x".repeat(50)}"}\n`, type };
      assert.equal((await app.ask("POST", CHANGES, quick)).status, 503);
      await clock.advance(2000);
      assert.equal((await stalled).status, 408);
      assert.equal((await app.ask("POST", CHANGES, quick)).status, 200);
    }, { bodyBytesMax: 64, bodyBytesInFlightMax: 64 }));

  test("is one that drips, too", () =>
    withClock(async (app, clock) => {
      const body = new SlowBody();
      const asked = upload(app, body);
      for (let drip = 0; drip < 20 && !body.isCancelled; drip++) {
        body.send(1);
        await clock.advance(250);
      }
      assert.equal((await asked).status, 408);
    }));

  test("is not one that brings a KiB a second, however long it takes", () =>
    withClock(async (app, clock) => {
      const body = new SlowBody();
      const asked = upload(app, body);
      for (let piece = 0; piece < 60; piece++) {
        body.send(1024);
        await clock.advance(1000);
      }
      body.end();
      const answer = await asked;
      assert.deepEqual([answer.status, answer.json.size], [201, 60 * 1024]);
    }));

  test("is not one that waits for what is done with it", async () => {
    const clock = new ManualClock();
    let stalled = 0;
    const body = new BodyWatch(clock, 1000).begin(() => void (stalled += 1));
    body.waits();
    body.came(10);
    await clock.advance(60_000);
    assert.equal(stalled, 0);
    body.waits();
    await clock.advance(2000);
    assert.equal(stalled, 1);
    assert.equal(clock.pendingCount, 0);
  });

  test("stalls by itself among many, whichever of them end, and when", async () => {
    const clock = new ManualClock();
    const watch = new BodyWatch(clock, 1000);
    const stalled: number[] = [];
    const bodies = Array.from({ length: 7 }, (_, i) => {
      const body = watch.begin(() => {
        stalled.push(i);
        // Who hears of one may end another, and begin one.
        if (i !== 4) return;
        bodies[3].end();
        watch.begin(() => stalled.push(10)).waits();
      });
      if (i !== 1) body.waits();
      return body;
    });
    for (const i of [6, 0, 5, 0]) bodies[i].end();
    await clock.advance(1500);
    assert.deepEqual(stalled.sort(), [2, 4]);
    bodies[1].waits();
    await clock.advance(1500);
    assert.deepEqual(stalled.sort(), [1, 10, 2, 4]);
    assert.equal(clock.pendingCount, 0);
  });

  test("has 8 KiB a second where it is not seen how it comes", async () => {
    const clock = new ManualClock();
    let stalled = 0;
    const body = new BodyWatch(clock, 1000).begin(() => void (stalled += 1), 80 * 1024);
    body.waits();
    await clock.advance(10_000);
    assert.equal(stalled, 0);
    await clock.advance(1000);
    assert.equal(stalled, 1);
  });

  test("may take any time where that is asked for", () =>
    withClock(async (app, clock) => {
      const body = new SlowBody();
      const asked = upload(app, body);
      await clock.advance(86_400_000);
      body.end();
      assert.equal((await asked).status, 201);
    }, { bodyIdleMsMax: 0 }));
});

describe("answers that stream", () => {
  async function fill(app: TestApp): Promise<void> {
    const lines = Array.from({ length: 64 }, (_, n) => ({ data: `${n}`.repeat(40_000) }));
    assert.equal((await app.append(lines)).status, 200);
    assert.equal((await app.ask("POST", "/v1/jobs/j/checkpoints")).status, 201);
  }

  test("are bounded; one that ends makes room, however it ends", () =>
    withClock(async (app) => {
      await fill(app);
      const open = (): Promise<Response> => app.send("GET", CHANGES);
      const [one, two] = [await open(), await open()];
      const refused = await app.ask("GET", CHANGES);
      assert.deepEqual([refused.status, refused.json.code], [503, "backpressure"]);
      assert.equal(refused.headers.get("retry-after"), "1");
      assert.equal((await app.ask("POST", "/v1/jobs/j/verify")).status, 503);
      assert.match(await one.text(), /"end"/);
      assert.equal((await app.ask("POST", "/v1/jobs/j/verify")).status, 200);
      const three = await open();
      assert.equal(three.status, 200);
      assert.equal((await open()).status, 503);
      await two.body?.cancel();
      assert.equal((await app.ask("HEAD", CHANGES)).status, 200);
      assert.equal((await app.ask("GET", `${CHANGES}?at=tail`)).status, 200);
      await three.body?.cancel();
      for (let absent = 0; absent < 3; absent++) {
        assert.equal((await app.ask("GET", "/v1/jobs/j/writers/none/changes")).status, 404);
      }
      assert.equal((await app.ask("GET", CHANGES)).status, 200);
    }, { streamsMax: 2 }));

  test("are cut when their readers take nothing for long", () =>
    withClock(async (app, clock) => {
      await fill(app);
      const stalled = await app.send("GET", CHANGES);
      const reader = stalled.body!.getReader();
      assert.equal((await reader.read()).done, false);
      await clock.advance(59_999);
      assert.equal((await app.ask("GET", CHANGES)).status, 503);
      await clock.advance(1);
      await assert.rejects(reader.read(), /took nothing for 60000 ms/);
      assert.equal((await app.ask("GET", CHANGES)).status, 200);
      assert.equal(clock.pendingCount, 0);
    }, { streamsMax: 1, streamIdleMsMax: 60_000 }));

  test("wait for slow readers as long as they read", () =>
    withClock(async (app, clock) => {
      await fill(app);
      const answer = await app.send("GET", CHANGES);
      const reader = answer.body!.getReader();
      let text = "";
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        text += new TextDecoder().decode(part.value);
        await clock.advance(59_999);
      }
      assert.match(text, /"end"/);
    }, { streamIdleMsMax: 60_000 }));
});

describe("requests", () => {
  test("are bounded, those aside that ask whether it lives", async () => {
    let finish = (): void => {};
    const slow = new Promise<void>((resolve) => finish = resolve);
    const job = jobWith({ checkpoints: () => slow.then(() => []) });
    const app = createApp(storeWith(() => Promise.resolve(job)), { requestsMax: 2 });
    const ask = (path: string): Promise<Response> =>
      app.fetch(new Request(`http://127.0.0.1${path}`));
    const waiting = [ask("/v1/jobs/j/checkpoints"), ask("/v1/jobs/j/checkpoints")];
    await Promise.resolve();
    const refused = await ask("/v1/jobs/j/checkpoints");
    assert.deepEqual([refused.status, (await refused.json()).code], [503, "backpressure"]);
    assert.equal((await ask("/healthz")).status, 200);
    finish();
    for (const answer of await Promise.all(waiting)) assert.equal(answer.status, 200);
    assert.equal((await ask("/v1/jobs/j/checkpoints")).status, 200);
  });

  test("refuse limits that are none", () => {
    const store = storeWith(() => Promise.reject(new Error("not asked")));
    for (const options of [{ requestsMax: 0 }, { streamsMax: 0.5 }, { bodyIdleMsMax: -1 }]) {
      assert.throws(() => createApp(store, options), RangeError);
    }
  });
});
