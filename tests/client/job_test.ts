import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TidemarkError } from "../../src/engine/errors.ts";
import { bytesOf, pass, stored, withClient } from "./_client.ts";
import type { Fate, Sent } from "./_lossy_fetch.ts";

function isCheckpoint({ method, path }: Sent): boolean {
  return method === "POST" && path.endsWith("/checkpoints");
}

function isAppend({ method, path }: Sent): boolean {
  return method === "POST" && path.endsWith("/changes");
}

/** Fates of the requests that are meant, one after the other; everything else is answered. */
function only(isMeant: (sent: Sent) => boolean, ...fates: Fate[]): (sent: Sent) => Fate {
  return (sent) => isMeant(sent) ? fates.shift() ?? "answered" : "answered";
}

describe("a job's checkpoint", () => {
  test("holds exactly what was appended before the call", () =>
    withClient(async ({ client, net, store }) => {
      const job = client.job("j");
      await job.resume();
      const [one, two] = [job.writer("w"), job.writer("v")];
      one.append(0, bytesOf("a"));
      two.append(0, bytesOf("x"));
      const held = net.hold(isCheckpoint);
      const metadata = { line: 1 };
      const made = job.checkpoint({ metadata, steps: 2n ** 64n - 1n });
      // What is changed or appended from here on is not part of it.
      metadata.line = 2;
      one.append(0, bytesOf("b"));
      job.writer("new").append(0, bytesOf("n"));
      await held.reached;
      const later = one.persist();
      const second = job.checkpoint({ metadata });
      two.append(0, bytesOf("y"));
      held.release();
      const { uuid, steps } = await made;
      assert.equal(steps, 2n ** 64n - 1n);
      assert.deepEqual(await stored(store, "w", uuid), ["a"]);
      assert.deepEqual(await stored(store, "v", uuid), ["x"]);
      assert.deepEqual((await job.checkpointDetails(uuid)).metadata, { line: 1 });
      assert.equal((await job.checkpointDetails(uuid)).writers.length, 2);
      await later;
      const { uuid: next } = await second;
      assert.deepEqual(await stored(store, "w", next), ["a", "b"]);
      assert.deepEqual(await stored(store, "v", next), ["x"]);
      assert.deepEqual(await stored(store, "new", next), ["n"]);
      assert.deepEqual((await job.checkpointDetails(next)).metadata, { line: 2 });
      await two.persist();
      assert.deepEqual(await stored(store, "v"), ["x", "y"]);
    }));

  for (const fate of ["lost-before", "lost-after", "cut", "short", "refused"] as const) {
    test(`whose answer is lost (${fate}) is made once, with the states that were written for it`, () =>
      withClient(async ({ client, clock, net }) => {
        const job = client.job("j");
        job.writer("w").append(0, bytesOf("a"));
        const states = { index: bytesOf("snapshot"), rules: pieces("r", "s") };
        const made = await pass(clock, job.checkpoint({ metadata: 1, states }));
        const asked = net.sent.filter(isCheckpoint);
        assert.equal(asked.length, 2);
        assert.equal(new Set(asked.map(({ headers }) => headers.get("idempotency-key"))).size, 1);
        assert.deepEqual((await job.checkpoints()).map(({ uuid }) => uuid), [made.uuid]);
        const found: string[] = [];
        for (const name of ["index", "rules"]) {
          let text = "";
          for await (const piece of job.readState(name)) text += new TextDecoder().decode(piece);
          found.push(text);
        }
        assert.deepEqual(found, ["snapshot", "rs"]);
      }, only(isCheckpoint, fate)));
  }

  test("that may have been made ends the run, and a resume tells", () =>
    withClient(async ({ client, clock, net, store }) => {
      const job = client.job("j");
      await job.resume();
      const writer = job.writer("w");
      writer.append(0, bytesOf("a"));
      await writer.persist();
      net.fate = (sent) => isCheckpoint(sent) ? "lost-after" : "answered";
      const made = job.checkpoint({ metadata: { line: 1 } });
      writer.append(0, bytesOf("b"));
      await assert.rejects(pass(clock, made), { code: "server-unreachable", outcome: "unknown" });
      for (const append of [() => writer.append(0, bytesOf("c")), () => job.writer("v")]) {
        assert.throws(append, ({ code, message }: TidemarkError) => {
          return code === "closed" && /resume to learn it/.test(message);
        });
      }
      await assert.rejects(job.checkpoint(), { code: "closed" });
      // What was appended after it never went out.
      assert.deepEqual(await stored(store), ["a"]);
      const { checkpoint } = await job.resume();
      assert.deepEqual(checkpoint?.metadata, { line: 1 });
      net.fate = () => "answered";
      job.writer("w").append(0, bytesOf("b"));
      await job.checkpoint();
      assert.deepEqual(await stored(store, "w", "latest"), ["a", "b"]);
    }));

  test("that was certainly not made leaves the run as it is", () =>
    withClient(async ({ client, store }) => {
      const job = client.job("j");
      const writer = job.writer("w");
      writer.append(0, bytesOf("a"));
      await assert.rejects(job.checkpoint({ metadata: "x".repeat(70_000) }), {
        code: "invalid-request",
      });
      for (const metadata of [1n, () => 1]) {
        await assert.rejects(job.checkpoint({ metadata }), TypeError);
      }
      await assert.rejects(job.checkpoint({ states: { s: "text" as never } }), TypeError);
      await assert.rejects(job.checkpoint({ states: { s: failing() } }), /^Error: no more rows$/);
      await assert.rejects(job.checkpoint({ states: { s: { written: uuidOf(9) } } }), {
        code: "state-not-found",
      });
      writer.append(0, bytesOf("b"));
      await job.checkpoint();
      assert.deepEqual(await stored(store, "w", "latest"), ["a", "b"]);
    }));

  test("can be left alone, and goes on; or given up by its uuid", () =>
    withClient(async ({ client, net, store }) => {
      const job = client.job("j");
      await job.resume();
      const writer = job.writer("w");
      writer.append(0, bytesOf("a"));
      const held = net.hold(isCheckpoint);
      const leave = new AbortController();
      const made = job.checkpoint({ signal: leave.signal });
      await held.reached;
      leave.abort(new Error("enough"));
      await assert.rejects(made, /enough/);
      writer.append(0, bytesOf("b"));
      const persisted = writer.persist();
      held.release();
      await persisted;
      const [{ uuid }] = await job.checkpoints();
      assert.deepEqual(await stored(store, "w", uuid), ["a"]);
      await assert.rejects(job.checkpoint({ signal: AbortSignal.abort(new Error("no")) }), /no/);
      assert.equal(await job.abortCheckpoint(uuid), false);
      assert.deepEqual(await job.unpublishedCheckpoints(), []);
    }));

  test("of a pipeline that was replaced is fenced", () =>
    withClient(async ({ client, net, store }) => {
      const job = client.job("j");
      await job.resume();
      job.writer("w").append(0, bytesOf("a"));
      const held = net.hold(isCheckpoint);
      const late = job.checkpoint({ metadata: "mine" });
      await held.reached;
      await (await store.job("j")).resume();
      held.release();
      await assert.rejects(late, { code: "fenced" });
      assert.throws(() => job.writer("w"), { code: "fenced" });
      assert.deepEqual(await job.checkpoints(), []);
    }));
});

