import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { callsTo } from "../../src/client/calls_to.ts";
import type { SidecarCalls } from "../../src/client/sidecar_calls.ts";
import type { TidemarkError } from "../../src/engine/errors.ts";
import { encodeChanges } from "../../src/engine/format/change_input.ts";
import { createApp } from "../../src/http/mod.ts";
import { openStore } from "../../src/runtime/open_store.ts";

const URL_HERE = "http://127.0.0.1:7460";
const ONE = encodeChanges([{ keyGroup: 1, data: new TextEncoder().encode("one") }]);

/** Gives a client of a sidecar in this process to `use`. */
async function withClient(use: (client: SidecarCalls) => Promise<void>): Promise<void> {
  await using store = await openStore("memory:");
  const app = createApp(store);
  await use(callsTo(URL_HERE, { fetch: (request) => app.fetch(request) }));
}

/** A client whose requests are all answered alike. */
function clientOf(answer: () => Response): SidecarCalls {
  return callsTo(URL_HERE, { fetch: () => Promise.resolve(answer()) });
}

describe("SidecarCalls", () => {
  test("gives u64 values back as they were", () =>
    withClient(async (client) => {
      assert.equal((await client.createJob("j")).fingerprint, 0n);
      await client.append("j", "w", ONE.bytes);
      const steps = 2n ** 64n - 1n;
      const made = await client.checkpoint("j", { steps, processedRecords: 7n, metadata: [1] });
      assert.deepEqual([made.fingerprint, made.steps, made.processedRecords], [0n, steps, 7n]);
      const { checkpoint, run, writers } = await client.resume("j", { acceptFingerprints: [9n] });
      assert.deepEqual([checkpoint?.steps, checkpoint?.metadata, run], [steps, [1], 2]);
      assert.deepEqual([writers[0].writer, writers[0].nextOffset], ["w", 1]);
    }));

  test("takes no state that is not what the sidecar said it is", async () => {
    const client = clientOf(() => new Response("abc", { headers: { etag: '"0123456789abcdef"' } }));
    const read = async () => {
      for await (const piece of client.readState("j", "a", "latest")) assert.equal(piece.length, 3);
    };
    await assert.rejects(read, ({ code, message }: TidemarkError) => {
      return code === "server-unreachable" && message.includes("did not come whole");
    });
  });

  test("says nothing of a checkpoint where a job starts from nothing", () =>
    withClient(async (client) => {
      await client.createJob("j");
      assert.equal("checkpoint" in await client.resume("j"), false);
    }));

  test("appends at an offset and a run, durable or buffered", () =>
    withClient(async (client) => {
      await client.createJob("j");
      const options = { offset: 0, run: 1, ack: "buffered" } as const;
      const first = await client.append("j", "w", ONE.bytes, options);
      assert.deepEqual([first.offset, first.nextOffset, first.ack], [0, 1, "buffered"]);
      await assert.rejects(client.append("j", "w", ONE.bytes, { ...options, run: 7 }), {
        name: "TidemarkError",
      });
    }));

  test("restores with a trailer that agrees", () =>
    withClient(async (client) => {
      await client.createJob("j");
      await client.append("j", "w", ONE.bytes);
      const { pieces, trailer } = await client.restore("j", "w", { at: "tail" });
      const found: number[] = [];
      for await (const piece of pieces) found.push(...piece);
      assert.deepEqual(found, [...ONE.bytes]);
      assert.equal((await trailer).count, 1);
    }));

  test("turns a problem document back into its error", () =>
    withClient(async (client) => {
      await client.createJob("j");
      const append = client.append("j", "w", ONE.bytes, { offset: 5 });
      await assert.rejects(append, (error: TidemarkError) => {
        assert.deepEqual([error.code, error.kind, error.outcome], [
          "offset-mismatch",
          "conflict",
          "not-applied",
        ]);
        assert.equal(error.details.expectedOffset, 0);
        return true;
      });
    }));

  test("does not guess at a code that a newer sidecar knows", async () => {
    const problem = { code: "moon-phase", detail: "Cannot append: wrong moon", outcome: "applied" };
    const client = clientOf(() =>
      new Response(JSON.stringify(problem), {
        status: 409,
        headers: { "content-type": "application/problem+json" },
      })
    );
    await assert.rejects(client.createJob("j"), {
      code: "internal",
      outcome: "applied",
      message: "Cannot append: wrong moon (moon-phase)",
    });
  });

  test("tells an answer that can't be read from one that says no", async () => {
    for (const body of ["not json", "[]", ""]) {
      await assert.rejects(clientOf(() => new Response(body)).checkpoint("j"), {
        code: "server-unreachable",
        outcome: "unknown",
      });
    }
  });

  test("refuses an address that is none", () => {
    assert.throws(() => callsTo("ftp://127.0.0.1"), TypeError);
    assert.throws(() => callsTo("127.0.0.1:7460"), TypeError);
    assert.equal(callsTo(`${URL_HERE}/base//`).url, `${URL_HERE}/base`);
  });
});

describe("SidecarCalls's upkeep", () => {
  test("lists jobs and checkpoints, and shows them", () =>
    withClient(async (client) => {
      const retention = { minCount: 1, maxAgeMs: 60_000 };
      const made = await client.createJob("j", { fingerprint: 2n ** 63n, retention });
      assert.deepEqual([made.fingerprint, made.retention], [2n ** 63n, retention]);
      await client.append("j", "w", ONE.bytes);
      const { uuid } = await client.checkpoint("j", { steps: 3n, metadata: { line: 1 } });
      assert.deepEqual(await client.jobs(), ["j"]);
      assert.deepEqual((await client.job("j")).retention, retention);
      const [listed] = await client.checkpoints("j");
      assert.deepEqual([listed.uuid, listed.steps], [uuid, 3n]);
      for (const at of [uuid, "latest"]) {
        const shown = await client.checkpointDetails("j", at);
        assert.deepEqual([shown.uuid, shown.steps, shown.metadata], [uuid, 3n, { line: 1 }]);
      }
    }));

  test("pins, collects, counts and verifies", () =>
    withClient(async (client) => {
      await client.createJob("j");
      const uuids: string[] = [];
      for (let i = 0; i < 4; i++) uuids.push((await client.checkpoint("j")).uuid);
      assert.equal((await client.pin("j", uuids[0], "kept")).pin, "kept");
      const options = { except: new Set([uuids[1]]), quarantineMs: 0 };
      const look = await client.collect("j", { ...options, dryRun: true });
      assert.deepEqual([look.isDryRun, look.removed], [true, []]);
      assert.equal((await client.unpin("j", uuids[0])).pin, undefined);
      assert.deepEqual((await client.collect("j", options)).removed, [uuids[0]]);
      assert.deepEqual((await client.usage("j")).checkpoints.map(({ uuid }) => uuid), [
        ...uuids.slice(1),
      ]);
      const { ok, checkpoints } = await client.verify("j", { level: "quick" });
      assert.deepEqual([ok, checkpoints], [true, 3]);
    }));

  test("gives up where it is told to", async () => {
    const signal = AbortSignal.abort(new Error("enough"));
    const client = callsTo(URL_HERE, {
      fetch: (request) => Promise.reject(request.signal.reason),
    });
    await assert.rejects(client.verify("j", { signal }), /enough/);
  });
});
