/**
 * The OpenAPI document, made of the routes. Loaded only when it is asked for: what makes it takes its time to load.
 */
import { Hono, type MiddlewareHandler } from "hono";
import { describeRoute, generateSpecs, resolver, validator } from "hono-openapi";
import type { OpenAPIV3_1 } from "openapi-types";
import * as v from "valibot";
import { VERSION } from "../engine/version.ts";
import { DEFINITIONS, problemOfStatus } from "./_answers.ts";
import type { BodyDeclaration, MediaType, ResponseDeclaration, Route } from "./_route.ts";
import { errorsOf } from "./_route_errors.ts";
import { CBOR, JSON_TYPE, PROBLEM_TYPE } from "./media_types.ts";

type Responses = NonNullable<Parameters<typeof describeRoute>[0]["responses"]>;
type Content = Record<
  string,
  { schema: ReturnType<typeof resolver> | { readonly description: string } }
>;

/**
 * How validators are turned into JSON Schema.
 *
 * @param definitions What may be referred to. All of them are turned along with each schema, so few are quick.
 */
function conversion(definitions: Readonly<Record<string, v.GenericSchema>>) {
  return {
    options: {
      target: "draft-2020-12",
      // What a client sends and gets, not what the sidecar makes of it.
      typeMode: "input",
      definitions,
      overrideRef: ({ referenceId }: { referenceId: string }) =>
        `#/components/schemas/${referenceId}`,
    },
  };
}

const OF_REQUESTS = conversion({});
const OF_ANSWERS = conversion(DEFINITIONS);
const OF_PROBLEMS = conversion({ Problem: DEFINITIONS.Problem });

const RETRY_AFTER = { "retry-after": "Seconds until it may be tried again" };

const TAGS = [
  { name: "jobs", description: "Create, list, describe, delete, resume" },
  { name: "writers", description: "Append, restore, persist, truncate, retire" },
  { name: "checkpoints", description: "Make, list, show, delete, give up, pin" },
  { name: "states", description: "State objects of checkpoints" },
  { name: "upkeep", description: "Collect, count, verify, salvage" },
  { name: "watch", description: "For whoever watches the sidecar" },
];

/** Describes the routes as OpenAPI 3.1. */
export async function describeRoutes(routes: readonly Route[]): Promise<unknown> {
  const app = new Hono();
  for (const route of routes) {
    app.on([route.method], [route.path], ...documentation(route), (context) => context.body(null));
  }
  return await generateSpecs(app, {
    documentation: {
      openapi: "3.1.0",
      info: {
        title: "Tidemark",
        version: VERSION,
        description: "Keeps the state of data pipelines safe: append, checkpoint, crash, restore.",
      },
      servers: [{ url: "/" }],
      tags: TAGS,
      components: {
        securitySchemes: {
          token: {
            type: "http",
            scheme: "bearer",
            description: "Needed where the sidecar was started with tokens",
          },
        },
      },
    },
    excludeStaticFile: false,
    // What a request that is not valid gets is declared like every other answer.
    defaultValidationErrorResponse: false,
  });
}

function documentation(route: Route): MiddlewareHandler[] {
  const { request, right } = route;
  const described = describeRoute({
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    description: [route.description, rightInWords(right)].filter(Boolean).join("\n\n"),
    // The empty one: a sidecar without tokens wants none.
    security: right === "none" ? [] : [{ token: [] }, {}],
    ...(request.body === undefined ? {} : { requestBody: requestBody(request.body) }),
    responses: responsesOf(route),
  });
  const parts = [["param", request.path], ["query", request.query], ["header", request.headers]];
  return [
    described,
    ...(parts as [["param", v.ObjectEntries]]).flatMap(([target, entries]) =>
      entries === undefined
        ? []
        : [validator(target, v.object(entries), undefined, OF_REQUESTS) as MiddlewareHandler]
    ),
  ];
}

function rightInWords(right: Route["right"]): string {
  return right === "none" ? "Needs no token." : `Needs the right \`${right}\`.`;
}

function requestBody({ json, content = {} }: BodyDeclaration) {
  if (json === undefined) return { required: true, content: contentOf(content, OF_REQUESTS) };
  const isRequired = !v.safeParse(json, {}).success;
  return {
    required: isRequired,
    content: { [JSON_TYPE]: { schema: resolver(json, OF_REQUESTS) } },
  };
}

/** What JSON Schema can't describe is told in words. */
function contentOf(
  content: Readonly<Record<string, MediaType>>,
  options: ReturnType<typeof conversion>,
): Content {
  return Object.fromEntries(
    Object.entries(content).map(([type, { description, schema }]) => [
      type,
      { schema: schema === undefined ? { description } : resolver(schema, options) },
    ]),
  );
}

function responsesOf(route: Route): Responses {
  const responses: Record<string, ReturnType<typeof success>> = {};
  for (const [status, codes] of errorsOf(route)) responses[status] = problem(status, codes);
  for (const [status, response] of Object.entries(route.responses)) {
    const other = responses[status];
    const given = success(response);
    responses[status] = other === undefined
      ? given
      : { ...given, content: { ...other.content, ...given.content } };
  }
  return responses;
}

function success({ description, json, content = {}, headers = {} }: ResponseDeclaration) {
  const schema = json === undefined ? undefined : resolver(json, OF_ANSWERS);
  const bodies: Content = schema === undefined
    ? {}
    : { [JSON_TYPE]: { schema }, [CBOR]: { schema } };
  return {
    description,
    headers: headersOf(headers),
    content: { ...bodies, ...contentOf(content, OF_ANSWERS) },
  };
}

function problem(status: number, codes: readonly string[]): ReturnType<typeof success> {
  const headers: Record<number, Record<string, string>> = {
    401: { "www-authenticate": "Which tokens are wanted" },
    503: RETRY_AFTER,
    507: RETRY_AFTER,
  };
  return {
    description: `Refused or failed: ${codes.join(", ")}`,
    headers: headersOf(headers[status] ?? {}),
    content: { [PROBLEM_TYPE]: { schema: resolver(problemOfStatus(status, codes), OF_PROBLEMS) } },
  };
}

function headersOf(headers: Readonly<Record<string, string>>) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [
      name,
      { description, schema: { type: "string" } } as OpenAPIV3_1.HeaderObject,
    ]),
  );
}