describe("a job", () => {
  test("is made when it is first used, unless that is not wanted", () =>
    withClient(async ({ client, net }) => {
      const job = client.job("j", { fingerprint: 7n });
      assert.equal(net.sent.length, 0);
      assert.equal((await job.resume()).run, 2);
      assert.deepEqual([job.run, (await job.describe()).fingerprint], [2, 7n]);
      assert.equal(client.job("j"), job);
      assert.throws(() => client.job("j", { fingerprint: 8n }), { code: "settings-conflict" });
      const none = client.job("none", { create: false });
      await assert.rejects(none.resume(), { code: "job-not-found" });
      await assert.rejects(client.reader("none").checkpoints(), { code: "job-not-found" });
      assert.deepEqual(await client.jobs(), ["j"]);
    }));

  test("is refused with another fingerprint", () =>
    withClient(async ({ client, store }) => {
      await store.job("j", { fingerprint: 7n });
      const job = client.job("j", { fingerprint: 8n });
      await assert.rejects(job.resume(), { code: "settings-conflict" });
      const again = client.job("j");
      await assert.rejects(again.resume(), { code: "settings-conflict" });
      await job.close();
      assert.equal((await client.job("j").resume()).run, 2);
    }));

  for (const fate of ["lost-before", "lost-after", "short", "refused"] as const) {
    test(`resumes although an answer is lost (${fate})`, () =>
      withClient(async ({ client, clock, store }) => {
        await store.job("j");
        const job = client.job("j");
        const { run } = await pass(clock, job.resume());
        assert.equal(run, (await store.job("j")).run);
        job.writer("w").append(0, bytesOf("a"));
        await pass(clock, job.writer("w").persist());
        assert.deepEqual(await stored(store), ["a"]);
      }, only(({ path }) => path.endsWith("/resume"), fate)));
  }

  test("goes back to its checkpoint, or on at its tail", () =>
    withClient(async ({ client, store }) => {
      const job = client.job("j");
      await job.resume();
      job.writer("w").append(0, bytesOf("a"));
      await job.checkpoint({ metadata: { line: 1 } });
      job.writer("w").append(0, bytesOf("b"));
      const { checkpoint, writers } = await job.resume({ at: "tail" });
      assert.deepEqual([checkpoint, writers[0].nextOffset], [undefined, 2]);
      job.writer("w").append(0, bytesOf("c"));
      assert.equal((await job.writer("w").persist()).durableOffset, 3);
      const back = await job.resume();
      assert.deepEqual(back.checkpoint?.metadata, { line: 1 });
      assert.deepEqual(back.dropped, [{ writer: "w", from: 1, to: 3 }]);
      assert.equal(job.writer("w").append(0, bytesOf("B")), 1);
      await job.writer("w").persist();
      assert.deepEqual(await stored(store), ["a", "B"]);
    }));

  test("goes on at its tail with what could be sent, whatever ended its run", () =>
    withClient(async ({ client, clock, net, store }) => {
      const job = client.job("j");
      await job.resume();
      job.writer("w").append(0, bytesOf("a"));
      await job.writer("w").persist();
      net.fate = (sent) => isCheckpoint(sent) ? "lost-after" : "answered";
      const made = job.checkpoint();
      job.writer("w").append(0, bytesOf("held back"));
      await assert.rejects(pass(clock, made), { outcome: "unknown" });
      net.fate = only(isAppend, "wrong");
      assert.equal((await job.resume({ at: "tail" })).writers[0].nextOffset, 1);
      job.writer("w").append(0, bytesOf("b"));
      const resumed = await job.resume({ at: "tail" });
      assert.equal(resumed.writers[0].nextOffset, 2);
      net.fate = (sent) => isAppend(sent) ? "lost-before" : "answered";
      job.writer("w").append(0, bytesOf("c"));
      await assert.rejects(pass(clock, job.resume({ at: "tail" })), {
        code: "server-unreachable",
      });
      net.fate = () => "answered";
      await job.resume({ at: "tail" });
      assert.deepEqual(await stored(store), ["a", "b", "c"]);
    }));

  test("that could not be resumed is resumed again", () =>
    withClient(async ({ client, clock, net }) => {
      const job = client.job("j");
      await job.resume();
      await assert.rejects(job.resume({ at: uuidOf(1) }), { code: "checkpoint-not-found" });
      assert.throws(() => job.writer("w"), { code: "fenced" });
      net.fate = () => "lost-before";
      await assert.rejects(pass(clock, job.resume()), { code: "server-unreachable" });
      net.fate = () => "answered";
      await job.resume();
      job.writer("w").append(0, bytesOf("a"));
      await job.writer("w").persist();
    }));

  test("does what the sidecar can do with checkpoints", () =>
    withClient(async ({ client }) => {
      const job = client.job("j");
      const uuids: string[] = [];
      await job.resume();
      for (let n = 0; n < 4; n++) uuids.push((await job.checkpoint()).uuid);
      assert.equal((await job.pin(uuids[0], "kept")).pin, "kept");
      assert.equal((await job.unpin(uuids[0])).pin, undefined);
      await job.setRetention({ minCount: 1 });
      assert.deepEqual(await job.retention(), { minCount: 1 });
      assert.match((await job.explain(uuids[0])).reason, /newest 1/);
      const look = await job.collect({ dryRun: true, quarantineMs: 0 });
      assert.deepEqual(look.removed, uuids.slice(0, 3));
      assert.ok((await job.deleteCheckpoint(uuids[0])).removed.includes(uuids[0]));
      assert.deepEqual((await job.collect({ quarantineMs: 0 })).removed, uuids.slice(1, 3));
      assert.deepEqual((await job.usage()).checkpoints.map(({ uuid }) => uuid), [uuids[3]]);
      assert.equal((await job.verify({ level: "quick" })).ok, true);
      assert.equal((await client.salvage("other").catch((error) => error)).code, "job-not-found");
    }));

  test("gives up what a state holds", () =>
    withClient(async ({ client, store }) => {
      const job = client.job("j");
      await job.resume();
      const writer = job.writer("w");
      writer.append(0, bytesOf("a"));
      const to = await writer.nextSequenceNumber();
      await writer.truncate(to);
      writer.append(0, bytesOf("b"));
      const { uuid } = await job.checkpoint({ states: { totals: bytesOf("a") } });
      assert.deepEqual(await stored(store, "w", uuid), ["b"]);
      await assert.rejects(writer.truncate(99), { code: "invalid-request" });
      await assert.rejects(client.job("none", { create: false }).setRetention({ minCount: 1 }), {
        code: "job-not-found",
      });
    }));

  test("goes from one sidecar to another as an archive, and is deleted", () =>
    withClient(async ({ client, store }) => {
      const job = client.job("j");
      job.writer("w").append(0, bytesOf("a"));
      await job.checkpoint({ metadata: 1 });
      await client.importJob("copy", client.exportJob("j"));
      assert.deepEqual(await client.jobs(), ["copy", "j"]);
      assert.equal((await client.deleteJob("j")).checkpoints, 1);
      assert.deepEqual(await client.jobs(), ["copy"]);
      await assert.rejects(client.deleteJob("j"), { code: "job-not-found" });
      const { store: id, jobs } = await client.status();
      assert.deepEqual([id, jobs], [store.id, 1]);
    }));

  test("is as ready as its sidecar", () =>
    withClient(async ({ client, net }) => {
      assert.equal(await client.isReady(), true);
      for (const fate of ["lost-before", "refused", "bad-gateway"] as const) {
        net.fate = () => fate;
        assert.equal(await client.isReady(), false);
      }
      net.fate = () => "answered";
      await assert.rejects(client.metrics(), { code: "invalid-request" });
      await assert.rejects(client.isReady({ signal: AbortSignal.abort(new Error("no")) }), /no/);
    }));

  test("tells where durable change sets lie", () =>
    withClient(async ({ client }) => {
      const writer = client.job("j").writer("w");
      writer.append(0, bytesOf("a"));
      const { durableOffset, segments } = await writer.segments(0);
      assert.deepEqual([durableOffset, segments.length, segments[0].writer], [1, 1, "w"]);
    }));
});

