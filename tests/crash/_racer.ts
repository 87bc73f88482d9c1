/**
 * A program: a pipeline that takes a job whoever has it, appends until it loses it, and takes it back, a few times.
 * It is called with the folder of the store, the name of the job and its own. It says `ready`; at a first SIGTERM it
 * races and says `raced`; at a second one it appends a last change, says whether that was taken, and ends.
 * @module
 */
import process from "node:process";
import { type Job, openStore, TidemarkError } from "../../mod.ts";

const LIVES = 5;
const TRIES_MAX = 100;
const STEPS = 60;

const [folder, id, name] = process.argv.slice(2);
const encoder = new TextEncoder();
let count = 0;

/** Whether a change was acknowledged; if not, the job must have another owner. */
async function persistOne(job: Job): Promise<boolean> {
  const change = `${job.epoch} ${name} ${count++}`;
  return await unlessFenced(async () => {
    const writer = job.writer("w");
    writer.append(0, encoder.encode(change));
    await writer.persist();
    console.log(`acknowledged ${change}`);
  });
}

async function unlessFenced(action: () => Promise<void>): Promise<boolean> {
  try {
    await action();
    return true;
  } catch (error) {
    if (!(error instanceof TidemarkError) || error.code !== "fenced") throw error;
    console.log("fenced");
    return false;
  }
}

/** Lives until it has acknowledged something in a few lives; opens that are overtaken are tried again. */
async function race(): Promise<Job[]> {
  const jobs: Job[] = [];
  for (let tries = 0, lives = 0; lives < LIVES && tries < TRIES_MAX; tries++) {
    const store = await openStore(folder, { persistDelayMs: 0, uploadRetryPolicy: "none" });
    const isTaken = await unlessFenced(async () => {
      jobs.push(await store.job(id, { takeOver: true }));
    });
    if (!isTaken) continue;
    let steps = 0;
    while (steps < STEPS && await persistOne(jobs.at(-1)!)) steps++;
    if (steps > 0) lives++;
  }
  return jobs;
}

/** Settles at the next SIGTERM, and keeps the process until then. */
function toldToGoOn(): Promise<void> {
  const waiting = setInterval(() => {}, 60_000);
  return new Promise((resolve) =>
    process.once("SIGTERM", () => {
      clearInterval(waiting);
      resolve();
    })
  );
}

const begin = toldToGoOn();
console.log("ready");
await begin;
const jobs = await race();
const end = toldToGoOn();
console.log("raced");
await end;
for (const job of jobs) if (await persistOne(job)) console.log(`alive ${job.epoch}`);
process.exit(0);
