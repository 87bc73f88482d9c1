/**
 * A `fetch` to a sidecar in this process that loses, cuts, refuses and holds what a test wants.
 * @module
 */
import { TidemarkError } from "../../src/engine/errors.ts";
import type { HttpApp } from "../../src/http/mod.ts";
import { problemResponse } from "../../src/http/problem.ts";

/** What becomes of one request. */
export type Fate =
  | "answered"
  /** Nothing of it arrives. */
  | "lost-before"
  /** It is done, and its answer is lost. */
  | "lost-after"
  /** The answer's body ends too early, with an error. */
  | "cut"
  /** The answer's body just ends too early. */
  | "short"
  /** 503 with `Retry-After`. */
  | "refused"
  /** An answer to an append that says something else than what is so. */
  | "wrong"
  /** 502 of something between. */
  | "bad-gateway"
  /** No answer ever comes, until it is given up. */
  | "silent";

/** A request as a test sees it. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  /** Its number, from 0. */
  readonly index: number;
}

/** Stands between a client and a sidecar. */
export class LossyFetch {
  readonly sent: Sent[] = [];
  readonly #app: HttpApp;
  /** Says what becomes of a request. */
  fate: (sent: Sent) => Fate;
  /** How many bytes of a body come through, where it is cut. */
  cutAt: (length: number) => number = (length) => Math.floor(length / 2);
  #held: { isWanted: (sent: Sent) => boolean; reached: () => void; released: Promise<void> }[] = [];

  constructor(app: HttpApp, fate: (sent: Sent) => Fate = () => "answered") {
    this.#app = app;
    this.fate = fate;
  }

  /** The `fetch` of a client. */
  readonly fetch = async (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url);
    const { method, headers } = request;
    const sent = { method, path: `${pathname}${search}`, headers, index: this.sent.length };
    this.sent.push(sent);
    const held = this.#held.findIndex(({ isWanted }) => isWanted(sent));
    if (held >= 0) {
      const [{ reached, released }] = this.#held.splice(held, 1);
      reached();
      await released;
    }
    return await this.#answer(request, this.fate(sent));
  };

  /** The paths that were asked for, with their method. */
  get paths(): string[] {
    return this.sent.map(({ method, path }) => `${method} ${path}`);
  }

  /** Holds the next request that is wanted before it arrives, until it is released. */
  hold(isWanted: (sent: Sent) => boolean): { reached: Promise<void>; release: () => void } {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => release = resolve);
    const reached = new Promise<void>((resolve) =>
      this.#held.push({ isWanted, reached: resolve, released })
    );
    return { reached, release };
  }

  async #answer(request: Request, fate: Fate): Promise<Response> {
    if (fate === "lost-before") throw new TypeError("connection refused");
    if (fate === "silent") {
      return await new Promise((_, reject) =>
        request.signal.addEventListener("abort", () => reject(request.signal.reason))
      );
    }
    if (fate === "refused") {
      await request.body?.cancel();
      return problemResponse(new TidemarkError("backpressure", "Cannot take it now"));
    }
    if (fate === "bad-gateway") return new Response("<html>", { status: 502 });
    const answer = await this.#app.fetch(request);
    if (fate === "answered") return answer;
    if (fate === "wrong") {
      const { nextOffset, ...others } = await answer.json();
      return Response.json({ ...others, nextOffset: nextOffset + 1 });
    }
    if (fate === "lost-after") {
      await answer.body?.cancel();
      throw new TypeError("connection reset");
    }
    const whole = new Uint8Array(await answer.arrayBuffer());
    const part = whole.subarray(0, this.cutAt(whole.length));
    const body = fate === "short" ? part : cutStream(part);
    return new Response(body, { status: answer.status, headers: answer.headers });
  }
}

function cutStream(part: Uint8Array): ReadableStream<Uint8Array> {
  let isGiven = false;
  return new ReadableStream({
    pull(controller) {
      if (isGiven) controller.error(new TypeError("connection reset"));
      else controller.enqueue(part);
      isGiven = true;
    },
  }, { highWaterMark: 0 });
}
