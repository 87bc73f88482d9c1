/**
 * Two processes that race for a job, whichever runtimes they run on: each takes it over from the other, again and
 * again. In the end one has it, and all that any of them acknowledged is there, in the order of the owners.
 * @module
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { openStore } from "../../mod.ts";
import { withTemporaryFolder } from "./_folder.ts";
import {
  deferred,
  prepare,
  RunningProcess,
  type Runtime,
  RUNTIMES,
  THIS_RUNTIME,
  TIMEOUT_MS,
} from "./_process.ts";

const RACER = join("tests", "crash", "_racer.ts");
const JOB = "contested";

for (const rival of RUNTIMES) {
  const name = `an owner on ${THIS_RUNTIME} and one on ${rival} race: one wins, nothing is lost`;
  test(name, { timeout: TIMEOUT_MS }, async () => {
    await withTemporaryFolder(async (folder) => {
      await race(folder, [THIS_RUNTIME, rival]);
    });
  });
}

/** A process that races, and what it says. */
class Racer implements AsyncDisposable {
  readonly lines: string[] = [];
  readonly ready: Promise<void>;
  readonly raced: Promise<void>;
  readonly process: RunningProcess;

  constructor(command: readonly string[]) {
    const ready = deferred<void>();
    const raced = deferred<void>();
    this.ready = ready.promise;
    this.raced = raced.promise;
    this.process = new RunningProcess(command, (line) => {
      this.lines.push(line);
      if (line === "ready") ready.resolve();
      if (line === "raced") raced.resolve();
    });
    this.process.ended.then(({ stderr }) => {
      const error = new Error(`A racer ended: ${stderr}`);
      for (const { reject } of [ready, raced]) reject(error);
    });
    for (const { promise } of [ready, raced]) {
      promise.catch(() => {
        // Whoever waits for it is told.
      });
    }
  }

  /** What follows a word that it says, each time. */
  said(word: string): string[] {
    return this.lines.filter((line) => line.startsWith(`${word} `)).map((line) =>
      line.slice(word.length + 1)
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.kill();
  }
}

async function race(folder: string, runtimes: readonly Runtime[]): Promise<void> {
  const store = join(folder, "store");
  await (await openStore(store)).close();
  const commands: string[][] = [];
  for (const [at, runtime] of runtimes.entries()) {
    commands.push([...await prepare(runtime, RACER, folder), store, JOB, `racer${at}`]);
  }
  await using one = new Racer(commands[0]);
  await using other = new Racer(commands[1]);
  const racers = [one, other];
  for (const phase of ["ready", "raced"] as const) {
    await Promise.all(racers.map((racer) => racer[phase]));
    for (const racer of racers) racer.process.signal("SIGTERM");
  }
  for (const { process } of racers) {
    const { code, stderr } = await process.ended;
    assert.equal(code, 0, stderr);
  }
  assert.equal(racers.flatMap((racer) => racer.said("alive")).length, 1, "one has the job");
  assert.ok(racers.some(({ lines }) => lines.includes("fenced")), "nobody lost the job");
  for (const racer of racers) assert.ok(racer.said("acknowledged").length > 0);
  await checkTail(store, racers.flatMap((racer) => racer.said("acknowledged")));
}

async function checkTail(folder: string, acknowledged: readonly string[]): Promise<void> {
  await using store = await openStore(folder, { mode: "read" });
  await using job = await store.reader(JOB);
  const tail: string[] = [];
  for await (const { data } of job.restore({ at: "tail" })) {
    tail.push(new TextDecoder().decode(data));
  }
  const found = new Set(tail);
  assert.equal(found.size, tail.length, "a change is there twice");
  assert.deepEqual(acknowledged.filter((change) => !found.has(change)), []);
  const epochs = tail.map((change) => Number(change.split(" ")[0]));
  assert.deepEqual(epochs, epochs.toSorted((a, b) => a - b), "owners interleave");
  assert.deepEqual((await job.verify()).problems, []);
}
