/**
 * Reading verbs work beside a running sidecar, whichever runtime each of them runs on.
 * @module
 */
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { JobClient, jsonOf } from "./_client.ts";
import { changeAt, encodeChanges, MEDIA_TYPES } from "./_content.ts";
import { withTemporaryFolder } from "./_folder.ts";
import {
  CLI,
  type Ended,
  prepare,
  run,
  RUNTIMES,
  Sidecar,
  THIS_RUNTIME,
  TIMEOUT_MS,
} from "./_process.ts";

const JOB = "read-beside";
const WRITER = "w0";
const CHECKPOINTED = 500;
const TAIL = 700;

for (const reader of RUNTIMES) {
  const name = `reading verbs on ${reader} work beside a sidecar on ${THIS_RUNTIME}`;
  test(name, { timeout: TIMEOUT_MS }, async () => {
    await withTemporaryFolder(async (folder) => {
      const store = join(folder, "store");
      const serve = await prepare(THIS_RUNTIME, CLI, folder);
      await using sidecar = Sidecar.serve(serve, store);
      const client = new JobClient(await sidecar.url, JOB);
      await client.ask("PUT", "", {});
      await append(client, 0, CHECKPOINTED);
      const { uuid } = await client.ask<{ uuid: string }>("POST", "/checkpoints", {});
      await append(client, CHECKPOINTED, TAIL);

      await assertReads(await prepare(reader, CLI, folder), store, uuid);
      // The sidecar still owns the job, and goes on where it was.
      await append(client, TAIL, TAIL + 1);
    });
  });
}

async function append(client: JobClient, from: number, to: number): Promise<void> {
  const answer = await client.send("POST", `/writers/${WRITER}/changes`, {
    body: encodeChanges(changesBetween(from, to), "ndjson"),
    type: MEDIA_TYPES.ndjson,
    headers: { "tidemark-offset": `${from}` },
  });
  assert.equal(jsonOf<{ nextOffset: number }>(answer, "append").nextOffset, to);
}

function changesBetween(from: number, to: number): ReturnType<typeof changeAt>[] {
  return Array.from({ length: to - from }, (_, index) => changeAt(WRITER, 0, from + index));
}

async function assertReads(cli: readonly string[], store: string, uuid: string): Promise<void> {
  const ofJob = ["--store", store, "--job", JOB];
  const restore = ["restore", ...ofJob, "--writer", WRITER, "--format", "lines", "--at"];
  const changelog = join(store, "jobs", JOB, "changelog", "main");
  const [changeFile] = await readdir(changelog);
  const [jobs, checkpoints, latest, tail, verified, inspected] = await inTurn([
    ["ls", "--store", store, "--json"],
    ["ls", ...ofJob, "--json"],
    [...restore, "latest"],
    [...restore, "tail"],
    ["verify", ...ofJob],
    ["inspect", join(changelog, changeFile)],
  ], (args) => run([...cli, ...args]));

  assert.match(jobs.stdout, new RegExp(JOB));
  assert.match(checkpoints.stdout, new RegExp(uuid));
  assert.deepEqual(linesOf(latest), dataBetween(0, CHECKPOINTED));
  assert.deepEqual(linesOf(tail), dataBetween(0, TAIL));
  assert.match(inspected.stdout, new RegExp(WRITER));
  assert.equal(verified.code, 0);
}

/** One after the other, so that a small machine is not asked to start six runtimes at once. */
async function inTurn(
  commands: readonly string[][],
  run: (args: string[]) => Promise<Ended>,
): Promise<Ended[]> {
  const all: Ended[] = [];
  for (const args of commands) {
    const ended = await run(args);
    assert.equal(ended.code, 0, `${args.join(" ")}: ${ended.stderr}`);
    all.push(ended);
  }
  return all;
}

function linesOf({ stdout }: Ended): string[] {
  return stdout.trimEnd().split("\n");
}

function dataBetween(from: number, to: number): string[] {
  return changesBetween(from, to).map(({ data }) => data);
}
