import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { TidemarkError } from "../../src/engine/errors.ts";
import type { Store } from "../../src/engine/types.ts";
import { ROUTES } from "../../src/http/_routes.ts";
import { createApp, type HttpAppOptions, PrometheusMetrics } from "../../src/http/mod.ts";
import { TokenTable } from "../../src/http/token_table.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { sha256 } from "../../src/runtime/secret_file.ts";
import { RecordingLogger } from "../doubles/recording_logger.ts";
import { temporaryFolder } from "../runtime/temporary_folder.ts";
import { TestApp } from "./_app.ts";

const TOKENS = [
  { name: "reader", jobs: ["mine"], rights: ["read"] },
  { name: "pipeline", jobs: ["mine", "my-*"], rights: ["append"] },
  { name: "keeper", jobs: ["mine"], rights: ["admin"] },
  { name: "auditor", jobs: ["*"], rights: ["read"] },
  { name: "root", jobs: ["*"], rights: ["admin"] },
].map((entry) => ({ ...entry, token: tokenOf(entry.name) }));

const RIGHTS_OF: Readonly<Record<string, readonly string[]>> = {
  reader: ["read"],
  pipeline: ["append"],
  keeper: ["read", "append", "admin"],
};

function tokenOf(name: string): string {
  return `${name}-secret-of-16-chars`;
}

function bearer(name: string): Record<string, string> {
  return { authorization: `Bearer ${tokenOf(name)}` };
}

const access = TokenTable.parse(JSON.stringify({ tokens: TOKENS }), { sha256 });

async function withJobs(
  use: (app: TestApp) => Promise<void>,
  options: HttpAppOptions = {},
): Promise<void> {
  await using store = await openStore("memory:");
  for (const job of ["mine", "my-own", "others"]) await store.job(job);
  const metrics = new PrometheusMetrics();
  await use(new TestApp(store, createApp(store, { access, metrics, ...options })));
}

/** The path of a route about a job, with every other name in it allowed. */
function pathOf(path: string, job: string): string {
  return path.replace(":job", job).replace(/:uuid/, "latest").replace(/:[a-z]+/gi, "name");
}

