/**
 * The API as a page for people, made of the OpenAPI document alone: one answer, no script, nothing of another host.
 */
import { html, raw } from "hono/html";
import {
  type ApiDocument,
  type ApiResponse,
  type Call,
  callsOf,
  type Content,
  type Parameter,
} from "./_api_page_document.ts";
import { curlOf } from "./_api_page_curl.ts";
import { type Html, typeOf } from "./_api_page_schema.ts";
import { STYLE } from "./_api_page_style.ts";
import { ERROR_GUIDE } from "./error_guide.ts";
import { PROBLEM_TYPE } from "./media_types.ts";

/** The page, and what a browser is to allow it: its own style and nothing else. */
export interface ApiPage {
  readonly text: string;
  readonly contentSecurityPolicy: string;
}

/** Renders the page. Whatever stands in the document is escaped. */
export async function renderApiPage(document: unknown): Promise<ApiPage> {
  const page = pageOf(document as ApiDocument);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(STYLE));
  const hash = btoa(String.fromCharCode(...new Uint8Array(digest)));
  const contentSecurityPolicy = `default-src 'none'; style-src 'sha256-${hash}'; ` +
    `base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
  return { text: String(await page), contentSecurityPolicy };
}

function pageOf(document: ApiDocument): Html {
  const { info, components = {} } = document;
  const groups = groupsOf(document);
  return html`
    <!DOCTYPE html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>${info.title} ${info.version}: API</title>
        <style>${raw(STYLE)}</style>
      </head>
      <body>
        <div class="layout">
          <nav aria-label="Operations">${groups.map(navigationOf)}</nav>
          <main>
    <h1>${info.title} <small>${info.version}</small></h1>
    <p>${info.description} The same for programs: <a href="/openapi.json">/openapi.json</a>.</p>
    ${INTRODUCTION}
    ${groups.map(groupOf)}
    ${typesOf(components.schemas ?? {})}
    ${errorsPart()}
          </main>
        </div>
      </body>
    </html>
  `;
}

const INTRODUCTION = html`
  <p>In the examples <code>$U</code> is the address of the sidecar,
  <code>U=http://127.0.0.1:7460</code> unless it was told another, and <code>$UUID</code> that of a
  checkpoint. Where the sidecar was started with tokens, every call but those that need none
  carries it: <code>-H "authorization: Bearer $TOKEN"</code>.</p>
  <p>A field or parameter with <code>?</code> may be left out. Errors have one shape, and
  <a href="#errors">each code its meaning</a>.</p>
`;

interface Group {
  readonly name: string;
  readonly description: string;
  readonly calls: readonly Call[];
}

function groupsOf(document: ApiDocument): Group[] {
  const calls = callsOf(document);
  const tagOf = ({ operation }: Call) => operation.tags?.[0] ?? "others";
  const listed = document.tags ?? [];
  const names = new Set([...listed.map(({ name }) => name), ...calls.map(tagOf)]);
  return [...names].map((name) => ({
    name,
    description: listed.find((tag) => tag.name === name)?.description ?? "",
    calls: calls.filter((call) => tagOf(call) === name),
  })).filter(({ calls }) => calls.length > 0);
}

function navigationOf({ name, calls }: Group): Html {
  const lines = calls.map(({ method, operation }) =>
    html`
      <li><a href="#${operation.operationId}"><span class="method ${method}">${method}</span>
      ${operation.operationId}</a></li>
    `
  );
  return html`
    <strong>${name}</strong><ul>${lines}</ul>
  `;
}

function groupOf({ name, description, calls }: Group): Html {
  return html`<h2 id="group-${name}">${name} <small>${description}</small></h2>
${calls.map(callOf)}`;
}

function callOf(call: Call): Html {
  const { method, path, operation } = call;
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
  return html`
    <section class="call" id="${operationId}">
    <h3><span class="method ${method}">${method}</span> <a class="path" href="#${operationId}">${path}</a></h3>
    <p>${withCode(summary ?? "")}. ${withCode(description ?? "")}</p>
    <pre>${curlOf(call)}</pre>
    ${parameters.length === 0 ? "" : parametersOf(parameters)}
    ${requestBody === undefined ? "" : bodyOf(requestBody.content, requestBody.required ?? false)}
    ${Object.entries(responses).map(([status, response]) => answerOf(status, response))}
    ${refusalsOf(responses)}
    </section>
  `;
}

/** Text in which code stands between backticks. */
function withCode(text: string): Html {
  const parts = text.split("`");
  return html`${parts.map((part, index) => index % 2 === 0 ? part : html`<code>${part}</code>`)}`;
}

