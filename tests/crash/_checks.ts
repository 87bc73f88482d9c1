/**
 * Holds what a sidecar gives back against the log of the load.
 * @module
 */
import assert from "node:assert/strict";
import type { SeededRandom } from "../doubles/seeded_random.ts";
import type { JobClient, ShownJob } from "./_client.ts";
import type { WriterHistory } from "./_history.ts";
import { type AskedCheckpoint, WRITERS } from "./_load.ts";

/** A checkpoint as the sidecar shows it. */
export interface ShownCheckpoint {
  readonly uuid: string;
  readonly metadata: { readonly mark: number };
  readonly writers: readonly { readonly writer: string; readonly nextOffset: number }[];
}

/** Changes before what is known that are read again, unless all are. */
const OVERLAP_CHANGES_MAX = 200;

/** The position of a writer; one that is not named begins at 0. */
export function positionOf(
  writers: readonly { readonly writer: string; readonly nextOffset: number }[],
  name: string,
): number {
  return writers.find(({ writer }) => writer === name)?.nextOffset ?? 0;
}

/**
 * Checks every writer's tail: a prefix of what was sent, with all that was acknowledged, ending where an append
 * ends. Answers how many appends were durable although their answer was lost.
 */
export async function checkTail(
  client: JobClient,
  shown: ShownJob,
  histories: readonly WriterHistory[],
  options: { random: SeededRandom; isFull: boolean },
): Promise<number> {
  let unansweredKept = 0;
  for (const history of histories) {
    const { writer, pending } = history;
    const overlap = options.random.below(OVERLAP_CHANGES_MAX);
    const from = options.isFull ? 0 : Math.max(0, history.acknowledged - overlap);
    const { changes } = await client.restore(writer, "tail", from, WRITERS[writer]);
    const end = from + changes.length;
    history.check(changes, from, "tail");
    assert.ok(
      end >= history.acknowledged,
      `tail: ${end} changes of ${writer}, acknowledged ${history.acknowledged}`,
    );
    const ends = pending === undefined ? [history.sent] : [pending.offset, pending.nextOffset];
    assert.ok(ends.includes(end), `tail: ${writer} ends at ${end}, within an append (${ends})`);
    assert.equal(positionOf(shown.writers, writer), end, `position shown of ${writer}`);
    if (end === pending?.nextOffset) unansweredKept++;
    history.acknowledge(end);
  }
  return unansweredKept;
}

/** Checks that every acknowledged checkpoint is listed; finds those whose answer was lost. */
export async function checkList(
  client: JobClient,
  asked: readonly AskedCheckpoint[],
): Promise<{ unansweredKept: number }> {
  const { checkpoints } = await client.ask<{ checkpoints: { uuid: string }[] }>(
    "GET",
    "/checkpoints",
  );
  const listed = new Set(checkpoints.map(({ uuid }) => uuid));
  for (const { uuid, mark } of asked) {
    assert.ok(uuid === undefined || listed.has(uuid), `checkpoint ${mark} (${uuid}) is not listed`);
  }
  const known = new Set(asked.map(({ uuid }) => uuid));
  let unansweredKept = 0;
  for (const uuid of listed) {
    if (known.has(uuid)) continue;
    const { metadata: { mark } } = await showCheckpoint(client, uuid);
    const unanswered = asked.find((one) => one.mark === mark && one.uuid === undefined);
    assert.ok(unanswered !== undefined, `checkpoint ${uuid} with mark ${mark} was never asked for`);
    unanswered.uuid = uuid;
    unansweredKept++;
  }
  return { unansweredKept };
}

/** Reads a checkpoint. */
export async function showCheckpoint(client: JobClient, at: string): Promise<ShownCheckpoint> {
  return await client.ask<ShownCheckpoint>("GET", `/checkpoints/${at}`);
}

/** Checks that a checkpoint restores exactly, within what was acknowledged before and sent by then. */
export async function checkCheckpoint(
  client: JobClient,
  asked: AskedCheckpoint,
  options: { random: SeededRandom; isFull: boolean },
): Promise<void> {
  const shown = await showCheckpoint(client, asked.uuid!);
  assert.equal(shown.metadata.mark, asked.mark);
  for (const [index, least] of asked.least.entries()) {
    const { writer } = least;
    const most = asked.most[index];
    const end = positionOf(shown.writers, writer);
    const where = `checkpoint ${asked.mark} (${asked.uuid})`;
    assert.ok(
      end >= least.acknowledged && end <= most.sent,
      `${where}: ${writer} at ${end}, wanted ${least.acknowledged} to ${most.sent}`,
    );
    const overlap = options.random.below(OVERLAP_CHANGES_MAX);
    const from = options.isFull ? 0 : Math.max(0, end - overlap);
    const { changes } = await client.restore(writer, asked.uuid!, from, WRITERS[writer]);
    assert.equal(from + changes.length, end, `${where}: changes of ${writer}`);
    most.check(changes, from, where);
  }
}
