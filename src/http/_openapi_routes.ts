/** The description of all this for programs. */
import * as v from "valibot";
import { type Route, route } from "./_route.ts";
import type { RouteRequest } from "./_route_request.ts";
import { toJson } from "./json.ts";
import { HTML, JSON_TYPE } from "./media_types.ts";

/** Routes that describe the others. */
export const OPENAPI_ROUTES: readonly Route[] = [
  route({
    method: "GET",
    path: "/openapi.json",
    operationId: "openapi",
    tag: "watch",
    summary: "Describes all this as OpenAPI 3.1",
    right: "none",
    request: {},
    responses: {
      200: {
        description: "The document",
        content: {
          [JSON_TYPE]: {
            description: "OpenAPI 3.1",
            schema: v.record(v.string(), v.unknown()),
          },
        },
      },
    },
    errors: [],
    async handle(request) {
      const headers = { "content-type": JSON_TYPE, "cache-control": "no-store" };
      return new Response(await documentText(request), { headers });
    },
  }),
  route({
    method: "GET",
    path: "/docs",
    operationId: "apiPage",
    tag: "watch",
    summary: "Describes all this as a page for people",
    right: "none",
    request: {},
    responses: {
      200: {
        description: "The page",
        content: { [HTML]: { description: "HTML that asks nothing of any other place" } },
      },
    },
    errors: [],
    handle: apiPage,
  }),
];

/** Both are written once: whoever has no token may ask for them as often as he likes. */
function once<Made>(
  make: (request: RouteRequest) => Promise<Made>,
): (request: RouteRequest) => Promise<Made> {
  let made: Promise<Made> | undefined;
  return (request) =>
    made ??= make(request).catch((error) => {
      made = undefined;
      throw error;
    });
}

const documentText = once(async ({ services }) => `${toJson(await services.document())}\n`);

const page = once(async ({ services }) => {
  const { renderApiPage } = await import("./_api_page.ts");
  return await renderApiPage(await services.document());
});

async function apiPage(request: RouteRequest): Promise<Response> {
  const { text, contentSecurityPolicy } = await page(request);
  return new Response(text, {
    headers: {
      "content-type": `${HTML}; charset=utf-8`,
      "content-security-policy": contentSecurityPolicy,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    },
  });
}
