/**
 * One run of the kill test: sidecars of one runtime are killed under load, again and again, on one store.
 * After each kill, everything that was acknowledged must be there.
 * @module
 */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { SeededRandom } from "../doubles/seeded_random.ts";
import {
  checkCheckpoint,
  checkList,
  checkTail,
  positionOf,
  showCheckpoint,
  type ShownCheckpoint,
} from "./_checks.ts";
import { JobClient, jsonOf, type ShownJob, type ShownWriter } from "./_client.ts";
import { WriterHistory } from "./_history.ts";
import { deckOfKills, type Kill, type LoadKill, Pace } from "./_kill_deck.ts";
import { KillReport, missedAims } from "./_kill_report.ts";
import { type AskedCheckpoint, Load, WRITERS } from "./_load.ts";
import { run, Sidecar } from "./_process.ts";

/** Options of {@link runKills}. */
export interface KillOptions {
  /** The command line of Tidemark. */
  readonly cli: readonly string[];
  /** A folder that is not there yet. */
  readonly store: string;
  readonly seed: number;
  readonly kills: number;
}

/** Kills so many times, and checks after each. @throws what did not hold */
export async function runKills(options: KillOptions): Promise<KillReport> {
  await using killing = new KillRun(options);
  return await killing.run();
}

/** Where a resume goes. */
interface Target {
  /** What is asked for. */
  readonly at: string;
  /** Where that is; undefined for the tail, and for `latest` without a checkpoint. */
  readonly checkpoint?: ShownCheckpoint;
}

interface Resumed {
  readonly run: number;
  readonly checkpoint: { readonly uuid: string } | null;
  readonly writers: readonly ShownWriter[];
}

const JOB = "load";
const LOAD_MS_MAX = 600;
const SENT_MAX = { append: 100, large: 3, checkpoint: 2 };
const RESUME_SHARE = 0.35;
const MORE_KILLS_MAX = 50;

