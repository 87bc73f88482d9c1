import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { ROUTES } from "../../src/http/_routes.ts";
import { createApp, TokenTable } from "../../src/http/mod.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { sha256 } from "../../src/runtime/secret_file.ts";
import { RecordingLogger } from "../doubles/recording_logger.ts";
import { temporaryFolder } from "../runtime/temporary_folder.ts";
import { type Answer, TestApp, withJob } from "./_app.ts";

/** Names as a path has them: ways out of the store, what decodes to them, and what is too long. */
const NAMES = [
  "..",
  "...",
  ".",
  "%2e%2e",
  "%2E%2e%2F%2e%2e%2fetc%2fpasswd",
  "..%2f..%2fsecret",
  "..%5c..%5csecret",
  "%2fetc%2fpasswd",
  "a%2fb",
  "a%5cb",
  "%00",
  "a%00.json",
  "%0d%0aset-cookie:%20a=b",
  "%c0%ae%c0%ae%c0%afetc",
  "%ff%fe",
  "%",
  "%zz",
  "%252e%252e",
  "%e2%80%ae",
  "%ef%bc%8e%ef%bc%8e",
  "caf%c3%a9",
  ".hidden",
  "trailing.",
  "a:b",
  "a*",
  "~",
  "a%20b",
  "x".repeat(129),
  "x".repeat(100_000),
  "__proto__%00",
  "%{injected}$%7Bx%7D%25s",
];

const DOTS = /^(?:\.|%2e){1,2}$/i;

/** What is there of each kind. */
const KNOWN: Readonly<Record<string, string>> = {
  ":job": "j",
  ":writer": "w",
  ":state": "s",
  ":uuid": "latest",
};

async function contentOf(folder: string): Promise<string[]> {
  return (await readdir(folder, { recursive: true })).sort();
}

describe("names in paths", () => {
  test("lead nowhere: whatever stands in them, nothing is answered, made or left behind", async () => {
    await using folder = await temporaryFolder();
    const logger = new RecordingLogger();
    await using store = await openStore(join(folder.path, "store"));
    const app = new TestApp(store, createApp(store, { logger }));
    await app.ask("PUT", "/v1/jobs/j");
    await app.append([{ data: "a" }]);
    const before = await contentOf(folder.path);
    for (const { method, path } of ROUTES) {
      for (const param of path.match(/:[a-z]+/gi) ?? []) {
        for (const name of NAMES) {
          // The URL is another one then: /v1/jobs/./retention is /v1/jobs/retention.
          if (method === "PUT" && DOTS.test(name)) continue;
          const asked = path.replaceAll(/:[a-z]+/gi, (one) => one === param ? name : KNOWN[one]);
          const confirm = `${method} ${path}` === "DELETE /v1/jobs/:job" ? "?confirm=j" : "";
          const answer = await app.ask(method, `${asked}${confirm}`, bodyOf(method, path));
          const place = `${method} ${asked.slice(0, 120)}: ${answer.status} ${
            answer.text.slice(0, 200)
          }`;
          assert.ok([400, 404, 405, 415].includes(answer.status), place);
          sayNothing(answer);
        }
      }
    }
    assert.deepEqual(await contentOf(folder.path), before);
    assert.deepEqual(await store.jobs(), ["j"]);
    assert.deepEqual(logger.records, []);
  });

  test("of objects are names, not paths", () =>
    withJob(async (app) => {
      const keys = [
        "../../etc/passwd",
        "/etc/passwd",
        "jobs/../TIDEMARK",
        "jobs/j/../../x",
        "\0",
        "",
      ];
      for (const key of [...keys, "x".repeat(10_000), "jobs\\j", "__proto__"]) {
        const answer = await app.ask("POST", "/v1/jobs/j/explain", { json: { key } });
        assert.ok([200, 400].includes(answer.status), `${key.slice(0, 50)}: ${answer.text}`);
        assert.equal(answer.json.size, undefined, key);
      }
      const states = [{ "../x": { from: "latest" } }, { "": { written: crypto.randomUUID() } }];
      for (const named of states) {
        const asked = { json: { states: named } };
        const answer = await app.ask("POST", "/v1/jobs/j/checkpoints", asked);
        assert.ok([400, 404].includes(answer.status), answer.text);
      }
    }));
});

describe("methods", () => {
  test("are what stands in the request's first line, and nothing else", () =>
    withJob(async (app) => {
      const disguises = ["x-http-method-override", "x-http-method", "x-method-override"];
      for (const header of disguises) {
        const headers = { [header]: "DELETE" };
        assert.equal((await app.ask("GET", "/v1/jobs/j?confirm=j", { headers })).status, 400);
        assert.equal((await app.ask("POST", "/v1/jobs/j?_method=DELETE", { headers })).status, 405);
      }
      assert.deepEqual(await app.store.jobs(), ["j"]);
    }));

  test("that no path takes change nothing, and say which it takes", () =>
    withJob(async (app) => {
      for (const method of ["OPTIONS", "PATCH", "PROPFIND"]) {
        for (const { path } of ROUTES) {
          const asked = path.replace(":job", "j").replace(/:[a-z]+/gi, "w");
          const answer = await app.ask(method, asked);
          assert.deepEqual([answer.status, answer.json.code], [405, "invalid-request"], asked);
          assert.match(answer.headers.get("allow") ?? "", /GET|PUT|POST|DELETE/);
        }
      }
      assert.deepEqual(await app.store.jobs(), ["j"]);
    }));

  test("HEAD wants the right of GET, and answers no body", async () => {
    const tokens = [{ name: "t", token: "0123456789abcdef", jobs: ["j"], rights: ["append"] }];
    const access = TokenTable.parse(JSON.stringify({ tokens }), { sha256 });
    await withJob(async (app) => {
      const headers = { authorization: "Bearer 0123456789abcdef" };
      assert.equal((await app.ask("HEAD", "/v1/jobs/j", { headers })).status, 403);
      assert.equal((await app.ask("HEAD", "/v1/jobs/j")).status, 401);
    }, { access });
  });
});

/** Nothing of the program's inside, and no header of the caller's making. */
function sayNothing(answer: Answer): void {
  assert.doesNotMatch(answer.text, /\.ts:\d+|node_modules|\bat (?:async )?[\w.]+ \(/);
  assert.equal(answer.headers.get("set-cookie"), null);
}

function bodyOf(method: string, path: string): { body?: string; type?: string } {
  if (method !== "POST") return {};
  if (path.endsWith("/changes")) return { body: '{"data":"a"}\n', type: "application/x-ndjson" };
  if (path.endsWith("/states/:state")) return { body: "a", type: "application/octet-stream" };
  return {};
}
