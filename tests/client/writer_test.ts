import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { encodeChanges } from "../../src/engine/format/change_input.ts";
import type { TidemarkError } from "../../src/engine/errors.ts";
import { bytesOf, pass, stored, withClient } from "./_client.ts";
import type { Fate, Sent } from "./_lossy_fetch.ts";

function isAppend({ method, path }: Sent): boolean {
  return method === "POST" && path.endsWith("/changes");
}

/** Fates of appends, one after the other; everything else is answered. */
function appends(...fates: Fate[]): (sent: Sent) => Fate {
  return (sent) => isAppend(sent) ? fates.shift() ?? "answered" : "answered";
}

const LINES = Array.from({ length: 40 }, (_, n) => `line ${n}`);

describe("a writer's appends", () => {
  test("of one turn go in one request, at their offset and in their run", () =>
    withClient(async ({ client, clock, net, store }) => {
      const job = client.job("j");
      const { run } = await job.resume();
      const writer = job.writer("w");
      assert.deepEqual(LINES.map((line) => writer.append(3, bytesOf(line))), [...LINES.keys()]);
      assert.deepEqual([writer.nextOffset, writer.durableOffset], [40, 0]);
      await clock.advance(0);
      await writer.persist();
      const [append, ...others] = net.sent.filter(isAppend);
      assert.equal(others.length, 0);
      assert.equal(append.headers.get("tidemark-offset"), "0");
      assert.equal(append.headers.get("tidemark-run"), String(run));
      assert.deepEqual(await stored(store), LINES);
      assert.equal(writer.durableOffset, 40);
    }));

  test("wait for others as long as they are told", () =>
    withClient(
      async ({ client, clock, net }) => {
        const writer = client.job("j").writer("w");
        writer.append(0, bytesOf("a"));
        await clock.advance(49);
        writer.append(0, bytesOf("b"));
        assert.equal(net.sent.length, 0);
        await clock.advance(1);
        assert.equal((await writer.persist()).durableOffset, 2);
        assert.equal(net.sent.filter(isAppend).length, 1);
      },
      undefined,
      { batchDelayMs: 50 },
    ));

  test("gather while a request is under way, in batches of the size that is told", () =>
    withClient(
      async ({ client, net, store }) => {
        const job = client.job("j");
        await job.resume();
        const writer = job.writer("w");
        const first = net.hold(isAppend);
        writer.append(0, bytesOf("first"));
        const persisted = writer.persist();
        await first.reached;
        for (const line of LINES) writer.append(0, bytesOf(line));
        const all = writer.persist();
        assert.equal(net.sent.filter(isAppend).length, 1);
        first.release();
        await Promise.all([persisted, all]);
        // Some 10 bytes a line.
        const offsets = net.sent.filter(isAppend).map(({ headers }) =>
          Number(headers.get("tidemark-offset"))
        );
        assert.deepEqual(offsets, [0, 1, 12, 22, 32]);
        assert.deepEqual(await stored(store), ["first", ...LINES]);
      },
      undefined,
      { batchBytesMax: 100 },
    ));

  test("as one unit go in one request, however large", () =>
    withClient(
      async ({ client, net, store }) => {
        const writer = client.job("j").writer("w");
        writer.append(0, bytesOf("a"));
        const changes = LINES.map((line) => ({ keyGroup: 1, data: bytesOf(line) }));
        writer.appendBatch(changes);
        writer.appendMeta(bytesOf("z"));
        writer.appendEncoded(encodeChanges([]));
        await writer.persist();
        assert.equal(net.sent.filter(isAppend).length, 3);
        assert.deepEqual(await stored(store), ["a", ...LINES, "z"]);
      },
      undefined,
      { batchBytesMax: 100 },
    ));

  test("go on at the tail where the job was not resumed", () =>
    withClient(async ({ client, store }) => {
      const job = await store.job("j");
      job.writer("w").append(0, bytesOf("before"));
      const writer = client.job("j").writer("w");
      assert.equal(writer.append(0, bytesOf("after")), undefined);
      assert.equal((await writer.persist()).durableOffset, 2);
      assert.equal(writer.append(0, bytesOf("more")), 2);
      assert.equal(client.job("j").run, 1);
      await writer.persist();
      assert.deepEqual(await stored(store), ["before", "after", "more"]);
    }));

  test("are refused where they can't be right, with nothing taken", () =>
    withClient(
      async ({ client, store }) => {
        const writer = client.job("j").writer("w");
        assert.throws(() => writer.append(-2, bytesOf("a")), RangeError);
        assert.throws(() => writer.append(0, new Uint8Array(300)), { code: "change-too-large" });
        assert.throws(() => client.job("j").writer("a/b"), { code: "invalid-name" });
        writer.append(0, bytesOf("right"));
        await writer.persist();
        assert.deepEqual(await stored(store), ["right"]);
      },
      undefined,
      { batchBytesMax: 100, bodyBytesMax: 200 },
    ));
});

