/**
 * The load: four writers that append without a pause, and a checkpoint every 200 ms. It is the process
 * that keeps the log of what was acknowledged.
 * @module
 */
import assert from "node:assert/strict";
import type { SeededRandom } from "../doubles/seeded_random.ts";
import type { JobClient } from "./_client.ts";
import { jsonOf } from "./_client.ts";
import { changeAt, type ChangeFormat, encodeChanges, MEDIA_TYPES } from "./_content.ts";
import type { SentAppend, WriterHistory } from "./_history.ts";
import { deferred } from "./_process.ts";

const CHECKPOINT_INTERVAL_MS = 200;
const APPEND_CHANGES_MAX = 20;
/** The writer that sends large appends, if there are any. */
const LARGE_WRITER = "w1";

/** The writers, and how each of them speaks. */
export const WRITERS: Readonly<Record<string, ChangeFormat>> = {
  "w0": "ndjson",
  "w1": "cborseq",
  "w2": "ndjson",
  "w3": "cborseq",
};

/** A checkpoint that was asked for. */
export interface AskedCheckpoint {
  /** Stands in its metadata: tells whose it is if the answer is lost. */
  readonly mark: number;
  /** Per writer, what the checkpoint holds at least: all that was acknowledged when it was asked for. */
  readonly least: readonly WriterHistory[];
  /** Per writer, what it holds at most: all that was sent when its answer came, or failed to. */
  most: readonly WriterHistory[];
  /** Known once it was answered, or found. */
  uuid?: string;
}

/** What a load needs. */
export interface LoadOptions {
  readonly client: JobClient;
  readonly histories: readonly WriterHistory[];
  readonly run: number;
  /** What the load writes differs from what loads of other branches write. */
  readonly branch: number;
  readonly firstMark: number;
  /** Whether one of the writers sends about a megabyte at a time. */
  readonly isLarge: boolean;
  readonly random: SeededRandom;
}

/** What a load sends. */
export type Sent = "append" | "large" | "checkpoint";

/** A load on one sidecar, from its start to the kill. */
export class Load {
  /** Checkpoints that were asked for, the one without an answer included. */
  readonly checkpoints: AskedCheckpoint[] = [];
  /** How long answers took, in milliseconds. */
  readonly tookMs: Record<Sent, number[]> = { append: [], large: [], checkpoint: [] };
  readonly #options: LoadOptions;
  readonly #loops: Promise<void>;
  readonly #ending = deferred<void>();
  #isEnding = false;
  #onSend: (sent: Sent) => void = () => {};

  constructor(options: LoadOptions) {
    this.#options = options;
    const writers = options.histories.map((history) => this.#append(history));
    this.#loops = Promise.all([...writers, this.#checkpoint()]).then(() => {});
    this.#loops.catch(() => {
      // A fault shows to whoever waits in `sent` or `end`.
    });
  }

  /** Waits until the load has sent so many more requests of a kind. */
  async sent(kind: Sent, count: number): Promise<void> {
    const { promise, resolve } = deferred<void>();
    let left = count;
    this.#onSend = (sent) => {
      if (sent === kind && --left === 0) resolve();
    };
    await Promise.race([promise, this.#loops]);
  }

  /** Says that the sidecar is killed now, and no answer is owed any more. */
  expectEnd(): void {
    this.#isEnding = true;
    this.#ending.resolve();
  }

  /** Waits until every request has its answer or will never get one. */
  async end(): Promise<void> {
    await this.#loops;
  }

  async #append(history: WriterHistory): Promise<void> {
    const { random, branch, isLarge } = this.#options;
    const ownBranch = isLarge && history.writer === LARGE_WRITER ? -branch : branch;
    while (!this.#isEnding) {
      const count = 1 + random.below(APPEND_CHANGES_MAX);
      const append = history.pending ?? history.send(count, ownBranch);
      if (!await this.#sendAppend(history, append)) return;
    }
  }

  async #sendAppend(history: WriterHistory, append: SentAppend): Promise<boolean> {
    const { client, run } = this.#options;
    const { writer } = history;
    const { offset, nextOffset } = append;
    const changes = Array.from(
      { length: nextOffset - offset },
      (_, index) => changeAt(writer, append.branch, offset + index),
    );
    const format = WRITERS[writer];
    const startedMs = performance.now();
    const answering = client.send("POST", `/writers/${writer}/changes`, {
      body: encodeChanges(changes, format),
      type: MEDIA_TYPES[format],
      headers: { "tidemark-offset": `${offset}`, "tidemark-run": `${run}` },
    });
    const kind = append.branch < 0 ? "large" : "append";
    this.#onSend(kind);
    const answer = await answering;
    if (answer === undefined && this.#isEnding) return false;
    const found = jsonOf<Record<string, unknown>>(answer, `append to ${writer} at ${offset}`);
    const { ack } = found;
    const place = { offset: found.offset, nextOffset: found.nextOffset };
    assert.deepEqual({ ...place, ack }, { offset, nextOffset, ack: "durable" });
    this.tookMs[kind].push(performance.now() - startedMs);
    history.acknowledge(nextOffset);
    return true;
  }

  async #checkpoint(): Promise<void> {
    const { client, histories, random, firstMark } = this.#options;
    // Loads are short: the first checkpoint comes at any point of the interval.
    let waitMs = random.below(CHECKPOINT_INTERVAL_MS);
    for (let mark = firstMark;; mark++) {
      if (!await this.#pause(waitMs)) return;
      const snapshot = () => histories.map((history) => history.snapshot());
      const asked: AskedCheckpoint = { mark, least: snapshot(), most: [] };
      this.checkpoints.push(asked);
      const startedMs = performance.now();
      const body = JSON.stringify({ identifier: `mark-${mark}`, metadata: { mark } });
      const answering = client.send("POST", "/checkpoints", { body });
      this.#onSend("checkpoint");
      const answer = await answering;
      asked.most = snapshot();
      if (answer === undefined && this.#isEnding) return;
      asked.uuid = jsonOf<{ uuid: string }>(answer, `checkpoint ${mark}`).uuid;
      const tookMs = performance.now() - startedMs;
      this.tookMs.checkpoint.push(tookMs);
      waitMs = Math.max(0, CHECKPOINT_INTERVAL_MS - tookMs);
    }
  }

  /** Waits for the next tick; answers false when the end comes first. */
  async #pause(ms: number): Promise<boolean> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    await Promise.race([
      new Promise<void>((resolve) => timer = setTimeout(resolve, ms)),
      this.#ending.promise,
    ]);
    clearTimeout(timer);
    return !this.#isEnding;
  }
}