class KillRun implements AsyncDisposable {
  readonly #options: KillOptions;
  readonly #random: SeededRandom;
  readonly #report = new KillReport();
  readonly #histories = Object.keys(WRITERS).map((writer) => new WriterHistory(writer));
  readonly #checkpoints: AskedCheckpoint[] = [];
  readonly #paces = {
    append: new Pace(5),
    large: new Pace(50),
    checkpoint: new Pace(20),
    resume: new Pace(20),
    start: new Pace(200),
    recovery: new Pace(40),
  };
  #sidecar: Sidecar | undefined;
  #unansweredResume: Target | undefined;
  #run = 0;
  #branch = 0;

  constructor(options: KillOptions) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
  }

  async run(): Promise<KillReport> {
    await this.#create();
    for (const kill of deckOfKills(this.#options.kills, this.#random)) await this.#kill(kill);
    await this.#killMore();
    await this.#finish();
    return this.#report;
  }

  /** A kill can come too late; as long as too few have hit, there are more. */
  async #killMore(): Promise<void> {
    for (let more = 0; more < MORE_KILLS_MAX; more++) {
      const [missed] = missedAims(this.#report, this.#options.kills);
      if (missed === undefined) return;
      await this.#kill(missed.kill);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sidecar?.process.kill();
  }

  async #create(): Promise<void> {
    const client = await this.#start();
    this.#run = (await client.ask<ShownJob>("PUT", "", { fingerprint: "7" })).run;
    await this.#resume(client, { at: "latest" });
    await this.#end();
  }

  async #kill(kill: Kill): Promise<void> {
    this.#report.kills++;
    switch (kill) {
      case "start":
        return await this.#killStart();
      case "recovery":
        return await this.#killRecovery();
      case "resume":
        return await this.#killResume();
      default:
        return await this.#killLoad(kill);
    }
  }

  /** Starts a sidecar and waits until it listens. */
  async #start(): Promise<JobClient> {
    const startedMs = performance.now();
    this.#sidecar = Sidecar.serve(this.#options.cli, this.#options.store);
    const url = await this.#sidecar.url;
    this.#paces.start.note(performance.now() - startedMs);
    return new JobClient(url, JOB);
  }

  async #end(): Promise<void> {
    await this.#sidecar?.process.kill();
    this.#sidecar = undefined;
  }

  async #killStart(): Promise<void> {
    this.#sidecar = Sidecar.serve(this.#options.cli, this.#options.store);
    await delay(this.#paces.start.within(this.#random));
    await this.#end();
    this.#report.startHits++;
  }

  async #killRecovery(): Promise<void> {
    const client = await this.#start();
    const opening = client.send("GET", "");
    await delay(this.#paces.recovery.within(this.#random));
    await this.#end();
    if (await opening === undefined) this.#report.recoveryHits++;
  }

  async #killResume(): Promise<void> {
    const { client, shown } = await this.#reopen({ isFull: false });
    const target = await this.#chooseTarget(client, shown);
    const body = JSON.stringify({ at: target.at });
    const resuming = client.send("POST", "/resume", { body });
    await delay(this.#paces.resume.within(this.#random));
    await this.#end();
    const answer = await resuming;
    if (answer === undefined) {
      this.#unansweredResume = target;
      this.#report.resumeHits++;
    } else {
      this.#rewind(target, jsonOf<Resumed>(answer, "resume"));
    }
  }

  async #killLoad(kill: LoadKill): Promise<void> {
    const { client, shown } = await this.#reopen({ isFull: false });
    if (this.#random.chance(RESUME_SHARE)) {
      await this.#resume(client, await this.#chooseTarget(client, shown));
    }
    const load = new Load({
      client,
      histories: this.#histories,
      run: this.#run,
      branch: this.#branch,
      firstMark: this.#checkpoints.length,
      isLarge: kill === "large",
      random: this.#random,
    });
    await this.#aim(kill, load);
    load.expectEnd();
    await this.#end();
    await load.end();
    this.#takeIn(load);
  }

  /** Waits for the moment. */
  async #aim(kill: LoadKill, load: Load): Promise<void> {
    const random = this.#random;
    if (kill === "load") {
      await Promise.race([delay(random.below(LOAD_MS_MAX)), load.end()]);
      return;
    }
    await load.sent(kill, 1 + random.below(SENT_MAX[kill]));
    await delay(this.#paces[kill].within(random));
  }

  #takeIn(load: Load): void {
    const report = this.#report;
    this.#checkpoints.push(...load.checkpoints);
    if (this.#histories.some(({ pending }) => pending !== undefined)) report.appendHits++;
    if (load.checkpoints.some(({ uuid }) => uuid === undefined)) report.checkpointHits++;
    report.appends += load.tookMs.append.length + load.tookMs.large.length;
    report.checkpoints += load.tookMs.checkpoint.length;
    for (const kind of ["append", "large", "checkpoint"] as const) {
      for (const tookMs of load.tookMs[kind]) this.#paces[kind].note(tookMs);
    }
  }

  /** Starts a sidecar on what the kill left, and checks all of it. */
  async #reopen(options: { isFull: boolean }): Promise<{ client: JobClient; shown: ShownJob }> {
    const client = await this.#start();
    const startedMs = performance.now();
    const shown = await client.ask<ShownJob>("GET", "");
    this.#paces.recovery.note(performance.now() - startedMs);
    this.#report.tornEnds += shown.recovery.torn.length;
    this.#report.copiedBatches += shown.recovery.copiedBatches;
    this.#settleResume(shown);
    assert.equal(shown.run, this.#run, "run of the job");

    const checking = { random: this.#random, ...options };
    this.#report.appendsKept += await checkTail(client, shown, this.#histories, checking);
    this.#report.checkpointsKept += (await checkList(client, this.#checkpoints)).unansweredKept;
    const published = this.#checkpoints.filter(({ uuid }) => uuid !== undefined);
    const chosen = options.isFull || published.length === 0
      ? published
      : [published.at(-1)!, this.#random.pick(published)];
    for (const checkpoint of chosen) await checkCheckpoint(client, checkpoint, checking);
    return { client, shown };
  }

  async #finish(): Promise<void> {
    await this.#reopen({ isFull: true });
    const { code, stderr } = await this.#sidecar!.end();
    assert.equal(code, 0, `end of the sidecar: ${stderr}`);
    const { cli, store } = this.#options;
    const verified = await run([...cli, "verify", "--store", store, "--job", JOB]);
    assert.equal(verified.code, 0, `verify: ${verified.stdout} ${verified.stderr}`);
  }

  async #chooseTarget(client: JobClient, { head }: ShownJob): Promise<Target> {
    const published = this.#checkpoints.filter(({ uuid }) => uuid !== undefined);
    const at = this.#random.pick(["tail", "latest", "uuid"]);
    if (at === "tail" || published.length === 0) return { at: "tail" };
    const uuid = at === "latest" ? head : this.#random.pick(published).uuid!;
    if (uuid === null) return { at: "latest" };
    const checkpoint = await showCheckpoint(client, uuid);
    return { at: at === "latest" ? at : uuid, checkpoint };
  }

  async #resume(client: JobClient, target: Target): Promise<void> {
    const startedMs = performance.now();
    const resumed = await client.ask<Resumed>("POST", "/resume", { at: target.at });
    this.#paces.resume.note(performance.now() - startedMs);
    this.#report.resumes++;
    this.#rewind(target, resumed);
  }

  /** Takes in where a resume says that the writers are. */
  #rewind(target: Target, resumed: Resumed): void {
    assert.equal(resumed.run, this.#run + 1, "run after the resume");
    if (target.at !== "tail") assert.equal(resumed.checkpoint?.uuid, target.checkpoint?.uuid);
    this.#goTo(target);
    for (const { writer, sent } of this.#histories) {
      assert.equal(positionOf(resumed.writers, writer), sent, `position of ${writer} after resume`);
    }
  }

  #goTo({ at, checkpoint }: Target): void {
    this.#run++;
    this.#branch++;
    const asked = this.#checkpoints.find(({ uuid }) => uuid === checkpoint?.uuid);
    for (const [index, history] of this.#histories.entries()) {
      if (at === "tail") history.rewind(history.acknowledged);
      else if (checkpoint === undefined) history.rewind(0);
      else history.rewind(positionOf(checkpoint.writers, history.writer), asked!.most[index]);
    }
  }

  /** Decides by the run whether a resume took effect whose answer was lost. */
  #settleResume(shown: ShownJob): void {
    const target = this.#unansweredResume;
    this.#unansweredResume = undefined;
    if (target === undefined || shown.run === this.#run) return;
    this.#goTo(target);
    this.#report.resumesKept++;
  }
}
