/**
 * The OpenAPI document, as tests read it.
 * @module
 */
import { describeRoutes } from "../../src/http/_openapi_document.ts";
import { ROUTES } from "../../src/http/_routes.ts";
import type { Schema } from "./_json_schema.ts";

/** One parameter. */
export interface Parameter {
  readonly in: "path" | "query" | "header";
  readonly name: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

/** Bodies by media type. */
export type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

/** One answer. */
export interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, { readonly description: string }>>;
  readonly content: Content;
}

/** One operation, with where it is. */
export interface Operation {
  readonly path: string;
  readonly method: string;
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly security: readonly Record<string, readonly string[]>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, Response>>;
}

/** The document. */
export interface Document {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly securitySchemes: Readonly<Record<string, unknown>>;
  };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** Makes the document, as a client gets it. */
export async function readDocument(): Promise<Document> {
  return JSON.parse(JSON.stringify(await describeRoutes(ROUTES)));
}

/** Every operation of the document. */
export function operationsOf(document: Document): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      path,
      method: method.toUpperCase(),
    }))
  );
}

/** What a reference within the document names. */
export function resolverOf(document: Document): (ref: string) => Schema {
  return (ref) => {
    const schema = document.components.schemas[ref.replace("#/components/schemas/", "")];
    if (schema === undefined) throw new Error(`${ref} names nothing`);
    return schema;
  };
}
