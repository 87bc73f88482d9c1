import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TidemarkError } from "../../src/engine/errors.ts";
import { createApp } from "../../src/http/mod.ts";
import { TestApp, withApp, withJob } from "./_app.ts";
import { jobWith, storeWith } from "./_failing_store.ts";

const NOBODY = "01a22a92-1ae8-748b-b347-2026a263a87f";
const CHECKPOINTS = "/v1/jobs/j/checkpoints";

/** Makes so many checkpoints, each after a change; their uuids, oldest first. */
async function makeCheckpoints(app: TestApp, count: number): Promise<string[]> {
  const uuids: string[] = [];
  for (let i = 0; i < count; i++) {
    await app.append([{ data: `change ${i}` }]);
    uuids.push((await app.ask("POST", CHECKPOINTS)).json.uuid);
  }
  return uuids;
}

async function listed(app: TestApp): Promise<string[]> {
  const { json } = await app.ask("GET", CHECKPOINTS);
  return json.checkpoints.map(({ uuid }: { uuid: string }) => uuid);
}

describe("PUT and DELETE …/checkpoints/{uuid}/pin", () => {
  test("keep a checkpoint, with a reason, until it is let go", () =>
    withJob(async (app) => {
      const [first, second, third] = await makeCheckpoints(app, 3);
      const path = `${CHECKPOINTS}/${first}/pin`;
      const pinned = await app.ask("PUT", path, { json: { reason: "before the upgrade" } });
      assert.deepEqual([pinned.status, pinned.json.uuid, pinned.json.pin], [
        200,
        first,
        "before the upgrade",
      ]);
      assert.equal((await app.ask("GET", `${CHECKPOINTS}/${first}`)).json.pin, pinned.json.pin);
      await app.ask("POST", "/v1/jobs/j/gc", { json: { quarantineMs: 0 } });
      assert.deepEqual(await listed(app), [first, second, third]);
      const unpinned = await app.ask("DELETE", path);
      assert.deepEqual([unpinned.status, "pin" in unpinned.json], [200, false]);
      await app.ask("POST", "/v1/jobs/j/gc", { json: { quarantineMs: 0 } });
      assert.deepEqual(await listed(app), [second, third]);
    }));

  test("take a body without a reason, and may be repeated", () =>
    withJob(async (app) => {
      const [uuid] = await makeCheckpoints(app, 1);
      const path = `${CHECKPOINTS}/${uuid.toUpperCase()}/pin`;
      for (let i = 0; i < 2; i++) assert.equal((await app.ask("PUT", path)).json.pin, "pinned");
      for (let i = 0; i < 2; i++) assert.equal((await app.ask("DELETE", path)).status, 200);
    }));

  test("refuse what is no checkpoint of the job, and a reason that is too long", () =>
    withJob(async (app) => {
      const [uuid] = await makeCheckpoints(app, 1);
      for (const method of ["PUT", "DELETE"]) {
        const missing = await app.ask(method, `${CHECKPOINTS}/${NOBODY}/pin`);
        assert.deepEqual([missing.status, missing.json.code], [404, "checkpoint-not-found"]);
        const latest = await app.ask(method, `${CHECKPOINTS}/latest/pin`);
        assert.equal(latest.status, 400);
        assert.match(latest.json.detail, /uuid wants a checkpoint's uuid/);
      }
      const path = `${CHECKPOINTS}/${uuid}/pin`;
      const long = await app.ask("PUT", path, { json: { reason: "x".repeat(5000) } });
      assert.deepEqual([long.status, long.json.code], [400, "invalid-request"]);
      const allowed = await app.ask("POST", path);
      assert.deepEqual([allowed.status, allowed.headers.get("allow")], [405, "PUT, DELETE"]);
    }));
});

describe("POST …/writers/{writer}/retire", () => {
  test("ends a writer with the next checkpoint", () =>
    withJob(async (app) => {
      await makeCheckpoints(app, 1);
      const path = "/v1/jobs/j/writers/w/retire";
      for (let i = 0; i < 2; i++) {
        const { status, json } = await app.ask("POST", path);
        assert.deepEqual([status, json.writer, json.nextOffset, json.isClosed], [
          200,
          "w",
          1,
          true,
        ]);
      }
      assert.equal((await app.append([{ data: "more" }])).json.code, "closed");
      const missing = await app.ask("POST", "/v1/jobs/j/writers/v/retire");
      assert.deepEqual([missing.status, missing.json.code], [404, "writer-not-found"]);
    }));
});

describe("a checkpoint of the caller's uuid", () => {
  test("is made once, and what is not published is listed only when asked for", () =>
    withJob(async (app) => {
      const made = await app.ask("POST", CHECKPOINTS, { json: { uuid: NOBODY.toUpperCase() } });
      assert.deepEqual([made.status, made.json.uuid], [201, NOBODY]);
      const again = await app.ask("POST", CHECKPOINTS, { json: { uuid: NOBODY } });
      assert.deepEqual([again.status, again.json.code], [409, "checkpoint-exists"]);
      const nil = { uuid: "00000000-0000-0000-0000-000000000000" };
      assert.equal((await app.ask("POST", CHECKPOINTS, { json: nil })).status, 400);
      assert.equal("unpublished" in (await app.ask("GET", CHECKPOINTS)).json, false);
      const all = await app.ask("GET", `${CHECKPOINTS}?unpublished=true`);
      assert.deepEqual([all.json.checkpoints.length, all.json.unpublished], [1, []]);
      assert.equal((await app.ask("GET", `${CHECKPOINTS}?unpublished=yes`)).status, 400);
    }));

  test("can be given up until it is being published", async () => {
    const seen: string[] = [];
    const job = jobWith({ abortCheckpoint: (uuid) => seen.push(uuid) === 1 });
    const store = storeWith(() => Promise.resolve(job));
    const app = new TestApp(store, createApp(store));
    for (const isAborted of [true, false]) {
      const { json } = await app.ask("POST", `${CHECKPOINTS}/${NOBODY}/abort`);
      assert.deepEqual(json, { uuid: NOBODY, isAborted });
    }
    assert.deepEqual(seen, [NOBODY, NOBODY]);
  });
});

describe("DELETE …/checkpoints/{uuid}", () => {
  test("deletes a checkpoint, unless it is needed", () =>
    withJob(async (app) => {
      const [first, second] = await makeCheckpoints(app, 2);
      const done = await app.ask("DELETE", `${CHECKPOINTS}/${first}`);
      assert.deepEqual([done.status, done.json.removed], [200, [first]]);
      assert.deepEqual(await listed(app), [second]);
      const head = await app.ask("DELETE", `${CHECKPOINTS}/${second}`);
      assert.deepEqual([head.status, head.json.code], [409, "checkpoint-in-use"]);
      assert.equal((await app.ask("DELETE", `${CHECKPOINTS}/${NOBODY}`)).status, 404);
      assert.equal((await app.ask("DELETE", `${CHECKPOINTS}/latest`)).status, 400);
    }));
});

describe("POST /v1/jobs/{job}/explain", () => {
  test("says why an object or a checkpoint stays or goes", () =>
    withJob(async (app) => {
      const [first] = await makeCheckpoints(app, 3);
      const ask = (json: unknown) => app.ask("POST", "/v1/jobs/j/explain", { json });
      const { json } = await ask({ key: first, quarantineMs: 0 });
      assert.deepEqual([json.action, json.key], ["delete", `jobs/j/checkpoints/${first}.json`]);
      assert.equal((await ask({ key: first, except: [first] })).json.action, "keep");
      assert.equal((await ask({ key: "TIDEMARK" })).json.action, "keep");
      assert.equal((await ask({ key: "x" })).json.action, "none");
      assert.equal((await ask({})).status, 400);
    }));
});

describe("POST /v1/jobs/{job}/gc", () => {
  test("says what would go, then lets it go", () =>
    withJob(async (app) => {
      const [first, second, third, fourth] = await makeCheckpoints(app, 4);
      const options = { except: [second.toUpperCase()], quarantineMs: 0 };
      const look = await app.ask("POST", "/v1/jobs/j/gc", { json: { ...options, dryRun: true } });
      assert.deepEqual([look.status, look.json.isDryRun, look.json.removed], [200, true, [first]]);
      assert.deepEqual(await listed(app), [first, second, third, fourth]);
      const done = await app.ask("POST", "/v1/jobs/j/gc", { json: options });
      assert.deepEqual([done.json.isDryRun, done.json.removed], [false, [first]]);
      assert.deepEqual(done.json.verdicts, look.json.verdicts);
      assert.equal(done.json.deletedBytes > 0, true);
      assert.deepEqual(await listed(app), [second, third, fourth]);
    }));

  test("lets what goes rest first", () =>
    withJob(async (app) => {
      const [first] = await makeCheckpoints(app, 3);
      const { json } = await app.ask("POST", "/v1/jobs/j/gc");
      assert.deepEqual([json.removed, json.quarantined], [[], [first]]);
      const shown = await app.ask("GET", `${CHECKPOINTS}/${first}`);
      assert.equal(typeof shown.json.quarantinedAtMs, "number");
    }));

  test("refuses what it does not understand, and makes no job", () =>
    withJob(async (app) => {
      const bad = [{ dryrun: true }, { except: ["latest"] }, { except: NOBODY }, {
        quarantineMs: -1,
      }, { quarantineMs: 0.5 }];
      for (const json of bad) {
        const answer = await app.ask("POST", "/v1/jobs/j/gc", { json });
        assert.deepEqual([answer.status, answer.json.code], [400, "invalid-request"]);
      }
      assert.equal((await app.ask("POST", "/v1/jobs/none/gc")).json.code, "job-not-found");
      assert.deepEqual((await app.ask("GET", "/v1/jobs")).json, { jobs: [{ job: "j" }] });
    }));
});

describe("retention of PUT /v1/jobs/{job}", () => {
  test("is set whole, shown, and left alone where it is not given", () =>
    withApp(async (app) => {
      const made = await app.ask("PUT", "/v1/jobs/j", { json: { retention: { minCount: 3 } } });
      assert.deepEqual([made.status, made.json.retention], [201, { minCount: 3 }]);
      const retention = { minCount: 1, maxCount: 9, maxAgeMs: 86_400_000 };
      const set = await app.ask("PUT", "/v1/jobs/j", { json: { retention } });
      assert.deepEqual([set.status, set.json.retention], [200, retention]);
      assert.deepEqual((await app.ask("PUT", "/v1/jobs/j")).json.retention, retention);
      await app.ask("PUT", "/v1/jobs/j", { json: { retention: { minCount: 2 } } });
      assert.deepEqual((await app.ask("GET", "/v1/jobs/j")).json.retention, { minCount: 2 });
    }));

  const bad: [unknown, RegExp][] = [
    [{}, /retention.minCount/],
    [{ minCount: 0 }, /retention.minCount wants at least 1/],
    [{ minCount: "2" }, /retention.minCount/],
    [{ minCount: 3, maxCount: 2 }, /not below minCount 3/],
    [{ minCount: 2, maxAgeMs: -1 }, /retention.maxAgeMs/],
    [{ minCount: 2, maxAge: "1d" }, /retention.maxAge is not known/],
  ];
  for (const [retention, detail] of bad) {
    test(`is refused when it is ${JSON.stringify(retention)}, and no job is made`, () =>
      withApp(async (app) => {
        const answer = await app.ask("PUT", "/v1/jobs/j", { json: { retention } });
        assert.equal(answer.status, 400);
        assert.match(answer.json.detail, detail);
        assert.deepEqual((await app.ask("GET", "/v1/jobs")).json, { jobs: [] });
      }));
  }
});

test("GET /v1/jobs/{job}/usage counts by kind and by checkpoint", () =>
  withJob(async (app) => {
    const uuids = await makeCheckpoints(app, 2);
    const { status, json } = await app.ask("GET", "/v1/jobs/j/usage");
    assert.equal(status, 200);
    assert.equal(json.kinds.checkpoints.objects, 2);
    assert.deepEqual(json.checkpoints.map(({ uuid }: { uuid: string }) => uuid), uuids);
    assert.equal((await app.ask("GET", "/v1/jobs/none/usage")).status, 404);
  }));

describe("POST /v1/jobs/{job}/verify", () => {
  test("reads everything, or only what is there", () =>
    withJob(async (app) => {
      await makeCheckpoints(app, 1);
      const full = await app.ask("POST", "/v1/jobs/j/verify");
      assert.deepEqual([full.status, full.json.ok, full.json.changes], [200, true, 1]);
      const quick = await app.ask("POST", "/v1/jobs/j/verify", { json: { level: "quick" } });
      assert.deepEqual([quick.json.ok, quick.json.checkpoints, quick.json.bytes], [true, 1, 0]);
      const bad = await app.ask("POST", "/v1/jobs/j/verify", { json: { level: "deep" } });
      assert.match(bad.json.detail, /level wants quick or full/);
    }));

  test("ends when the client has gone away", async () => {
    const client = new AbortController();
    const reason = new Error("gone");
    const job = jobWith({
      verify: ({ signal } = {}) => {
        client.abort(reason);
        return Promise.reject(signal?.reason);
      },
    });
    const store = storeWith(() => Promise.resolve(job));
    const answer = await createApp(store).fetch(
      new Request("http://127.0.0.1:7460/v1/jobs/j/verify", {
        method: "POST",
        signal: client.signal,
      }),
    );
    assert.equal((await answer.json()).code, "aborted");
  });
});

describe("fallback", () => {
  test("is passed on by a resume and by a restore", async () => {
    const seen: unknown[] = [];
    const job = jobWith({
      resume: ({ fallback } = {}) => {
        seen.push(fallback);
        return Promise.resolve({ run: 2, epoch: 2, writers: [], dropped: [] });
      },
      restore: ({ fallback } = {}) => {
        seen.push(fallback);
        throw new TidemarkError("corrupt", "Cannot find a checkpoint that is whole");
      },
    });
    const store = storeWith(() => Promise.resolve(job));
    const app = new TestApp(store, createApp(store));
    for (const json of [{}, { fallback: false }, { fallback: true }]) {
      assert.equal((await app.ask("POST", "/v1/jobs/j/resume", { json })).status, 200);
    }
    for (const query of ["", "?fallback=false", "?fallback=true"]) {
      const answer = await app.ask("GET", `/v1/jobs/j/writers/w/changes${query}`);
      assert.equal(answer.json.code, "corrupt");
    }
    assert.deepEqual(seen, [undefined, false, true, undefined, false, true]);
  });

  test("wants true or false", () =>
    withJob(async (app) => {
      const restore = await app.ask("GET", "/v1/jobs/j/writers/w/changes?fallback=yes");
      assert.match(restore.json.detail, /fallback wants true or false/);
      const json = { fallback: "true" };
      assert.equal((await app.ask("POST", "/v1/jobs/j/resume", { json })).status, 400);
    }));
});
