/**
 * Requests that the OpenAPI document forbids: allowed ones, each broken in one place.
 * @module
 */
import type { SeededRandom } from "../doubles/seeded_random.ts";
import type { Operation, Parameter } from "./_document.ts";
import type { Draft } from "./_generated_requests.ts";
import { findFaults, type Resolve, type Schema } from "./_json_schema.ts";

/** Breaks a request; undefined where it has nothing to break in that way. */
type Break = (draft: Draft, operation: Operation, tools: Tools) => Draft | undefined;

interface Tools {
  readonly random: SeededRandom;
  readonly resolve: Resolve;
}

const VALUES: readonly unknown[] = [
  null,
  true,
  -1,
  1.5,
  1e300,
  "",
  "§",
  "x".repeat(200),
  "99999999999999999999",
  [],
  [{}],
  ["§"],
  {},
  { "§": 1 },
  { constructor: 1 },
];

const TEXTS = ["", " ", "§", "-1", "1.5", "1e3", "nope", "0x1", "9".repeat(20), "x".repeat(200)];
const NAMES = ["a b", ".x", "x.", "ä", "a/b", "a\\b", "..\u0000", "x".repeat(129), "%", "a:b", "*"];

/** A value that does not fit a schema; undefined where every one does. */
function misfit(schema: Schema, values: readonly unknown[], { random, resolve }: Tools): unknown {
  const bad = values.filter((value) => findFaults(schema, value, resolve).length > 0);
  return bad.length === 0 ? undefined : random.pick(bad);
}

/** Of a parameter: its text must not fit, nor what it means as a number. */
function misfitText({ schema }: Parameter, tools: Tools): string | undefined {
  const isNumber = schema.type === "integer";
  const texts = TEXTS.filter((text) => !isNumber || !/^[0-9]{1,16}$/.test(text));
  return misfit(isNumber ? { enum: [] } : schema, texts, tools) as string | undefined;
}

function parametersIn(place: Parameter["in"], { parameters = [] }: Operation): Parameter[] {
  return parameters.filter((parameter) => parameter.in === place);
}

function jsonSchema({ requestBody }: Operation): Schema | undefined {
  return requestBody?.content["application/json"]?.schema;
}

/** A body of JSON that is an object, with its schema. */
function withObject(draft: Draft, operation: Operation) {
  const schema = jsonSchema(operation);
  return schema?.type === "object"
    ? { schema, json: { ...draft.json as Record<string, unknown> } }
    : undefined;
}

function withJson(draft: Draft, json: unknown): Draft {
  return { ...draft, json, bytes: undefined, type: "application/json" };
}

function withBytes(draft: Draft, text: string | Uint8Array, type: string): Draft {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  return { ...draft, json: undefined, bytes, type };
}

/** What is no sequence or list of changes, by media type. */
const BAD_CHANGES: Readonly<Record<string, readonly (string | Uint8Array)[]>> = {
  "application/x-ndjson": [
    "{",
    "[]\n",
    '{"data":1}\n',
    '{"data":"a","more":1}\n',
    '{"keyGroup":-2,"data":""}\n',
  ],
  "application/json": ["{}", "[", "[,]", "[1]", '[{"data":"a"}] x', '[{"base64":"A"}]'],
  "application/cbor": [
    Uint8Array.of(0x80, 0x80),
    Uint8Array.of(0x9f),
    Uint8Array.of(0x9b, 255, 255, 255, 255, 255, 255, 255, 255),
    Uint8Array.of(0x81, 0x82, 0x00, 0x61, 0x61),
  ],
  "application/cbor-seq": [
    Uint8Array.of(0xa0),
    Uint8Array.of(0x82, 0x00),
    Uint8Array.of(0x82, 0x00, 0x5b, 255, 255, 255, 255, 255, 255, 255, 255),
    new Uint8Array(5000).fill(0x81),
  ],
};

