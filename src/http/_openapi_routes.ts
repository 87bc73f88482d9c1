/** The description of all this for programs. */
import * as v from "valibot";
import { type Route, route } from "./_route.ts";
import { jsonResponse } from "./json.ts";

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
          "application/json": { description: "OpenAPI 3.1", schema: v.looseObject({}) },
        },
      },
    },
    errors: [],
    handle: async (request) => jsonResponse(await request.services.document()),
  }),
];
