import assert from "node:assert/strict";
import { decode } from "cborg";
import { test } from "node:test";
import { createApp, PrometheusMetrics } from "../../src/http/mod.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { SeededRandom } from "../doubles/seeded_random.ts";
import { type AskOptions, TestApp } from "./_app.ts";
import { BODY_BYTES_MAX, breakRequest, WAYS } from "./_broken_requests.ts";
import { type Operation, operationsOf, readDocument, resolverOf } from "./_document.ts";
import { type Draft, type Facts, RequestGenerator } from "./_generated_requests.ts";
import { findFaults, type Schema } from "./_json_schema.ts";

/** Of every operation at least. */
const REQUESTS = 20;
const SEED = 20_261_130;

const document = await readDocument();
const resolve = resolverOf(document);

/** Does not wait for the disk: a checkpoint does. */
async function append(app: TestApp, body: string): Promise<void> {
  const changes = "/v1/jobs/j/writers/w/changes?ack=buffered";
  await app.ask("POST", changes, { body, type: "application/x-ndjson" });
}

/** A job with whatever can be named. */
async function furnish(app: TestApp): Promise<Facts> {
  await app.ask("PUT", "/v1/jobs/j");
  await append(app, '{"data":"one"}\n{"keyGroup":7,"base64":"//8="}\n');
  const bytes = { body: "state", type: "application/octet-stream" };
  const { json: state } = await app.ask("POST", "/v1/jobs/j/states/s", bytes);
  const uuids: string[] = [];
  for (const states of [{ s: { written: state.uuid } }, { s: { from: "latest" } }]) {
    const { json } = await app.ask("POST", "/v1/jobs/j/checkpoints", { json: { states } });
    uuids.push(json.uuid);
    await append(app, '{"data":"more"}\n');
  }
  const archive = await app.ask("GET", "/v1/jobs/j/archive");
  const names = { job: "j", writer: "w", state: "s", uuid: uuids[0] };
  return { names, uuids, archive: archive.bytes };
}

/** What there is, as far as it can be asked for. */
async function snapshot(app: TestApp): Promise<unknown> {
  const paths = [
    "/v1/jobs",
    "/v1/jobs/j",
    "/v1/jobs/j/checkpoints?unpublished=true",
    "/v1/jobs/j/usage",
  ];
  const answers = [];
  for (const path of paths) answers.push((await app.ask("GET", path)).json);
  return answers;
}

async function send(app: TestApp, { method, path }: Operation, draft: Draft) {
  const place = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(draft.path[name]));
  const query = draft.query.map((pair) => pair.map(encodeURIComponent).join("="));
  const options: AskOptions = {
    body: draft.json === undefined ? draft.bytes : JSON.stringify(draft.json),
    headers: {
      ...draft.headers,
      ...(draft.type === undefined ? {} : { "content-type": draft.type }),
    },
  };
  return await app.ask(method, query.length === 0 ? place : `${place}?${query.join("&")}`, options);
}

type Answer = Awaited<ReturnType<typeof send>>;

/** What of an answer the document does not declare. */
function undeclared({ responses }: Operation, { status, headers, bytes, text }: Answer): string[] {
  const declared = responses[status];
  if (declared === undefined) return [`status ${status} is not declared`];
  const type = (headers.get("content-type") ?? "").split(";")[0];
  if (!(type in declared.content)) return [`${type} is not declared for status ${status}`];
  const missing = Object.keys(declared.headers ?? {}).filter((name) => !headers.has(name));
  const faults = valuesOf(declared.content[type].schema ?? {}, type, { bytes, text })
    .flatMap(([schema, value]) => findFaults(schema, value, resolve, true));
  return [...missing.map((name) => `header ${name} is missing`), ...faults];
}

/** What a body holds, each value with its schema; nothing where it is only bytes or text. */
function valuesOf(
  schema: Schema,
  type: string,
  { bytes, text }: Pick<Answer, "bytes" | "text">,
): [schema: Schema, value: unknown][] {
  if (/[/+]json$/.test(type)) return [[schema, JSON.parse(text)]];
  if (type === "application/cbor") return [[schema, decode(bytes)]];
  if (type !== "application/x-ndjson") return [];
  const { Change, Restored } = document.components.schemas;
  const trailer = {
    type: "object",
    required: ["end"],
    properties: { end: Restored.properties.end },
  };
  const lines = linesOf(text).map((line) => JSON.parse(line));
  return lines.map((line, index) => [index === lines.length - 1 ? trailer : Change, line]);
}

function linesOf(text: string): string[] {
  return text.split("\n").slice(0, -1);
}

function show(draft: Draft): string {
  const { bytes, ...rest } = draft;
  const body = bytes === undefined
    ? ""
    : ` ${new TextDecoder("latin1").decode(bytes.subarray(0, 80))}`;
  return JSON.stringify(rest).slice(0, 600) + body;
}

function tellOf(seed: number, draft: Draft, { status, text }: Answer): string {
  return `seed ${seed}, ${show(draft)}: ${status} ${text.slice(0, 600)}`;
}

async function withFurnished(
  seed: number,
  use: (app: TestApp, generator: RequestGenerator, random: SeededRandom) => Promise<void>,
): Promise<void> {
  const metrics = new PrometheusMetrics();
  await using store = await openStore("memory:", { metrics });
  const app = new TestApp(store, createApp(store, { metrics, bodyBytesMax: BODY_BYTES_MAX }));
  const random = new SeededRandom(seed);
  const generator = new RequestGenerator(random, resolve, await furnish(app));
  await use(app, generator, random);
}

for (const [index, operation] of operationsOf(document).entries()) {
  const { operationId, method, path } = operation;
  const seed = SEED + index;

  test(`${method} ${path} answers what is allowed as it declares (seed ${seed})`, async () => {
    let good = 0;
    // Whoever deletes the job finds it there each time.
    const perStore = operationId === "deleteJob" ? 4 : REQUESTS;
    for (let sent = 0; sent < REQUESTS; sent += perStore) {
      await withFurnished(seed + sent, async (app, generator) => {
        for (let count = 0; count < perStore; count++) {
          const draft = generator.request(operation, count === 0);
          const answer = await send(app, operation, draft);
          const told = tellOf(seed, draft, answer);
          assert.deepEqual(undeclared(operation, answer), [], told);
          assert.ok(!["invalid-request", "internal"].includes(answer.json?.code), told);
          if (answer.status < 300) good++;
        }
      });
    }
    assert.ok(good > 0, `${operationId}: no request did anything (seed ${seed})`);
  });

  test(`${method} ${path} refuses what is forbidden, and changes nothing (seed ${seed})`, () =>
    withFurnished(seed, async (app, generator, random) => {
      const before = await snapshot(app);
      let sent = 0;
      for (let round = 0; sent < REQUESTS; round++) {
        for (const way of WAYS) {
          const allowed = generator.request(operation, random.chance(0.3));
          const draft = breakRequest(way, allowed, operation, { random, resolve });
          if (draft === undefined) continue;
          sent++;
          const answer = await send(app, operation, draft);
          const told = `${way}: ${tellOf(seed, draft, answer)}`;
          assert.ok(answer.status >= 400 && answer.status < 500, told);
          assert.equal(answer.headers.get("content-type"), "application/problem+json", told);
          assert.deepEqual(undeclared(operation, answer), [], told);
        }
        assert.ok(round < REQUESTS);
      }
      assert.deepEqual(await snapshot(app), before, `seed ${seed}`);
    }));
}