describe("tokens", () => {
  test("are wanted by every route but those that say that it lives", () =>
    withJobs(async (app) => {
      const wrong = [
        undefined,
        "",
        "Bearer",
        `Bearer ${tokenOf("nobody")}`,
        `Basic ${btoa(`reader:${tokenOf("reader")}`)}`,
        tokenOf("root"),
        `Bearer ${tokenOf("root")}x`,
        `Bearer ${tokenOf("root")} ${tokenOf("root")}`,
        `Bearer ${"x".repeat(8192)}`,
      ];
      for (const { method, path, right } of ROUTES) {
        for (const authorization of right === "none" ? [] : wrong) {
          const headers = authorization === undefined ? undefined : { authorization };
          const answer = await app.ask(method, pathOf(path, "mine"), { headers });
          const found = [answer.status, answer.json.code, answer.headers.get("www-authenticate")];
          const place = `${method} ${path} ${authorization}`;
          assert.deepEqual(found, [401, "unauthorized", 'Bearer realm="tidemark"'], place);
        }
      }
      for (const path of ["/v1/none", "/v1/jobs/mine/none"]) {
        assert.equal((await app.ask("GET", path)).status, 401);
        assert.equal((await app.ask("GET", path, { headers: bearer("reader") })).status, 404);
      }
      assert.equal((await app.ask("DELETE", "/v1/jobs")).status, 401);
      assert.equal(
        (await app.ask("DELETE", "/v1/jobs", { headers: bearer("reader") })).status,
        405,
      );
      assert.equal((await app.ask("GET", "/healthz")).status, 200);
    }));

  test("are wanted for what has no route too, each time, and by a sidecar that closes", async () => {
    await withJobs(async (app) => {
      for (const path of ["/nowhere", "/v1/jobs/mine/usage"]) {
        for (const name of ["reader", undefined, "reader"]) {
          const headers = name === undefined ? {} : bearer(name);
          const { status } = await app.ask("PATCH", path, { headers });
          const wanted = path === "/nowhere" ? 404 : 405;
          assert.equal(status, name === undefined ? 401 : wanted, path);
        }
      }
    });
    await withJobs(async (app) => {
      assert.equal((await app.ask("GET", "/v1/jobs/mine")).status, 401);
      assert.equal(
        (await app.ask("GET", "/v1/jobs/mine", { headers: bearer("reader") })).status,
        503,
      );
    }, { isDraining: () => true });
  });

  test("that are wrong are refused as such when there are too many requests, and add none", () =>
    withJobs(async (app) => {
      for (let i = 0; i < 3; i++) assert.equal((await app.ask("GET", "/v1/jobs/mine")).status, 401);
      let finish = (): void => {};
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => void (finish = () => controller.close()),
      });
      const changes = "/v1/jobs/mine/writers/w/changes";
      const headers = bearer("pipeline");
      const waiting = app.ask("POST", changes, { body, headers, type: "application/x-ndjson" });
      assert.equal((await app.ask("GET", "/v1/jobs/mine")).status, 401);
      assert.equal(
        (await app.ask("GET", "/v1/jobs/mine", { headers: bearer("reader") })).status,
        503,
      );
      finish();
      await waiting;
      assert.equal(
        (await app.ask("GET", "/v1/jobs/mine", { headers: bearer("reader") })).status,
        200,
      );
    }, { requestsMax: 1 }));

  test("that can't be looked up are an error of the sidecar", async () => {
    await using store = await openStore("memory:");
    const logger = new RecordingLogger();
    const grantOf = () => {
      throw new RangeError("Cannot look it up");
    };
    const app = new TestApp(store, createApp(store, { access: { grantOf }, logger }));
    const { status, json } = await app.ask("GET", "/v1/jobs/mine", { headers: bearer("reader") });
    assert.deepEqual([status, json.code], [500, "internal"]);
    const [{ message, fields }] = logger.records;
    assert.deepEqual([message, fields.path], ["request failed", "/v1/jobs/mine"]);
  });

  test("are taken however the scheme is written", () =>
    withJobs(async (app) => {
      for (const scheme of ["Bearer", "bearer", "BEARER", "Bearer  "]) {
        const headers = { authorization: `${scheme} ${tokenOf("reader")}` };
        assert.equal((await app.ask("GET", "/v1/jobs/mine", { headers })).status, 200, scheme);
      }
    }));

  test("allow what their rights say, on every route", () =>
    withJobs(async (app) => {
      for (const { method, path, right } of ROUTES) {
        if (!path.includes(":job")) continue;
        for (const name of ["reader", "pipeline", "keeper"]) {
          const headers = bearer(name);
          const answer = await app.ask(method, pathOf(path, "mine"), { headers });
          const isAllowed = RIGHTS_OF[name].includes(right);
          const place = `${method} ${path} by ${name}: ${answer.text}`;
          assert.equal(answer.status === 403, !isAllowed, place);
          if (isAllowed) continue;
          assert.equal(answer.json.code, "forbidden", place);
          assert.match(
            answer.json.detail,
            new RegExp(`token ${name} has no right ${right} on job mine`),
          );
        }
      }
    }));

  test("of one job learn nothing of another: not even whether it is there", () =>
    withJobs(async (app) => {
      for (const { method, path } of ROUTES) {
        if (!path.includes(":job")) continue;
        for (const name of ["reader", "pipeline", "keeper"]) {
          const headers = bearer(name);
          const [there, absent] = [
            await app.ask(method, pathOf(path, "others"), { headers }),
            await app.ask(method, pathOf(path, "nobody"), { headers }),
          ];
          assert.equal(there.status, 403, `${method} ${path} by ${name}`);
          assert.equal(there.text.replaceAll("others", "nobody"), absent.text);
        }
      }
      assert.equal((await app.store.jobs()).includes("nobody"), false);
    }));

  test("of one job ask nothing about the objects of another", () =>
    withJobs(async (app) => {
      const explain = async (name: string, key: string): Promise<number> => {
        const asked = { headers: bearer(name), json: { key } };
        return (await app.ask("POST", "/v1/jobs/mine/explain", asked)).status;
      };
      const owner = `owners/${"1".padStart(20, "0")}.json`;
      assert.equal(await explain("reader", `jobs/mine/${owner}`), 200);
      const others = [
        `jobs/others/${owner}`,
        `jobs/nobody/${owner}`,
        "coordinator/x",
        "jobs/mine2/x",
      ];
      for (const key of others) {
        assert.equal(await explain("reader", key), 403, key);
        assert.equal(await explain("auditor", key), 200, key);
      }
      for (const key of ["jobs/mine/../others/x", "jobs/mine//x", "jobs/mine/./x"]) {
        const asked = { headers: bearer("reader"), json: { key } };
        const answer = await app.ask("POST", "/v1/jobs/mine/explain", asked);
        assert.deepEqual([answer.status, answer.json.size], [200, undefined], key);
      }
    }));

  test("with a prefix are for each job of it", () =>
    withJobs(async (app) => {
      const headers = bearer("pipeline");
      const persist = (job: string) =>
        app.ask("POST", `/v1/jobs/${job}/writers/w/persist`, { headers, json: {} });
      assert.equal((await persist("my-own")).status, 404);
      for (const job of ["my", "others", "My-own", "my%2Down%00", "%6dine2"]) {
        assert.equal((await persist(job)).status, job === "my%2Down%00" ? 400 : 403, job);
      }
    }));

  test("see their own jobs in the list, and the store only with a right on all", () =>
    withJobs(async (app) => {
      const jobs = async (name: string): Promise<string[]> => {
        const { status, json } = await app.ask("GET", "/v1/jobs", { headers: bearer(name) });
        assert.equal(status, 200);
        return json.jobs.map(({ job }: { job: string }) => job);
      };
      assert.deepEqual(await jobs("reader"), ["mine"]);
      assert.deepEqual(await jobs("pipeline"), []);
      assert.deepEqual(await jobs("auditor"), ["mine", "my-own", "others"]);
      for (const { method, path, right } of ROUTES) {
        if (right === "none" || path.includes(":job") || path === "/v1/jobs") continue;
        for (const name of ["reader", "keeper"]) {
          const answer = await app.ask(method, path, { headers: bearer(name) });
          assert.equal(answer.status, 403, `${method} ${path}`);
          assert.match(answer.json.detail, /on every job \(\*\)/);
        }
        assert.equal(
          (await app.ask(method, path, { headers: bearer("auditor") })).status,
          200,
          path,
        );
      }
    }));

  test("keep the store's place from who asks whether it is ready", async () => {
    const place = "/var/lib/tidemark";
    const check = () =>
      Promise.reject(new TidemarkError("store-not-found", `Cannot find ${place}`));
    const store = { id: "0", check } as unknown as Store;
    const app = new TestApp(store, createApp(store, { access }));
    for (const headers of [{}, bearer("keeper"), bearer("nobody")]) {
      const answer = await app.ask("GET", "/readyz", { headers });
      assert.deepEqual([answer.status, answer.json.code], [503, "store-not-found"]);
      assert.equal(answer.text.includes(place), false);
    }
    const trusted = await app.ask("GET", "/readyz", { headers: bearer("auditor") });
    assert.equal(trusted.text.includes(place), true);
    const open = await new TestApp(store, createApp(store)).ask("GET", "/readyz");
    assert.equal(open.text.includes(place), true);
  });

  test("of single jobs are not told where the store lies, whatever goes wrong", async () => {
    await using folder = await temporaryFolder();
    await using store = await openStore(join(folder.path, "store"));
    const app = new TestApp(store, createApp(store, { access }));
    const told = async (name: string): Promise<string[]> => {
      const answers: string[] = [];
      for (const { method, path } of ROUTES) {
        if (!path.includes(":job") || method === "PUT") continue;
        const confirm = method === "DELETE" && path === "/v1/jobs/:job" ? "?confirm=mine" : "";
        const asked = `${pathOf(path, "mine")}${confirm}`;
        answers.push((await app.ask(method, asked, { headers: bearer(name) })).text);
      }
      return answers;
    };
    for (const name of ["reader", "pipeline", "keeper"]) {
      const texts = await told(name);
      assert.deepEqual(texts.filter((text) => text.includes(folder.path)), []);
      assert.match(texts.join("\n"), /There is no job mine in the store/);
    }
    assert.equal((await told("root")).join("\n").includes(folder.path), true);
  });

  test("stand in no answer and in no log", async () => {
    const logger = new RecordingLogger();
    await withJobs(async (app) => {
      const texts: string[] = [];
      for (const { method, path } of ROUTES) {
        for (const name of ["reader", "root", "nobody"]) {
          const headers = bearer(name);
          const answer = await app.ask(method, pathOf(path, "mine"), { headers });
          texts.push(answer.text, ...[...answer.headers].flat());
        }
      }
      assert.equal(texts.join("\n").includes("secret-of-16"), false);
    }, { logger });
    assert.equal(JSON.stringify(logger.records).includes("secret-of-16"), false);
  });
});

