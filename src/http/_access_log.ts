/** A log record of every request, once its answer has left. */
import type { MiddlewareHandler } from "hono";
import type { Clock } from "../engine/port/clock.ts";
import type { Logger } from "../engine/port/logger.ts";
import type { RouteRequest } from "./_route_request.ts";

/** What stands for a path that has no route. */
const NO_ROUTE = "none";

/** What a request carries through what stands before the routes. */
export interface Carried {
  readonly Variables: { asked: RouteRequest };
}

/** Tells the logger of every request: the route it took, and of the names in its path those that are valid. */
export function accessLog(logger: Logger, clock: Clock): MiddlewareHandler<Carried> {
  return async (context, next) => {
    const startMs = clock.monotonicMs();
    await next();
    const { req, res } = context;
    const { failure, place } = context.get("asked");
    const tell = (bytes: number, isWhole: boolean): void =>
      logger.log("info", "request", {
        ...place.checkedNames,
        method: req.method,
        path: place.pattern ?? NO_ROUTE,
        status: res.status,
        ms: Math.round((clock.monotonicMs() - startMs) * 10) / 10,
        bytes,
        ...failure === undefined ? {} : { code: failure.code },
        ...isWhole ? {} : { isWhole },
      });
    if (res.body === null) return tell(0, true);
    context.res = new Response(res.body.pipeThrough(counted(tell)), res);
  };
}

/** Counts what goes through, and tells how much it was at the end, or when nobody reads on. */
function counted(
  tell: (bytes: number, isWhole: boolean) => void,
): ReadableWritablePair<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let bytes = 0;
  const transformer: Transformer<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> & {
    cancel(): void;
  } = {
    transform(piece, controller) {
      bytes += piece.length;
      controller.enqueue(piece);
    },
    flush: () => tell(bytes, true),
    cancel: () => tell(bytes, false),
  };
  return new TransformStream(transformer, undefined, { highWaterMark: 0 });
}
