import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { renderApiPage } from "../../src/http/_api_page.ts";
import { ROUTES } from "../../src/http/_routes.ts";
import { PrometheusMetrics } from "../../src/http/mod.ts";
import { type TestApp, withJob } from "./_app.ts";

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, unknown>>;
}

async function operationsOf(app: TestApp): Promise<Operation[]> {
  const { json } = await app.ask("GET", "/openapi.json");
  return Object.values(json.paths).flatMap((methods) => Object.values(methods as object));
}

/** Text of a part of the page, as a reader sees it. */
function read(markup: string): string {
  const text = markup.replace(/<[^>]*>/g, "");
  const names: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"' };
  return text.replace(/&(#39|\w+);/g, (_, name) => names[name] ?? "'");
}

/** The part of each operation. */
function partsOf(page: string): Map<string, string> {
  const parts = page.split('<section class="call" id="').slice(1);
  return new Map(parts.map((part) => [part.slice(0, part.indexOf('"')), part]));
}

/** The words of a line of curl. What stands for a file is some bytes. */
function wordsOf(line: string): string[] {
  const words = line.match(/"(?:\\.|[^"])*"|'[^']*'|\S+/g) ?? [];
  return words.map((word) => word.replace(/^(["'])(.*)\1$/, "$2").replaceAll('\\"', '"'));
}

/** Does what a line of curl does. */
async function runCurl(app: TestApp, line: string): Promise<Response> {
  const [program, ...words] = wordsOf(line);
  assert.equal(program, "curl");
  const headers: Record<string, string> = {};
  let method: string | undefined;
  let body: string | undefined;
  let path = "";
  while (words.length > 0) {
    const word = words.shift()!;
    if (word === "-X") method = words.shift();
    else if (word === "-H") {
      const [name, value] = words.shift()!.split(": ");
      headers[name] = value;
    } else if (word === "-d" || word === "--data-binary") body = words.shift();
    else if (word === "-o") assert.match(words.shift()!, /^\w+\.\w+$/);
    else path = word.replace(/^\$U/, "");
  }
  return await app.send(method ?? (body === undefined ? "GET" : "POST"), path, { body, headers });
}

describe("GET /docs", () => {
  test("is one page that asks nothing of any other place, and runs no script", async () => {
    await withJob(async (app) => {
      const { status, headers, text } = await app.ask("GET", "/docs");
      assert.equal(status, 200);
      assert.equal(headers.get("content-type"), "text/html; charset=utf-8");
      assert.match(
        headers.get("content-security-policy")!,
        /^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]{43}='; base-uri 'none'/,
      );
      assert.doesNotMatch(text, /<script|<img|<link|@import|url\(|\bon\w+="|style="/);
      const links = [...text.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, link]) => link);
      assert.deepEqual(links.filter((link) => !/^(#|\/openapi\.json$)/.test(link)), []);
    });
  });

  test("allows the style that it has, and no other", async () => {
    await withJob(async (app) => {
      const { headers, text } = await app.ask("GET", "/docs");
      const [, style] = /<style>([^]*)<\/style>/.exec(text)!;
      const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(style));
      const hash = btoa(String.fromCharCode(...new Uint8Array(digest)));
      assert.ok(headers.get("content-security-policy")!.includes(`'sha256-${hash}'`));
    });
  });

  test("has every operation, each with its right, and no link that leads nowhere", async () => {
    await withJob(async (app) => {
      const { text } = await app.ask("GET", "/docs");
      const parts = partsOf(text);
      const operations = await operationsOf(app);
      assert.deepEqual([...parts.keys()].sort(), operations.map((each) => each.operationId).sort());
      for (const { operationId, right } of ROUTES) {
        const wanted = right === "none" ? /Needs no token/ : new RegExp(`right ${right}\\.`);
        assert.match(read(parts.get(operationId)!), wanted, operationId);
      }
      const places = new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => `#${id}`));
      const links = [...text.matchAll(/href="(#[^"]+)"/g)].map(([, link]) => link);
      assert.deepEqual(links.filter((link) => !places.has(link)), []);
    });
  });

  test("has a line of curl for each that is a request as the operation takes it", async () => {
    await withJob(async (app) => {
      await app.ask("PUT", "/v1/jobs/orders");
      await app.ask("POST", "/v1/jobs/orders/writers/totals/changes", {
        body: '{"data":"one"}',
        type: "application/x-ndjson",
      });
      const written = await app.ask("POST", "/v1/jobs/orders/states/index", {
        body: "state",
        type: "application/octet-stream",
      });
      const states = { index: { written: written.json.uuid } };
      const { json: { uuid } } = await app.ask("POST", "/v1/jobs/orders/checkpoints", {
        json: { states },
      });
      const { text } = await app.ask("GET", "/docs");
      const parts = partsOf(text);
      for (const { operationId, responses } of await operationsOf(app)) {
        const line = read(/<pre>([^]*?)<\/pre>/.exec(parts.get(operationId)!)![1]);
        const response = await runCurl(app, line.replaceAll("$UUID", uuid));
        const answer = `${line}: ${response.status} ${await response.clone().text()}`;
        assert.ok(String(response.status) in responses, answer);
        // The job may be in no state for it, but the request is as it should be.
        const { code } = await response.json().catch(() => ({}));
        assert.notEqual(code, "invalid-request", answer);
        assert.notEqual(response.status, 415, answer);
      }
    }, { metrics: new PrometheusMetrics() });
  });

  test("escapes what stands in the document", async () => {
    const evil = `<script>alert(1)</script>"'&`;
    const operation = {
      operationId: evil,
      tags: [evil],
      summary: evil,
      description: `\`${evil}\``,
      parameters: [{ name: evil, in: evil, description: evil, schema: { enum: [evil] } }],
      requestBody: { content: { [evil]: { schema: { properties: { [evil]: { type: evil } } } } } },
      responses: { [evil]: { description: evil, headers: { [evil]: { description: evil } } } },
    };
    const { text } = await renderApiPage({
      info: { title: evil, version: evil, description: evil },
      tags: [{ name: evil, description: evil }],
      paths: { [`/${evil}`]: { get: operation } },
      components: { schemas: { [evil]: { const: evil, $ref: evil } } },
    });
    assert.doesNotMatch(text, /<script/);
    assert.ok(text.includes("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;"));
  });
});
