/**
 * Two owners: one is stopped with appends in flight, another takes the job over, the first goes on. It
 * acknowledges nothing, and nothing that it writes appears.
 * @module
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { type Answer, JobClient, jsonOf, problemCode, type ShownJob } from "./_client.ts";
import { changeAt, encodeChanges, MEDIA_TYPES } from "./_content.ts";
import { positionOf } from "./_checks.ts";
import { withTemporaryFolder } from "./_folder.ts";
import { WriterHistory } from "./_history.ts";
import {
  CLI,
  deferred,
  prepare,
  run,
  type Runtime,
  RUNTIMES,
  Sidecar,
  THIS_RUNTIME,
  TIMEOUT_MS,
} from "./_process.ts";

const SUCCESSOR = join("tests", "crash", "_successor.ts");
const JOB = "contested";
const WRITERS = ["w0", "w1", "w2", "w3"];
const APPENDS_BEFORE_STOP = 40;
const GENERATIONS = 20;
const FIRST_OWNER = 1;
const SECOND_OWNER = 2;
const RUN = 1;

for (const successor of RUNTIMES) {
  const name =
    `an owner on ${THIS_RUNTIME}, stopped and replaced by ${successor}, acknowledges nothing`;
  test(name, { timeout: TIMEOUT_MS }, async () => {
    await withTemporaryFolder(async (folder) => {
      await contest(folder, successor);
    });
  });
}

async function contest(folder: string, successor: Runtime): Promise<void> {
  const store = join(folder, "store");
  await using first = Sidecar.serve(await prepare(THIS_RUNTIME, CLI, folder), store);
  const firstClient = new JobClient(await first.url, JOB);
  await firstClient.ask("PUT", "", {});
  const histories = WRITERS.map((writer) => new WriterHistory(writer));

  const takeOverCommand = await prepare(successor, SUCCESSOR, folder);
  const feed = new Feed(firstClient, histories);
  await feed.acknowledged(APPENDS_BEFORE_STOP);
  first.process.signal("SIGSTOP");

  await using second = new Sidecar([...takeOverCommand, store, JOB]);
  const secondClient = new JobClient(await second.url, JOB);
  const inherited = await takeOver(secondClient, histories);
  feed.takenOverAt = new Map(inherited.map(({ writer, sent }) => [writer, sent]));
  await publishGenerations(secondClient, inherited);

  first.process.signal("SIGCONT");
  // A connection that was cut is no acknowledgement either.
  const answers = (await feed.refusals).filter((answer) => answer !== undefined);
  const codes = answers.map(refusalCode);
  assert.ok(codes.includes("fenced"), `refusals of the appends in flight: ${codes}`);
  await assertNothingAccepted(firstClient, histories);
  const retired = await first.end();
  assert.equal(retired.code, 0, retired.stderr);

  await publishGenerations(secondClient, inherited);
  await assertTails(secondClient, inherited);
  const ended = await second.end();
  assert.equal(ended.code, 0, ended.stderr);
  const cli = await prepare(successor, CLI, folder);
  const verified = await run([...cli, "verify", "--store", store, "--job", JOB]);
  assert.equal(verified.code, 0, verified.stderr);
}

/** Clients of the first owner: one per writer, each goes on until it is refused. */
class Feed {
  /**
   * Where the second owner took each writer over. An answer that was on its way when the first owner was stopped may
   * still come; what it acknowledges was taken over.
   */
  takenOverAt: ReadonlyMap<string, number> = new Map();
  readonly refusals: Promise<readonly (Answer | undefined)[]>;
  #count = 0;
  #onAnswer: () => void = () => {};

  constructor(client: JobClient, histories: readonly WriterHistory[]) {
    this.refusals = Promise.all(histories.map((history) => this.#feed(client, history)));
  }

  /** Waits until so many appends are acknowledged. */
  async acknowledged(count: number): Promise<void> {
    const { promise, resolve } = deferred<void>();
    this.#onAnswer = () => {
      if (this.#count >= count) resolve();
    };
    const refused = this.refusals.then(() => assert.fail("the owner refused an append"));
    await Promise.race([promise, refused]);
  }

  async #feed(client: JobClient, history: WriterHistory): Promise<Answer | undefined> {
    for (;;) {
      const answer = await append(client, history, FIRST_OWNER);
      if (answer === undefined || answer.status >= 300) return answer;
      const { writer, acknowledged } = history;
      const end = this.takenOverAt.get(writer) ?? Infinity;
      assert.ok(
        acknowledged <= end,
        `${writer} acknowledged ${acknowledged}, taken over at ${end}`,
      );
      this.#count++;
      this.#onAnswer();
    }
  }
}

async function append(
  client: JobClient,
  history: WriterHistory,
  branch: number,
): Promise<Answer | undefined> {
  const { writer } = history;
  const { offset, nextOffset } = history.send(1, branch);
  const answer = await client.send("POST", `/writers/${writer}/changes`, {
    body: encodeChanges([changeAt(writer, branch, offset)], "ndjson"),
    type: MEDIA_TYPES.ndjson,
    headers: { "tidemark-offset": `${offset}`, "tidemark-run": `${RUN}` },
  });
  if (answer !== undefined && answer.status < 300) history.acknowledge(nextOffset);
  return answer;
}

/** The second owner has all that was acknowledged. Answers the logs as they go on from there. */
async function takeOver(
  client: JobClient,
  histories: readonly WriterHistory[],
): Promise<WriterHistory[]> {
  const shown = await client.ask<ShownJob>("GET", "");
  assert.equal(shown.run, RUN);
  return histories.map((history) => {
    const position = positionOf(shown.writers, history.writer);
    const { acknowledged, sent, writer } = history;
    assert.ok(position >= acknowledged, `${writer} at ${position}, acknowledged ${acknowledged}`);
    assert.ok(position <= sent, `${writer} at ${position}, sent ${sent}`);
    const inherited = history.snapshot();
    inherited.rewind(position);
    return inherited;
  });
}

/** Checkpoints with appends in between. */
async function publishGenerations(
  client: JobClient,
  histories: readonly WriterHistory[],
): Promise<void> {
  for (let generation = 0; generation < GENERATIONS; generation++) {
    for (const history of histories) {
      jsonOf(await append(client, history, SECOND_OWNER), `append to ${history.writer}`);
    }
    await client.ask("POST", "/checkpoints", {});
  }
}

/** Asks the first owner for everything that writes. */
async function assertNothingAccepted(
  client: JobClient,
  histories: readonly WriterHistory[],
): Promise<void> {
  for (const path of ["/checkpoints", "/resume"]) {
    refusalCode(await client.send("POST", path, { body: "{}" }));
  }
  for (const history of histories) {
    refusalCode(await append(client, history.snapshot(), FIRST_OWNER));
  }
}

/** Why the first owner refuses: it found itself fenced, or, asked anew, that another one has the job. */
function refusalCode(answer: Answer | undefined): string {
  assert.ok(answer !== undefined, "the first owner did not answer");
  assert.ok(answer.status >= 400, `the first owner answered ${answer.status}`);
  const code = problemCode(answer);
  assert.ok(["fenced", "job-busy"].includes(code), `the first owner answered ${code}`);
  return code;
}

/** Every writer has exactly what the first owner left and the second one added. */
async function assertTails(client: JobClient, histories: readonly WriterHistory[]): Promise<void> {
  for (const history of histories) {
    const { changes } = await client.restore(history.writer, "tail", 0, "ndjson");
    assert.equal(changes.length, history.sent, `changes of ${history.writer}`);
    history.check(changes, 0, "tail of the second owner");
  }
}