describe("pages", () => {
  const page = { origin: "https://console.example" };

  test("of an origin that is named may ask, with a token", () =>
    withJobs(async (app) => {
      const asked = {
        ...page,
        "access-control-request-method": "PUT",
        "access-control-request-headers": "authorization, tidemark-run",
      };
      const preflight = await app.ask("OPTIONS", "/v1/jobs/mine", { headers: asked });
      assert.equal(preflight.status, 204);
      assert.equal(preflight.headers.get("access-control-allow-origin"), page.origin);
      assert.match(preflight.headers.get("access-control-allow-methods") ?? "", /PUT/);
      assert.match(preflight.headers.get("access-control-allow-headers") ?? "", /tidemark-run/);
      assert.equal(preflight.headers.get("access-control-allow-credentials"), null);
      const headers = { ...page, ...bearer("reader") };
      for (const [path, status] of [["/v1/jobs/mine", 200], ["/v1/jobs/others", 403]] as const) {
        const answer = await app.ask("GET", path, { headers });
        assert.equal(answer.status, status);
        assert.equal(answer.headers.get("access-control-allow-origin"), page.origin);
        assert.match(answer.headers.get("vary") ?? "", /origin/i);
      }
      assert.equal((await app.ask("GET", "/v1/jobs/mine", { headers: page })).status, 401);
      const unknown = await app.ask("GET", "/nowhere", { headers });
      assert.equal(unknown.status, 404);
      assert.equal(unknown.headers.get("access-control-allow-origin"), page.origin);
      const foreign = { ...headers, origin: "https://evil.example" };
      const refused = await app.ask("GET", "/v1/jobs/mine", { headers: foreign });
      assert.equal(refused.status, 403);
      assert.equal(refused.headers.get("access-control-allow-origin"), null);
    }, { corsOrigins: [page.origin] }));

  test("are told nothing of other origins unless that is asked for", () =>
    withJobs(async (app) => {
      const preflight = await app.ask("OPTIONS", "/v1/jobs/mine", { headers: page });
      assert.equal(preflight.status, 403);
      assert.equal(preflight.headers.get("access-control-allow-origin"), null);
    }));

  test("that lead a name of theirs to loopback are refused where no token is wanted", () =>
    withJobs(async (app) => {
      const status = async (host: string): Promise<number> =>
        (await app.ask("GET", "/v1/jobs", { headers: { host } })).status;
      const own = [
        "127.0.0.1:7460",
        "127.8.0.1",
        "localhost",
        "LOCALHOST:80",
        "[::1]:7460",
        "side.car",
      ];
      for (const host of own) assert.equal(await status(host), 200, host);
      const foreign = [
        "evil.example:7460",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "10.0.0.1",
        "",
      ];
      for (const host of foreign) assert.equal(await status(host), 403, host);
      assert.equal(
        (await app.ask("GET", "/healthz", { headers: { host: "evil.example" } })).status,
        403,
      );
    }, { access: undefined, hostnames: ["side.car"] }));
});