function parametersOf(parameters: readonly Parameter[]): Html {
  const rows = parameters.map(({ name, in: place, required, description = "", schema = {} }) =>
    html`
      <tr>
        <td><code>${name}</code>${required ? "" : "?"} <small>${place}</small></td>
        <td>${typeOf(schema)}</td>
        <td>${withCode(description)}</td>
      </tr>
    `
  );
  return html`
    <h4>Parameters</h4>
    <table>
      <thead>
        <tr>
          <th>name</th>
          <th>type</th>
          <th>meaning</th>
        </tr>
      </thead>
      <tbody>${rows}</tbody>
    </table>
  `;
}

function bodyOf(content: Content, isRequired: boolean): Html {
  return html`<h4>Body${isRequired ? "" : " (may be empty)"}</h4>
${contentOf(content)}`;
}

/** Media types that hold the same are named together. */
function contentOf(content: Content): Html {
  const types = new Map<string, { names: string[]; schema: Content[string]["schema"] }>();
  for (const [name, { schema }] of Object.entries(content)) {
    const key = JSON.stringify(schema) ?? "";
    const found = types.get(key);
    if (found === undefined) types.set(key, { names: [name], schema });
    else found.names.push(name);
  }
  const parts = [...types.values()].map(({ names, schema }) => {
    const named = names.map((name, index) =>
      html`${index === 0 ? "" : " or "}<code>${name}</code>`
    );
    if (schema === undefined || Object.keys(schema).length === 0) return html`<p>${named}</p>`;
    const type = typeOf(schema);
    if (schema.$ref !== undefined) return html`<p>${named}: <code>${type}</code></p>`;
    return html`
      <p>${named}</p>
      <pre>${type}</pre>
    `;
  });
  return html`${parts}`;
}

/** Nothing for an answer that is a problem: those are told together. */
function answerOf(
  status: string,
  { description = "", content = {}, headers = {} }: ApiResponse,
): Html {
  if (PROBLEM_TYPE in content) return html``;
  const told = Object.entries(headers).map(([name, header]) =>
    html`
      <p>Header <code>${name}</code>: ${header.description ?? ""}</p>
    `
  );
  return html`<h4>${status}: ${description}</h4>
${contentOf(content)}${told}`;
}

function codesOf({ content = {} }: ApiResponse): readonly string[] {
  const { schema = {} } = content[PROBLEM_TYPE] ?? {};
  const codes = [schema, ...(schema.allOf ?? [])].map(({ properties }) => properties?.code?.enum);
  return codes.flatMap((found) => (found ?? []).map(String));
}

function refusalsOf(responses: Readonly<Record<string, ApiResponse>>): Html {
  const refused = Object.entries(responses).filter(([, { content = {} }]) =>
    PROBLEM_TYPE in content
  );
  const parts = refused.map(([status, response]) => {
    const codes = codesOf(response).map((code, index) =>
      html`${index === 0 ? " " : ", "}<a href="#error-${code}">${code}</a>`
    );
    return html`
      <span><b>${status}</b>${codes}</span>
    `;
  });
  return parts.length === 0 ? html`` : html`
    <h4>Errors</h4>
    <p class="errors">${parts}</p>
  `;
}

function typesOf(schemas: NonNullable<ApiDocument["components"]>["schemas"] & object): Html {
  const parts = Object.entries(schemas).map(([name, schema]) =>
    html`
      <div id="type-${name}">
        <h4>${name}</h4>
        <pre>${typeOf(schema)}</pre>
      </div>
    `
  );
  return html`<h2 id="types">types <small>What answers hold</small></h2>
${parts}`;
}

function errorsPart(): Html {
  const rows = Object.entries(ERROR_GUIDE).map(([code, { title, nextStep }]) =>
    html`
      <tr id="error-${code}">
        <td><code>${code}</code></td>
        <td>${title}</td>
        <td>${nextStep}</td>
      </tr>
    `
  );
  return html`
    <h2 id="errors">errors <small>What went wrong, and what to do</small></h2>
    <p>An error is <code>${PROBLEM_TYPE}</code>, a <a href="#type-Problem">Problem</a>: its
    <code>detail</code> says what was wrong, <code>code</code> is for programs, <code>outcome</code>
    whether anything took effect, <code>nextStep</code> what to do.</p>
    <table>
      <thead>
        <tr>
          <th>code</th>
          <th>what happened</th>
          <th>what to do</th>
        </tr>
      </thead>
      <tbody>${rows}</tbody>
    </table>
  `;
}
