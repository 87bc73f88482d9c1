/**
 * An example of a pipeline: a stateful word count that keeps its state in a Tidemark sidecar, through the client.
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
import { parseArgs } from "node:util";
import { type RemoteJob, TidemarkClient } from "../src/client/mod.ts";
import { wordsOf } from "./words.ts";

const LINES_PER_REPORT = 200;
const LINES_PER_CHECKPOINT = 2_000;
const KEY_GROUPS = 128;

const { values } = parseArgs({ options: { url: { type: "string" }, text: { type: "string" } } });
if (values.url === undefined || values.text === undefined) {
  throw new TypeError("Cannot start the pipeline: it needs --url and --text");
}
await using client = new TidemarkClient(values.url, {
  fetch: reportingFetch(),
  retryDelayMsMax: 100, // the sidecar is back soon
});
const lines = (await readFile(values.text, "utf8")).split("\n");
await countLines(lines, client.job("word-count", { fingerprint: 1n }));

async function countLines(lines: readonly string[], job: RemoteJob): Promise<void> {
  // Where do I start? What was appended after that place is no part of the job any more.
  const { run, checkpoint } = await job.resume();
  const { line: start } = (checkpoint?.metadata ?? { line: 0 }) as { line: number };
  const counts = checkpoint === undefined ? new Map() : await restore(job, checkpoint.uuid);
  const writer = job.writer("counts");
  report("resumed", { run, line: start, changes: writer.nextOffset, words: counts.size });

  let bytes = 0;
  for (let line = start; line < lines.length;) {
    for (const [word, count] of countWords(lines[line], counts)) {
      const change = new TextEncoder().encode(`${word}\t${count}`);
      while (!job.availability.isAvailable()) await job.availability.whenAvailable();
      writer.append(keyGroupOf(word), change);
      bytes += change.length;
    }
    line++;
    if (line % LINES_PER_REPORT === 0 || line === lines.length) {
      await writer.persist(); // not needed; but what is reported is safe
      report("appended", { line, changes: writer.nextOffset, bytes });
      bytes = 0;
    }
    if (line % LINES_PER_CHECKPOINT === 0 || line === lines.length) {
      await job.checkpoint({ metadata: { line } });
      report("checkpoint", { line });
    }
  }
  report("finished", { line: lines.length, changes: writer.nextOffset, words: counts.size });
}

/** Gets the state back: all changes of a checkpoint, in order. A restore that ends is whole. */
async function restore(job: RemoteJob, at: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for await (const { data } of job.restore({ at })) {
    const [word, count] = new TextDecoder().decode(data).split("\t");
    counts.set(word, Number(count));
  }
  return counts;
}

/** Counts the words of a line; answers each that it holds, with its new count. */
function countWords(line: string, counts: Map<string, number>): Map<string, number> {
  const changed = new Map<string, number>();
  for (const word of wordsOf(line)) {
    const count = (counts.get(word) ?? 0) + 1;
    counts.set(word, count);
    changed.set(word, count);
  }
  return changed;
}

/** Key groups let parallel writers share a state; FNV-1a spreads the words over them. */
function keyGroupOf(word: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < word.length; index++) {
    hash = Math.imul(hash ^ word.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0) % KEY_GROUPS;
}

/** A `fetch` that reports which requests the client had to repeat; a pipeline of yours needs none. */
function reportingFetch(): (request: Request) => Promise<Response> {
  const lost = new Set<string>();
  return async (request) => {
    const name = `${request.method} ${request.url.split("/").at(-1)}`;
    try {
      const answer = await fetch(request);
      if (answer.ok && lost.delete(name)) report("repeated", { request: name });
      return answer;
    } catch (error) {
      lost.add(name);
      throw error;
    }
  };
}

function report(event: string, facts: Readonly<Record<string, unknown>>): void {
  console.log(JSON.stringify({ event, ...facts }));
}
