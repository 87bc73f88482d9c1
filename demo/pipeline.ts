/**
 * An example of a pipeline: a stateful word count that keeps its state in a Tidemark sidecar, over HTTP.
 * It may be killed at any moment, and so may the sidecar: start it again, and it goes on.
 *
 * - Input: a text file, line by line.
 * - State: how often each word occurred.
 * - Change: a word with its new count; replaying all changes in order gives the state back.
 * - Checkpoint: carries the number of lines that are counted, so that state and input fit together.
 *
 * It is started with `--url` of the sidecar and `--text` FILE, and reports each step on stdout, as JSON.
 * @module
 */
import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { wordsOf } from "./words.ts";

const JOB = "word-count";
const WRITER = "counts";
const LINES_PER_APPEND = 200;
const LINES_PER_CHECKPOINT = 2_000;
const RETRY_DELAY_MS = 20;
const KEY_GROUPS = 128;

const { values } = parseArgs({ options: { url: { type: "string" }, text: { type: "string" } } });
if (values.url === undefined || values.text === undefined) {
  throw new TypeError("Cannot start the pipeline: it needs --url and --text");
}
await countFile(values.text, `${values.url}/v1/jobs/${JOB}`);

async function countFile(path: string, job: string): Promise<void> {
  const lines = (await readFile(path, "utf8")).split("\n");
  const changes = `${job}/writers/${WRITER}/changes`;

  await send("PUT", job, { json: { fingerprint: "1" } });
  const resumed = JSON.parse(await send("POST", `${job}/resume`, { json: { at: "latest" } }));
  const counts = new Map<string, number>();
  let line = 0;
  let offset = 0;
  if (resumed.checkpoint) {
    line = resumed.checkpoint.metadata.line;
    offset = resumed.writers[0].nextOffset;
    replay(await send("GET", `${changes}?at=${resumed.checkpoint.uuid}`), counts);
  }
  report("resumed", { run: resumed.run, line, changes: offset, words: counts.size });

  while (line < lines.length) {
    const end = Math.min(line + LINES_PER_APPEND, lines.length);
    const ndjson = countLines(lines.slice(line, end), counts);
    // The offset lets a repeated append count once; the run keeps out a pipeline that was replaced.
    const headers = { "Tidemark-Offset": `${offset}`, "Tidemark-Run": `${resumed.run}` };
    if (ndjson !== "") {
      offset = JSON.parse(await send("POST", changes, { ndjson, headers })).nextOffset;
    }
    line = end;
    report("appended", { line, changes: offset, bytes: new TextEncoder().encode(ndjson).length });

    if (line % LINES_PER_CHECKPOINT === 0 || line === lines.length) {
      await send("POST", `${job}/checkpoints`, { json: { metadata: { line } } });
      report("checkpoint", { line });
    }
  }
  report("finished", { line, changes: offset, words: counts.size });
}

/** Counts the words of some lines; answers a change for every word that they hold. */
function countLines(lines: readonly string[], counts: Map<string, number>): string {
  const changed = new Set<string>();
  for (const word of lines.flatMap(wordsOf)) {
    counts.set(word, (counts.get(word) ?? 0) + 1);
    changed.add(word);
  }
  return [...changed]
    .map((word) => ({ keyGroup: keyGroupOf(word), data: `${word}\t${counts.get(word)}` }))
    .map((change) => `${JSON.stringify(change)}\n`)
    .join("");
}

/** Replays the changes of a restore. Its last line says how many there are, so that none can be missing. */
function replay(ndjson: string, counts: Map<string, number>): void {
  const items = ndjson.trimEnd().split("\n").map((item) => JSON.parse(item));
  const trailer = items.pop();
  if (trailer.end?.count !== items.length) {
    throw new Error(`Cannot restore: there are ${items.length} changes and no matching end`);
  }
  for (const { data } of items) {
    const [word, count] = data.split("\t");
    counts.set(word, Number(count));
  }
}

/** Key groups let parallel writers share a state; FNV-1a spreads the words over them. */
function keyGroupOf(word: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < word.length; index++) {
    hash = Math.imul(hash ^ word.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0) % KEY_GROUPS;
}

interface Request {
  readonly json?: unknown;
  readonly ndjson?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a request until it is answered: while the sidecar is away, it repeats it, which is safe. */
async function send(method: string, url: string, request: Request = {}): Promise<string> {
  const body = request.ndjson ?? JSON.stringify(request.json);
  const type = request.ndjson === undefined ? "application/json" : "application/x-ndjson";
  const headers = { "Content-Type": type, "Accept": "application/x-ndjson", ...request.headers };
  for (let attempt = 1;; attempt++) {
    try {
      const response = await fetch(url, { method, body, headers });
      const text = await response.text();
      if (response.ok) {
        if (attempt > 1) report("repeated", { request: `${method} ${url.split("/").at(-1)}` });
        return text;
      }
      if (response.status !== 503) throw new Error(`${method} ${url}: ${response.status} ${text}`);
    } catch (error) {
      const isConnectionLost = error instanceof TypeError;
      if (!isConnectionLost) throw error;
    }
    await delay(RETRY_DELAY_MS);
  }
}

function report(event: string, facts: Readonly<Record<string, unknown>>): void {
  console.log(JSON.stringify({ event, ...facts }));
}