/** Every way, by name. */
const BREAKS: Readonly<Record<string, Break>> = {
  "an unknown query": (draft, _, { random }) => ({
    ...draft,
    query: [...draft.query, [random.pick(["x", "At", "constructor", "__proto__", "ack[]"]), "1"]],
  }),
  "a query twice": (draft, operation, { random }) => {
    const parameters = parametersIn("query", operation);
    if (parameters.length === 0) return { ...draft, query: [["x", "1"], ["x", "1"]] };
    const { name } = random.pick(parameters);
    const [, text] = draft.query.find(([one]) => one === name) ?? [name, "1"];
    return {
      ...draft,
      query: [...draft.query.filter(([one]) => one !== name), [name, text], [name, text]],
    };
  },
  "a bad query": (draft, operation, tools) => {
    const parameters = parametersIn("query", operation).filter((one) =>
      misfitText(one, tools) !== undefined
    );
    if (parameters.length === 0) return undefined;
    const parameter = tools.random.pick(parameters);
    const rest = draft.query.filter(([name]) => name !== parameter.name);
    return { ...draft, query: [...rest, [parameter.name, misfitText(parameter, tools)!]] };
  },
  "a missing query": (draft, operation) => {
    const needed = parametersIn("query", operation).filter(({ required }) => required);
    return needed.length === 0 ? undefined : { ...draft, query: [] };
  },
  "a bad header": (draft, operation, tools) => {
    const parameters = parametersIn("header", operation);
    if (parameters.length === 0) return undefined;
    const parameter = tools.random.pick(parameters);
    const text = parameter.schema.type === "integer"
      ? tools.random.pick(["x", "-1", "1.5", "0x1", "1 2", "9".repeat(20), ""])
      : tools.random.pick(["", "x".repeat(129)]);
    return { ...draft, headers: { ...draft.headers, [parameter.name]: text } };
  },
  "a bad name in the path": (draft, operation, { random }) => {
    const names = parametersIn("path", operation);
    if (names.length === 0) return undefined;
    return { ...draft, path: { ...draft.path, [random.pick(names).name]: random.pick(NAMES) } };
  },
  "a type that is not answered": (draft, _, { random }) => {
    const accept = random.pick([
      "image/png",
      "*/*;q=0",
      "audio/*, image/*;q=0.5",
      "application/xml",
    ]);
    return { ...draft, headers: { ...draft.headers, accept } };
  },
  "a page of another origin": (draft, _, { random }) => {
    const origin = random.pick(["null", "http://evil.example", "https://127.0.0.1:7460"]);
    return { ...draft, headers: { ...draft.headers, origin } };
  },
  "a body of another type": (draft, { requestBody }, { random }) => {
    if (requestBody === undefined) return undefined;
    const type = random.pick(["text/plain", "application/x-www-form-urlencoded", "json", ""]);
    return withBytes(draft, "{}", type);
  },
  "a body of another encoding": (draft, { requestBody }, { random }) => {
    if (requestBody === undefined) return undefined;
    const [type] = Object.keys(requestBody.content);
    const headers = {
      ...draft.headers,
      "content-encoding": random.pick(["br", "zstd", "gzip, br"]),
    };
    return { ...withBytes(draft, "{}", type), headers };
  },
  "a body that is not what its encoding says": (draft, { requestBody }) => {
    if (requestBody === undefined) return undefined;
    const [type] = Object.keys(requestBody.content);
    const headers = { ...draft.headers, "content-encoding": "gzip" };
    return { ...withBytes(draft, "{}", type), headers };
  },
  "JSON that is none": (draft, operation, { random }) => {
    if (jsonSchema(operation)?.type !== "object") return undefined;
    const text = random.pick<string | Uint8Array>([
      "{",
      "[1,",
      "nul",
      "{}x",
      "{'a':1}",
      Uint8Array.of(0x7b, 0xff, 0x7d),
    ]);
    return withBytes(draft, text, "application/json");
  },
  "JSON that is no object": (draft, operation, { random }) =>
    jsonSchema(operation)?.type === "object"
      ? withJson(draft, random.pick<unknown>([[], 1, null, "text", [{}]]))
      : undefined,
  "an unknown field": (draft, operation, { random }) => {
    const found = withObject(draft, operation);
    const name = random.pick(["x", "Uuid", "constructor", "toString", "dryrun"]);
    return found && withJson(draft, { ...found.json, [name]: 1 });
  },
  "a bad field": (draft, operation, tools) => {
    const found = withObject(draft, operation);
    if (found === undefined) return undefined;
    const fields = Object.entries<Schema>(found.schema.properties)
      .filter(([, schema]) => misfit(schema, VALUES, tools) !== undefined);
    if (fields.length === 0) return undefined;
    const [name, schema] = tools.random.pick(fields);
    return withJson(draft, { ...found.json, [name]: misfit(schema, VALUES, tools) });
  },
  "a missing field": (draft, operation, { random }) => {
    const found = withObject(draft, operation);
    const needed: string[] = found?.schema.required ?? [];
    if (found === undefined || needed.length === 0) return undefined;
    delete found.json[random.pick(needed)];
    return withJson(draft, found.json);
  },
  "changes that are none": (draft, { operationId }, { random }) => {
    if (operationId !== "append") return undefined;
    const type = random.pick(Object.keys(BAD_CHANGES));
    return withBytes(draft, random.pick(BAD_CHANGES[type]), type);
  },
  "a body that is too large": (draft, { requestBody }) => {
    const [type] = Object.keys(requestBody?.content ?? {});
    if (type === undefined || requestBody?.content["application/json"] === undefined) {
      return undefined;
    }
    return withBytes(draft, " ".repeat(BODY_BYTES_MAX + 1), type);
  },
};

/** Largest body of the app that is asked. */
export const BODY_BYTES_MAX = 64 * 1024;

/** Names of all ways to break a request. */
export const WAYS: readonly string[] = Object.keys(BREAKS);

/** Breaks a request in that way; undefined where it can't be. */
export function breakRequest(
  way: string,
  draft: Draft,
  operation: Operation,
  tools: Tools,
): Draft | undefined {
  return BREAKS[way](draft, operation, tools);
}
