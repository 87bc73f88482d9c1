/** JSON Schemas as short types for people. */
import { html } from "hono/html";
import type { Schema } from "./_api_page_document.ts";

/** What `html` makes: text that is escaped already. */
export type Html = ReturnType<typeof html>;

const REF = /^#\/components\/schemas\/(.+)$/;

/** A type of one line, or of several where it is an object whose fields are named. */
export function typeOf(schema: Schema, depth = 0): Html {
  const { $ref, enum: values, const: value, anyOf, oneOf, allOf, items, prefixItems } = schema;
  if ($ref !== undefined) return linkTo($ref);
  if (values !== undefined) return joined(values.map((each) => literal(each)), " | ");
  if (value !== undefined) return literal(value);
  const choices = anyOf ?? oneOf;
  if (choices !== undefined) return joined(choices.map((each) => typeOf(each, depth)), " | ");
  if (allOf !== undefined) return joined(allOf.map((each) => typeOf(each, depth)), " & ");
  if (prefixItems !== undefined) {
    return html`[${joined(prefixItems.map((each) => typeOf(each, depth)), ", ")}]`;
  }
  if (items !== undefined) return html`${typeOf(items, depth)}[]`;
  if (schema.type === "array") return html`any[]`;
  if (schema.properties !== undefined) return fieldsOf(schema, depth);
  if (schema.type === "object") return mapOf(schema, depth);
  return named(schema);
}

function linkTo(ref: string): Html {
  const name = REF.exec(ref)?.[1] ?? ref;
  return html`<a href="#type-${name}">${name}</a>`;
}

function literal(value: unknown): Html {
  return html`<span class="v">${JSON.stringify(value)}</span>`;
}

function named({ type, format }: Schema): Html {
  const name = type === undefined ? "any" : [type].flat().join(" | ");
  return format === undefined ? html`${name}` : html`${name} <i>(${format})</i>`;
}

function mapOf({ additionalProperties }: Schema, depth: number): Html {
  const isTyped = typeof additionalProperties === "object" &&
    Object.keys(additionalProperties).length > 0;
  if (!isTyped) return html`object`;
  return html`{ [name]: ${typeOf(additionalProperties, depth)} }`;
}

/** Each field on a line of its own, with what is said of it. */
function fieldsOf({ properties = {}, required = [] }: Schema, depth: number): Html {
  const outer = "  ".repeat(depth);
  const lines = Object.entries(properties).map(([name, field]) => {
    const mark = required.includes(name) ? "" : "?";
    // deno-fmt-ignore -- spaces count within <pre>
    return html`${outer}  <b>${name}</b>${mark}: ${typeOf(field, depth + 1)}${remarkOf(field)}\n`;
  });
  // deno-fmt-ignore -- likewise
  return html`{\n${lines}${outer}}`;
}

function remarkOf({ description }: Schema): Html {
  if (description === undefined) return html``;
  // deno-fmt-ignore -- likewise
  return html`  <span class="c">${description}</span>`;
}

function joined(parts: readonly Html[], separator: string): Html {
  return html`${parts.map((part, index) => index === 0 ? part : html`${separator}${part}`)}`;
}