describe("an append whose answer is lost", () => {
  const fates: Fate[] = ["lost-before", "lost-after", "cut", "short", "refused", "bad-gateway"];
  for (const fate of fates) {
    test(`(${fate}) is sent again at its offset, and taken once`, () =>
      withClient(async ({ client, clock, net, store }) => {
        const writer = client.job("j").writer("w");
        for (const line of LINES) writer.append(0, bytesOf(line));
        await pass(clock, writer.persist());
        const sent = net.sent.filter(isAppend);
        assert.deepEqual(sent.map(({ headers }) => headers.get("tidemark-offset")), ["0", "0"]);
        assert.deepEqual(await stored(store), LINES);
      }, appends(fate)));
  }

  test("is sent again after an attempt that took too long", () =>
    withClient(
      async ({ client, clock, net, store }) => {
        const writer = client.job("j").writer("w");
        writer.append(0, bytesOf("a"));
        const persisted = writer.persist();
        await clock.advance(4_999);
        assert.equal(net.sent.filter(isAppend).length, 1);
        await pass(clock, persisted);
        assert.deepEqual(await stored(store), ["a"]);
      },
      appends("silent"),
      { attemptMsMax: 5_000 },
    ));

  test("is waited for as the sidecar asks, and longer each time", () =>
    withClient(async ({ client, clock, net }) => {
      const writer = client.job("j").writer("w");
      writer.append(0, bytesOf("a"));
      const times: number[] = [];
      net.fate = (sent) => {
        if (isAppend(sent)) times.push(clock.monotonicMs());
        return isAppend(sent) && times.length < 9 ? "refused" : "answered";
      };
      await pass(clock, writer.persist());
      const waits = times.slice(1).map((at, index) => at - times[index]);
      waits.forEach((wait, index) => {
        const boundMs = 1000 + Math.min(10_000, 100 * 2 ** index);
        assert.ok(wait >= 1000 && wait <= boundMs, `wait ${index} took ${wait} ms`);
      });
      assert.ok(Math.max(...waits) > 2000, `${waits}`);
      assert.equal(new Set(waits).size, waits.length, "they are drawn");
    }));

  test("is given up after the deadline, tells who waits, and is sent again when asked", () =>
    withClient(
      async ({ client, clock, net, store }) => {
        const writer = client.job("j").writer("w");
        net.fate = (sent) => isAppend(sent) ? "lost-after" : "answered";
        writer.append(0, bytesOf("a"));
        const startMs = clock.monotonicMs();
        await assert.rejects(pass(clock, writer.persist()), (error: TidemarkError) => {
          assert.deepEqual([error.code, error.outcome, error.retryable], [
            "server-unreachable",
            "unknown",
            true,
          ]);
          return true;
        });
        assert.ok(clock.monotonicMs() - startMs <= 60_000);
        net.fate = () => "answered";
        writer.append(0, bytesOf("b"));
        await pass(clock, writer.persist());
        assert.deepEqual(await stored(store), ["a", "b"]);
      },
      undefined,
      { retryDeadlineMs: 60_000 },
    ));

  test("without an offset is not sent again, as it might be taken twice", () =>
    withClient(async ({ client, clock, store }) => {
      const writer = client.job("j").writer("w");
      const changes = encodeChanges([{ keyGroup: 0, data: bytesOf("a") }]);
      await assert.rejects(pass(clock, writer.appendAt(undefined, changes)), {
        code: "server-unreachable",
        outcome: "unknown",
      });
      assert.deepEqual(await stored(store), ["a"]);
      const { nextOffset } = await pass(clock, writer.appendAt(1, changes));
      assert.equal(nextOffset, 2);
    }, appends("lost-after", "lost-after")));
});

