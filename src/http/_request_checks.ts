/** Checks parts of a request against what is declared. */
import * as v from "valibot";
import type { RouteRequest } from "./_route_request.ts";
import { JSON_TYPE } from "./media_types.ts";
import { RequestError } from "./problem.ts";

/** Largest JSON body; user metadata of a checkpoint is at most 64 KiB. */
const JSON_BYTES_MAX = 1024 * 1024;

/** Checks one part of a request. @throws {RequestError} 400 that names every wrong field */
export function check<Schema extends v.GenericSchema>(
  schema: Schema,
  what: string,
  value: unknown,
): v.InferOutput<Schema> {
  const result = v.safeParse(schema, value);
  if (result.success) return result.output;
  const fields = result.issues.map((issue) => ({
    field: v.getDotPath(issue) ?? "",
    reason: reasonOf(issue, schema),
  }));
  const reasons = fields.map(({ field, reason }) => `${field} ${reason}`.trim()).join("; ");
  throw new RequestError(400, `Cannot read the ${what}: ${reasons}`, { fields });
}

/** The library's words for kinds of values, in ours. */
const WORDS: Readonly<Record<string, string>> = {
  Object: "an object",
  Array: "a list",
  string: "a text",
  boolean: "true or false",
};

/** How much of a value is said again. */
const RECEIVED_LENGTH_MAX = 60;

function reasonOf(issue: v.BaseIssue<unknown>, schema: v.GenericSchema): string {
  if (issue.type === "strict_object" && issue.expected === "never") return "is not known";
  if (issue.type === "strict_object" && issue.received === "undefined") {
    const path = issue.path ?? [];
    return `is missing${path.length === 1 ? meaningOf(schema, String(path[0].key)) : ""}`;
  }
  // What a check says is ours; what the kind of a value says is the library's, with the value in it.
  if (issue.kind === "schema" && issue.expected !== null && issue.message.startsWith("Invalid ")) {
    const wanted = WORDS[issue.expected] ?? issue.expected.replaceAll('"', "");
    return `wants ${wanted}, found ${issue.received.slice(0, RECEIVED_LENGTH_MAX)}`;
  }
  return issue.message.charAt(0).toLowerCase() + issue.message.slice(1);
}

/** What is declared of a field, for whoever left it out. */
function meaningOf(schema: v.GenericSchema, field: string): string {
  const { entries = {} } = schema as { readonly entries?: v.ObjectEntries };
  const meaning = Object.hasOwn(entries, field)
    ? v.getDescription(entries[field] as v.GenericSchema)
    : undefined;
  return meaning === undefined ? "" : ` (${meaning})`;
}

/**
 * The query by name; undefined where there is none.
 *
 * @throws {RequestError} 400 when a name is there more than once
 */
export function readQuery(url: string): Readonly<Record<string, string>> | undefined {
  const from = url.indexOf("?");
  if (from < 0) return undefined;
  const to = url.indexOf("#", from);
  const values: Record<string, string> = Object.create(null);
  for (const [name, text] of new URLSearchParams(url.slice(from + 1, to < 0 ? undefined : to))) {
    if (name in values) {
      throw new RequestError(
        400,
        `Cannot read the query: ${name} is there more than once; send it once`,
      );
    }
    values[name] = text;
  }
  return values;
}

/** The JSON object in the body; an empty body is an empty object. */
export async function readJsonBody(
  request: RouteRequest,
  type: string,
  schema: v.GenericSchema,
): Promise<unknown> {
  const body = await request.body(JSON_BYTES_MAX);
  try {
    if (body.bytes.length === 0) return check(schema, "body", {});
    if (type !== JSON_TYPE) throw unsupportedMediaType(type, [JSON_TYPE]);
    return check(schema, "body", parseObject(body.bytes));
  } finally {
    body.release();
  }
}

/** The refusal of a media type. */
export function unsupportedMediaType(found: string, wanted: readonly string[]): RequestError {
  return new RequestError(
    415,
    `Cannot read a body of type ${found === "" ? "unknown" : found}: ` +
      `send content-type ${wanted.join(" or ")}`,
    { found, wanted },
    { "accept": wanted.join(", ") },
  );
}

/** What reads or writes JSON may recurse: what is nested deeper would end the stack. */
const JSON_DEPTH_MAX = 200;
const [QUOTE, BACKSLASH] = [0x22, 0x5c];
/** `[`, `{` and what closes them. */
const DEPTH_OF: ReadonlyMap<number, number> = new Map([[0x5b, 1], [0x7b, 1], [0x5d, -1], [
  0x7d,
  -1,
]]);

function refuseDeep(bytes: Uint8Array): void {
  let depth = 0;
  let isText = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (isText && byte === BACKSLASH) at += 1;
    else if (byte === QUOTE) isText = !isText;
    else if (!isText) depth += DEPTH_OF.get(byte) ?? 0;
    if (depth > JSON_DEPTH_MAX) {
      throw new RequestError(
        400,
        `Cannot read the body: it is nested deeper than ${JSON_DEPTH_MAX}, at byte ${at}`,
        { depthMax: JSON_DEPTH_MAX, position: at },
      );
    }
  }
}

function parseObject(bytes: Uint8Array): unknown {
  refuseDeep(bytes);
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new RequestError(400, `Cannot read the body as JSON: ${reason}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new RequestError(400, "Cannot read the body: wants a JSON object");
  }
  return value;
}
