import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Hono } from "hono";
import { Router } from "../../src/http/_router.ts";
import { ROUTES } from "../../src/http/_routes.ts";
import { SeededRandom } from "../doubles/seeded_random.ts";

const SEED = 20_261_130;
const REQUESTS = 4000;
const ORIGINS = ["http://127.0.0.1:7460", "https://side.car", "http://[::1]"];
const METHODS = ["GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS"];
const ODD = [
  "",
  ".",
  "..",
  "%2e%2e",
  "%2F",
  "a%2Fb",
  "%",
  "%zz",
  "%E4%BD%A0",
  "%FF",
  "a b",
  "%25",
  "\u{1F600}",
  ";x",
  "~",
];
const ENDS = ["", "", "", "/", "//", "?at=tail", "?a=/v1/jobs", "?", "#part", "?x#y", "%3Fa=b"];

/** What Hono's own app makes of the same requests. */
function honoApp(): Hono {
  const app = new Hono();
  for (const { method, path } of ROUTES) {
    app.on(
      method,
      path,
      (context) =>
        context.json({ pattern: path, path: context.req.path, names: context.req.param() }),
    );
  }
  return app;
}

/** A path of some route, or nearly. */
function pathFrom(random: SeededRandom): string {
  const parts = random.pick(ROUTES).path.split("/").map((part) => {
    if (random.chance(0.1)) return random.pick(ODD);
    return part.startsWith(":") ? random.pick([...ODD, "orders", "w0", "latest"]) : part;
  });
  if (random.chance(0.1)) parts.splice(random.below(parts.length), 1);
  return `${parts.join("/")}${random.pick(ENDS)}`;
}

describe("Router", () => {
  test(`finds what Hono's app would answer, again too (seed ${SEED})`, async () => {
    const random = new SeededRandom(SEED);
    const router = new Router(ROUTES);
    const app = honoApp();
    let found = 0;
    for (let i = 0; i < REQUESTS; i++) {
      const path = pathFrom(random);
      const url = `${random.pick(ORIGINS)}${path.startsWith("/") ? "" : "/"}${path}`;
      const request = new Request(url, { method: random.pick(METHODS) });
      const isHead = request.method === "HEAD";
      const answer = await app.fetch(isHead ? new Request(url) : request);
      const wanted = answer.status === 404 ? undefined : await answer.json();
      found += wanted === undefined ? 0 : 1;
      for (const place of [router.find(request), router.find(request)]) {
        if (wanted === undefined) {
          assert.equal(ROUTES.some((route) => route.answer === place.answer), false, url);
          continue;
        }
        const { pattern, names } = place;
        assert.deepEqual({ pattern, path: place.path, names }, wanted, `${request.method} ${url}`);
      }
    }
    assert.ok(found > REQUESTS / 10, `${found} of ${REQUESTS} had a route`);
  });

  test("remembers a place for every query, by its method", () => {
    const router = new Router(ROUTES);
    const find = (method: string, path: string) =>
      router.find(new Request(`${ORIGINS[0]}${path}`, { method }));
    const place = find("GET", "/v1/jobs/j?a=1");
    assert.equal(find("GET", "/v1/jobs/j"), place);
    assert.equal(find("HEAD", "/v1/jobs/j?b"), place);
    assert.notEqual(find("GET", "/v1/jobs/k"), place);
    assert.notEqual(find("PUT", "/v1/jobs/j"), place);
    assert.equal(find("PUT", "/v1/jobs/j").pattern, place.pattern);
  });

  test("reads a URL as the router does, whatever a server has put before its path", () => {
    const router = new Router(ROUTES);
    const find = (url: string, method = "GET") => router.find({ url, method } as Request);
    // As Deno has them where `Host` is odd, and Bun where there is none.
    const job = (
      name: string,
    ) => [`http://x?#/v1/jobs/${name}`, `/v1/jobs/none?:aaa/v1/jobs/${name}`];
    for (const name of ["mine", "others"]) {
      for (const url of job(name)) assert.equal(find(url).names.job, name, url);
    }
    for (const method of ["GET", "OPTIONS", "PATCH"]) {
      assert.equal(find("/x?yy", method).pattern, undefined, method);
    }
  });

  test("forgets places when there are many", () => {
    const router = new Router(ROUTES);
    const find = (job: string) => router.find(new Request(`${ORIGINS[0]}/v1/jobs/${job}`));
    const first = find("first");
    for (let i = 0; i < 1000; i++) find(`j${i}`);
    assert.notEqual(find("first"), first);
  });

  test("remembers nothing that is long, or has no route", () => {
    const router = new Router(ROUTES);
    for (const path of [`/v1/jobs/${"j".repeat(2000)}`, "/nowhere"]) {
      const request = new Request(`${ORIGINS[0]}${path}`);
      assert.notEqual(router.find(request), router.find(request), path);
    }
  });
});
