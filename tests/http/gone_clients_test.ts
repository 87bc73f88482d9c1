import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Job, Store } from "../../src/engine/types.ts";
import { createApp } from "../../src/http/mod.ts";
import { serveHttp } from "../../src/runtime/http_server.ts";
import { RecordingLogger } from "../doubles/recording_logger.ts";
import { jobWith, storeWith } from "./_failing_store.ts";

const UUID = "01a22a92-1ae8-748b-b347-2026a263a87f";
const JOB = "/v1/jobs/j";
const WRITER = `${JOB}/writers/w`;
const AT = `${JOB}/checkpoints/${UUID}`;

/** Whatever waits, and ends with its client; an append does not: what it brought is made durable all the same. */
const WAITS: readonly (readonly [method: string, path: string, body?: string, type?: string])[] = [
  ["DELETE", `${JOB}?confirm=j`],
  ["PUT", JOB, '{"retention":{"minCount":2}}'],
  ["PUT", `${JOB}/retention`, '{"minCount":2}'],
  ["POST", `${JOB}/resume`],
  ["POST", `${JOB}/checkpoints`],
  ["DELETE", AT],
  ["PUT", `${AT}/pin`],
  ["DELETE", `${AT}/pin`],
  ["POST", `${JOB}/gc`],
  ["POST", `${JOB}/explain`, '{"key":"k"}'],
  ["GET", `${JOB}/usage`],
  ["POST", `${JOB}/verify`],
  ["POST", `${JOB}/salvage`],
  ["GET", `${WRITER}/changes`],
  ["POST", `${WRITER}/persist`],
  ["POST", `${JOB}/states/s`, "bytes", "application/octet-stream"],
  ["GET", `${AT}/states/s`],
];

/** Work that goes on until its signal is set off; `begun` settles when it waits. */
class EndlessWork {
  #begin = (): void => {};
  #end = (): void => {};
  readonly begun = new Promise<void>((resolve) => this.#begin = resolve);
  readonly ended = new Promise<void>((resolve) => this.#end = resolve);

  /** Takes the signal from whatever options a call has. */
  readonly wait = (...given: unknown[]): Promise<never> => {
    const options = given.find((one): one is { signal?: AbortSignal } =>
      typeof one === "object" && one !== null && "signal" in one
    );
    return new Promise((_, reject) => {
      options?.signal?.addEventListener("abort", () => {
        this.#end();
        reject(options.signal?.reason);
      });
      this.#begin();
    });
  };

  async *pieces(...given: unknown[]): AsyncGenerator<never> {
    yield await this.wait(...given);
  }

  store(): Store {
    const { wait } = this;
    const writer = { appendAt: wait, persist: wait };
    const waiting = [
      "setRetention",
      "resume",
      "checkpoint",
      "deleteCheckpoint",
      "pin",
      "unpin",
      "collect",
      "explain",
      "usage",
      "verify",
      "writeState",
    ].map((name) => [name, wait]);
    const job = jobWith({
      ...Object.fromEntries(waiting),
      writer: () => writer,
      writers: () => Promise.resolve([{ writer: "w" }]),
      checkpointDetails: () => Promise.resolve({ uuid: UUID, states: [{ name: "s" }] }),
      restore: (options: unknown) => ({
        slices: () => this.pieces(options),
        trailer: new Promise(() => {}),
      }),
      readState: (...given: unknown[]) => this.pieces(...given),
    } as unknown as Job);
    return Object.assign(storeWith(() => Promise.resolve(job)), { deleteJob: wait, salvage: wait });
  }
}

function headersOf(body: string | undefined, type: string): Record<string, string> {
  return body === undefined ? {} : { "content-type": type };
}

describe("a client that goes away ends", () => {
  for (const [method, path, body, type = "application/json"] of WAITS) {
    test(`${method} ${path}`, async () => {
      const work = new EndlessWork();
      const logger = new RecordingLogger();
      const client = new AbortController();
      const headers = headersOf(body, type);
      const init = { method, headers, body, signal: client.signal };
      const answering = createApp(work.store(), { logger }).fetch(
        new Request(`http://127.0.0.1:7460${path}`, init),
      );
      await work.begun;
      client.abort();
      await work.ended;
      const answer = await answering;
      assert.deepEqual([answer.status, (await answer.json()).code], [503, "aborted"]);
      assert.deepEqual(logger.records, []);
    });
  }

  test("its request at a socket, too", async () => {
    for (const [method, path, body, type = "application/json"] of WAITS) {
      if (method === "DELETE") continue;
      const work = new EndlessWork();
      const app = createApp(work.store());
      const server = await serveHttp((request) => app.fetch(request), { port: 0 });
      try {
        const client = new AbortController();
        const headers = headersOf(body, type);
        const asked = fetch(`${server.url}${path}`, {
          method,
          headers,
          body,
          signal: client.signal,
        });
        const failed = asked.then(() => "answered", () => "failed");
        await work.begun;
        client.abort();
        await work.ended;
        assert.equal(await failed, "failed", `${method} ${path}`);
      } finally {
        await server.close(0);
      }
    }
  });
});