describe("close", () => {
  test("makes durable what was appended, and ends what waits", () =>
    withClient(async ({ client, store }) => {
      const job = client.job("j");
      job.writer("w").append(0, bytesOf("a"));
      await client.close();
      assert.deepEqual(await stored(store), ["a"]);
      assert.throws(() => job.writer("w"), { code: "closed" });
      assert.throws(() => client.job("j"), { code: "closed" });
      await assert.rejects(job.resume(), { code: "closed" });
      await assert.rejects(job.checkpoint(), { code: "closed" });
      await assert.rejects(client.jobs(), { code: "closed" });
      await client.close();
    }));

  test("settles everything that is in flight, when it is not waited for", () =>
    withClient(
      async ({ client, clock, net }) => {
        const job = client.job("j");
        await job.resume();
        net.fate = () => "silent";
        const writer = job.writer("w");
        writer.append(0, new Uint8Array(3000));
        const waiting = [
          writer.persist(),
          job.checkpoint(),
          job.availability.whenAvailable(),
          job.describe(),
          client.jobs(),
          job.writeState("s", bytesOf("s")),
          drained(job.restore({ at: "tail" })),
          drained(job.readState("s")),
          client.job("other").resume(),
        ];
        const settled = Promise.allSettled(waiting);
        await clock.advance(0);
        const leave = new AbortController();
        const closed = client.close({ signal: leave.signal });
        await clock.advance(1000);
        leave.abort(new Error("at once"));
        await assert.rejects(closed, /at once|closed/);
        const codes = (await settled).map((result) =>
          result.status === "rejected" ? result.reason.code : "fulfilled"
        );
        assert.deepEqual(codes, codes.map((_, index) => index === 2 ? "fulfilled" : "closed"));
        assert.equal(clock.pendingCount, 0);
      },
      undefined,
      { inFlightBytesMax: 2000, batchBytesMax: 1000 },
    ));

  test("tells what was not made durable, unless that was told before", () =>
    withClient(async ({ client, clock, net }) => {
      const told = client.job("told");
      const untold = client.job("untold");
      await Promise.all([told.resume(), untold.resume()]);
      net.fate = (sent) => isAppend(sent) ? "wrong" : "answered";
      told.writer("w").append(0, bytesOf("a"));
      await assert.rejects(told.writer("w").persist(), { code: "internal" });
      untold.writer("w").append(0, bytesOf("a"));
      await clock.advance(0);
      await told.close();
      await assert.rejects(untold.close(), { code: "internal" });
    }));
});

async function drained(pieces: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of pieces);
}

async function* pieces(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield bytesOf(text);
}

async function* failing(): AsyncGenerator<Uint8Array> {
  yield bytesOf("row");
  await Promise.resolve();
  throw new Error("no more rows");
}

function uuidOf(n: number): string {
  return `019fd0a0-0000-7000-8000-${String(n).padStart(12, "0")}`;
}