describe("a writer ends", () => {
  test("where somebody else appended, and says so from then on", () =>
    withClient(async ({ client, store }) => {
      const job = client.job("j");
      await job.resume();
      const writer = job.writer("w");
      await (await store.job("j")).writer("w").appendAt(
        0,
        encodeChanges([{ keyGroup: 0, data: bytesOf("other") }]),
        { run: 2 },
      );
      writer.append(0, bytesOf("mine"));
      await assert.rejects(writer.persist(), { code: "offset-conflict" });
      assert.throws(() => writer.append(0, bytesOf("more")), {
        code: "offset-conflict",
        outcome: "not-applied",
      });
      await assert.rejects(writer.persist(), { code: "offset-conflict" });
      await assert.rejects(job.checkpoint(), { code: "offset-conflict" });
      // A new run begins anew.
      await job.resume();
      job.writer("w").append(0, bytesOf("mine"));
      await job.checkpoint();
      assert.deepEqual(await stored(store), ["mine"]);
    }));

  test("where a newer run has begun elsewhere", () =>
    withClient(async ({ client, store }) => {
      const job = client.job("j");
      await job.resume();
      const [one, two] = [job.writer("w"), job.writer("v")];
      await (await store.job("j")).resume();
      one.append(0, bytesOf("late"));
      await assert.rejects(one.persist(), { code: "fenced" });
      assert.throws(() => two.append(0, bytesOf("late")), { code: "fenced" });
      await assert.rejects(job.checkpoint(), { code: "fenced" });
      assert.throws(() => job.writer("u"), { code: "fenced" });
    }));

  test("with its run, as soon as the job is resumed", () =>
    withClient(async ({ client, net, store }) => {
      const job = client.job("j");
      await job.resume();
      const writer = job.writer("w");
      const held = net.hold(isAppend);
      writer.append(0, bytesOf("lost"));
      const persisted = writer.persist();
      persisted.catch(() => undefined);
      await held.reached;
      const resumed = job.resume();
      await assert.rejects(persisted, { code: "fenced", outcome: "unknown" });
      assert.throws(() => writer.append(0, bytesOf("late")), { code: "fenced" });
      held.release();
      assert.equal((await resumed).run, 3);
      job.writer("w").append(0, bytesOf("kept"));
      await job.writer("w").persist();
      assert.deepEqual(await stored(store), ["kept"]);
    }));

  test("where its answer can't be right", () =>
    withClient(async ({ client }) => {
      const writer = client.job("j").writer("w");
      writer.append(0, bytesOf("a"));
      await assert.rejects(writer.persist(), { code: "internal", outcome: "unknown" });
      assert.throws(() => writer.append(0, bytesOf("b")), { code: "internal" });
    }, appends("wrong")));

  test("where it was retired, without a wait", () =>
    withClient(async ({ client, store }) => {
      const job = client.job("j");
      const writer = job.writer("w");
      writer.append(0, bytesOf("a"));
      assert.equal((await job.retireWriter("w")).isClosed, true);
      writer.append(0, bytesOf("b"));
      await assert.rejects(writer.persist(), { code: "closed" });
      assert.deepEqual(await stored(store), ["a"]);
    }));
});

describe("memory", () => {
  test("is bounded: an append is refused at the limit, and taken when there is room", () =>
    withClient(
      async ({ client, net, store }) => {
        const job = client.job("j");
        await job.resume();
        const writer = job.writer("w");
        const held = net.hold(isAppend);
        const sent: string[] = [];
        let refusals = 0;
        let mostBytes = 0;
        let bytes = 0;
        let release = (): void => held.release();
        for (let n = 0; n < 200; n++) {
          const text = `change ${n} ${"x".repeat(90)}`;
          for (;;) {
            try {
              writer.append(0, bytesOf(text));
              sent.push(text);
              bytes += text.length;
              mostBytes = Math.max(mostBytes, bytes);
              break;
            } catch (error) {
              assert.equal((error as TidemarkError).code, "backpressure");
              assert.equal(job.availability.isAvailable(), false);
              refusals++;
              const available = job.availability.whenAvailable();
              release();
              release = () => {};
              await available;
              assert.equal(job.availability.isAvailable(), true);
              bytes = sent.slice(writer.durableOffset).join("").length;
            }
          }
        }
        await writer.persist();
        assert.ok(refusals > 2, `${refusals}`);
        // The limit, and one batch more.
        assert.ok(mostBytes <= 3000, `${mostBytes} bytes`);
        assert.deepEqual(await stored(store), sent);
      },
      undefined,
      { inFlightBytesMax: 2000, batchBytesMax: 1000 },
    ));

  test("that can't be freed is told to who waits for room", () =>
    withClient(
      async ({ client, clock, net }) => {
        const job = client.job("j");
        await job.resume();
        net.fate = () => "lost-before";
        const writer = job.writer("w");
        writer.append(0, new Uint8Array(150));
        assert.equal(job.availability.isAvailable(), false);
        await assert.rejects(pass(clock, job.availability.whenAvailable()), {
          code: "server-unreachable",
        });
        net.fate = () => "answered";
        await pass(clock, job.availability.whenAvailable());
        assert.equal(writer.durableOffset, 1);
      },
      undefined,
      { inFlightBytesMax: 100, batchBytesMax: 100 },
    ));
});
