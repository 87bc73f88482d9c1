/**
 * A client that may be left without an answer: what it asks of is killed on purpose.
 * @module
 */
import assert from "node:assert/strict";
import { type ChangeFormat, decodeRestore, MEDIA_TYPES, type Restored } from "./_content.ts";

/** An answer that came whole. */
export interface Answer {
  readonly status: number;
  readonly body: Uint8Array;
}

/** What to send. */
export interface Sending {
  /** JSON, unless `type` says otherwise. @default none */
  readonly body?: Uint8Array<ArrayBuffer> | string;
  /** @default "application/json" */
  readonly type?: string;
  /** @default {} */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A writer as a job shows it. */
export interface ShownWriter {
  readonly writer: string;
  readonly nextOffset: number;
  readonly durableOffset: number;
}

/** A job as the sidecar shows it. */
export interface ShownJob {
  readonly run: number;
  readonly head: string | null;
  readonly writers: readonly ShownWriter[];
  readonly recovery: { readonly torn: readonly unknown[]; readonly copiedBatches: number };
}

/** One job of one sidecar. */
export class JobClient {
  readonly #job: string;

  constructor(url: string, job: string) {
    this.#job = `${url}/v1/jobs/${job}`;
  }

  /** Sends a request below the job; undefined when no whole answer came. */
  async send(method: string, path: string, sending: Sending = {}): Promise<Answer | undefined> {
    const headers = { "content-type": sending.type ?? "application/json", ...sending.headers };
    try {
      const response = await fetch(this.#job + path, { method, body: sending.body, headers });
      return { status: response.status, body: new Uint8Array(await response.arrayBuffer()) };
    } catch {
      // Runtimes name a lost connection differently; whether one was to be expected, the caller checks.
      return undefined;
    }
  }

  /** Sends a request that must be answered well; answers its JSON. */
  async ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.send(method, path, { body: JSON.stringify(body) });
    return jsonOf<T>(answer, `${method} ${path}`);
  }

  /** Restores a writer; one that is not there has no changes. */
  async restore(writer: string, at: string, from: number, format: ChangeFormat): Promise<Restored> {
    const path = `/writers/${writer}/changes?at=${at}&from=${from}`;
    const answer = await this.send("GET", path, { headers: { accept: MEDIA_TYPES[format] } });
    if (answer?.status === 404) return { changes: [], end: { count: 0, hash: "", confirmed: 0 } };
    assert.equal(answer?.status, 200, `GET ${path}: ${textOf(answer)}`);
    const restored = decodeRestore(answer.body, format);
    assert.equal(restored.end.count, restored.changes.length, `trailer of ${path}`);
    return restored;
  }
}

/** The JSON of an answer that must be there and good. */
export function jsonOf<T>(answer: Answer | undefined, what: string): T {
  assert.ok(answer !== undefined, `${what}: no answer`);
  assert.ok(answer.status < 300, `${what}: ${answer.status} ${textOf(answer)}`);
  return JSON.parse(textOf(answer));
}

/** The code of a problem document. */
export function problemCode(answer: Answer): string {
  return JSON.parse(textOf(answer)).code;
}

function textOf(answer: Answer | undefined): string {
  return answer === undefined ? "no answer" : new TextDecoder().decode(answer.body);
}
