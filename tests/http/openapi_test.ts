import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { VERSION } from "../../src/engine/version.ts";
import { ROUTES } from "../../src/http/_routes.ts";
import { withApp } from "./_app.ts";
import {
  type Document,
  type Operation,
  operationsOf,
  readDocument,
  resolverOf,
} from "./_document.ts";
import { findFaults, type Schema } from "./_json_schema.ts";

const document = await readDocument();
const operations = operationsOf(document);

function eachValue(value: unknown, visit: (key: string, value: unknown) => void): void {
  if (typeof value !== "object" || value === null) return;
  for (const [key, item] of Object.entries(value)) {
    visit(key, item);
    eachValue(item, visit);
  }
}

describe("/openapi.json", () => {
  test("is what the sidecar answers", () =>
    withApp(async (app) => {
      const answer = await app.ask("GET", "/openapi.json");
      assert.deepEqual([answer.status, answer.headers.get("content-type")], [
        200,
        "application/json",
      ]);
      assert.deepEqual(answer.json, document);
      assert.deepEqual([document.openapi, document.info.version], ["3.1.0", VERSION]);
    }));

  test("has every route, once", () => {
    const found = operations.map(({ method, path, operationId }) => [method, path, operationId]);
    const expected = ROUTES.map(({ method, path, operationId }) => [
      method,
      path.replaceAll(/:(\w+)/g, "{$1}"),
      operationId,
    ]);
    assert.deepEqual(found.sort(), expected.sort());
    assert.equal(new Set(operations.map(({ operationId }) => operationId)).size, ROUTES.length);
  });

  test("names nothing that is not there", () => {
    const refs: string[] = [];
    eachValue(document, (key, value) => key === "$ref" && refs.push(value as string));
    assert.ok(refs.length > 20);
    for (const ref of refs) assert.ok(resolverOf(document)(ref), ref);
    const used = new Set(refs.map((ref) => ref.split("/").at(-1)));
    assert.deepEqual(
      Object.keys(document.components.schemas).filter((name) => !used.has(name)),
      [],
    );
  });

  test("has schemas of which every keyword is known", () => {
    const schemas: Schema[] = Object.values(document.components.schemas);
    eachValue(document.paths, (key, value) => key === "schema" && schemas.push(value as Schema));
    assert.ok(schemas.length > 100);
    for (const schema of schemas) {
      const unknown = findFaults(schema, {}, resolverOf(document)).filter((fault) =>
        fault.endsWith("is not known") && fault.includes("keyword")
      );
      assert.deepEqual(unknown, []);
    }
  });
});

for (const operation of operations) {
  test(`${operation.method} ${operation.path} says all that a client needs`, () => {
    checkOperation(operation, document);
  });
}

function checkOperation(operation: Operation, { tags }: Document): void {
  const { path, parameters = [], requestBody, responses, security, summary } = operation;
  assert.ok(summary.length > 5 && operation.tags.every((tag) => tags.some((t) => t.name === tag)));
  assert.deepEqual(
    parameters.filter((one) => one.in === "path").map(({ name, required }) => [name, required]),
    [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, true]),
  );
  for (const { name, description = "", schema } of parameters) {
    assert.ok(description.length > 5 && schema !== undefined, name);
  }
  if (requestBody !== undefined) assert.ok(Object.keys(requestBody.content).length > 0);
  const isOpen = ["/healthz", "/readyz", "/openapi.json", "/docs"].includes(path);
  assert.deepEqual(security, isOpen ? [] : [{ token: [] }, {}]);
  for (const [status, { description, content, headers = {} }] of Object.entries(responses)) {
    assert.ok(description.length > 5, status);
    if (status === "503" || status === "507") assert.ok("retry-after" in headers, status);
    if (Number(status) < 400 || path === "/readyz") continue;
    const { schema } = content["application/problem+json"];
    assert.equal(schema?.allOf[1].properties.status.const, Number(status));
    assert.ok(schema?.allOf[1].properties.code.enum.length > 0);
  }
  assert.ok(Object.keys(responses).some((status) => Number(status) < 300));
  // Answers that stream are bounded, over all requests.
  const streams = ["application/x-ndjson", "application/octet-stream", "application/x-tar"];
  if (!streams.some((type) => type in (responses["200"]?.content ?? {}))) return;
  const { schema } = responses["503"].content["application/problem+json"];
  assert.ok(schema?.allOf[1].properties.code.enum.includes("backpressure"));
}
