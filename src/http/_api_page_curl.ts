/** A line of curl for each operation. */
import type { Call, Content, Parameter, Schema } from "./_api_page_document.ts";

/** What stands for a parameter. */
const NAMES: Readonly<Record<string, string>> = {
  job: "orders",
  writer: "totals",
  state: "index",
  uuid: "$UUID",
  confirm: "orders",
};

/** JSON bodies that show more than what is required, by operation. */
const BODIES: Readonly<Record<string, unknown>> = {
  checkpoint: { identifier: "noon", metadata: { line: 2 } },
  resume: { at: "latest" },
  collect: { dryRun: true },
  explain: { key: "$UUID" },
  verify: { level: "quick" },
  salvage: { dryRun: true },
  pinCheckpoint: { reason: "before the move" },
  setRetention: { minCount: 2, maxAgeMs: 86_400_000 },
  beginWriter: { keyGroups: [0, 2147483647] },
};

/** The body of a media type that is no JSON, as words of curl. */
const OTHER_BODIES: Readonly<Record<string, string>> = {
  "application/x-ndjson": `-d '{"keyGroup":1,"data":"apples +3"}'`,
  "application/octet-stream": "--data-binary @index.bin",
  "application/x-tar": "--data-binary @orders.tar",
};

/** Files for answers that are no text. */
const FILES: Readonly<Record<string, string>> = {
  "application/octet-stream": "index.bin",
  "application/x-tar": "orders.tar",
};

/** The line; `$U` stands for the sidecar's address, `$UUID` for a checkpoint's uuid. */
export function curlOf({ method, path, operation }: Call): string {
  const { operationId, parameters = [], requestBody, responses } = operation;
  const body = bodyOf(operationId, requestBody?.content ?? {}, requestBody?.required ?? false);
  const implied = body === "" ? "GET" : "POST";
  const words = [
    "curl",
    method === implied ? "" : `-X ${method}`,
    addressOf(path, parameters),
    ...parameters.filter(isNeeded("header")).map((each) => `-H '${each.name}: ${exampleOf(each)}'`),
    body,
    fileOf(responses),
  ];
  return words.filter((word) => word !== "").join(" ");
}

function addressOf(path: string, parameters: readonly Parameter[]): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => NAMES[name] ?? name);
  const query = parameters.filter(isNeeded("query")).map((each) =>
    `${each.name}=${exampleOf(each)}`
  );
  return query.length === 0 ? `$U${filled}` : `"$U${filled}?${query.join("&")}"`;
}

function isNeeded(place: string): (parameter: Parameter) => boolean {
  return (parameter) => parameter.in === place && parameter.required === true;
}

function exampleOf({ name, schema = {} }: Parameter): string {
  return NAMES[name] ?? String(valueOf(schema));
}

function valueOf({ enum: values, const: value, type }: Schema): unknown {
  if (values !== undefined) return values[0];
  if (value !== undefined) return value;
  return type === "integer" || type === "number" ? 0 : "text";
}

function bodyOf(operationId: string, content: Content, isRequired: boolean): string {
  const other = Object.keys(content).find((type) => type in OTHER_BODIES);
  if (other !== undefined) return `-H 'content-type: ${other}' ${OTHER_BODIES[other]}`;
  const json = content["application/json"];
  if (json === undefined) return "";
  const body = BODIES[operationId] ?? (isRequired ? requiredOf(json.schema ?? {}) : undefined);
  if (body === undefined) return "";
  const text = JSON.stringify(body);
  // The shell puts in what stands for a uuid between double quotes alone.
  const quoted = text.includes("$") ? `"${text.replaceAll('"', '\\"')}"` : `'${text}'`;
  return `-H 'content-type: application/json' -d ${quoted}`;
}

function requiredOf({ properties = {}, required = [] }: Schema): Record<string, unknown> {
  return Object.fromEntries(required.map((name) => [name, valueOf(properties[name] ?? {})]));
}

function fileOf(responses: Call["operation"]["responses"]): string {
  const good = Object.entries(responses).find(([status]) => status.startsWith("2"));
  const [type = ""] = Object.keys(good?.[1].content ?? {});
  return type in FILES ? `-o ${FILES[type]}` : "";
}
