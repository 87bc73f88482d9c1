/**
 * An app over a store in memory, and requests to it.
 * @module
 */
import { createApp, type HttpApp, type HttpAppOptions } from "../../src/http/mod.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import type { Store } from "../../src/engine/types.ts";

const ORIGIN = "http://127.0.0.1:7460";

/** An answer, read whole. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  readonly text: string;
  /** The body as JSON. */
  // deno-lint-ignore no-explicit-any
  readonly json: any;
}

/** What a request carries. */
export interface AskOptions {
  /** Sent as JSON. */
  json?: unknown;
  body?: string | Uint8Array | ReadableStream<Uint8Array>;
  type?: string;
  headers?: Record<string, string>;
}

/** An app, asked in process. */
export class TestApp {
  constructor(readonly store: Store, readonly app: HttpApp) {}

  /** Asks; answers the response as it is. */
  send(method: string, path: string, options: AskOptions = {}): Promise<Response> {
    const { json, type } = options;
    const body = json === undefined ? options.body : JSON.stringify(json);
    const headers = new Headers(options.headers);
    const contentType = type ?? (json === undefined ? undefined : "application/json");
    if (contentType !== undefined) headers.set("content-type", contentType);
    const init = { method, headers, body, duplex: "half" } as RequestInit;
    return this.app.fetch(new Request(`${ORIGIN}${path}`, init));
  }

  /** Asks, and reads the answer whole. */
  async ask(method: string, path: string, options: AskOptions = {}): Promise<Answer> {
    const response = await this.send(method, path, options);
    const bytes = new Uint8Array(await response.arrayBuffer());
    const text = new TextDecoder().decode(bytes);
    const isJson = /[/+]json$/.test(response.headers.get("content-type") ?? "");
    const json = isJson && text !== "" ? JSON.parse(text) : undefined;
    return { status: response.status, headers: response.headers, bytes, text, json };
  }

  /** Appends lines of NDJSON to writer `w` of job `j`. */
  append(lines: readonly unknown[], headers: Record<string, string> = {}): Promise<Answer> {
    return this.ask("POST", "/v1/jobs/j/writers/w/changes", {
      body: lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
      type: "application/x-ndjson",
      headers,
    });
  }
}

/** Runs `use` with an app over a new store in memory. */
export async function withApp(
  use: (app: TestApp) => Promise<void>,
  options: HttpAppOptions = {},
): Promise<void> {
  await using store = await openStore("memory:");
  await use(new TestApp(store, createApp(store, options)));
}

/** Runs `use` with an app that has the job `j`. */
export async function withJob(
  use: (app: TestApp) => Promise<void>,
  options: HttpAppOptions = {},
): Promise<void> {
  await withApp(async (app) => {
    await app.ask("PUT", "/v1/jobs/j");
    await use(app);
  }, options);
}
