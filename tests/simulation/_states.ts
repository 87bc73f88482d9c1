/**
 * State objects in simulated lives: what a checkpoint is given follows from its line, so that it can be told from what
 * is read back.
 * @module
 */
import assert from "node:assert/strict";
import type { Job, JobReader, StateSource } from "../../src/engine/types.ts";
import type { Line } from "./_oracle.ts";

const RULES = "what never changes";

const encoder = new TextEncoder();

/** One state that is new with every checkpoint, and one that all checkpoints of a line share. */
export async function statesFor(job: Job, line: Line): Promise<Record<string, StateSource>> {
  const hasHead = (await job.checkpoints()).some(({ isHead }) => isHead);
  const hasRules = hasHead && (await job.checkpointDetails("latest")).states.length > 0;
  return {
    counts: encoder.encode(countsOf(line)),
    rules: hasRules ? { from: "latest" } : encoder.encode(RULES),
  };
}

/** Checks that a checkpoint of this line has its states, or none if it was given none. */
export async function checkStates(
  job: JobReader,
  uuid: string,
  line: Line,
  where: string,
): Promise<void> {
  const names = (await job.checkpointDetails(uuid)).states.map(({ name }) => name);
  if (names.length === 0) return;
  assert.deepEqual(names, ["counts", "rules"], where);
  assert.equal(await textOf(job, uuid, "counts"), countsOf(line), where);
  assert.equal(await textOf(job, uuid, "rules"), RULES, where);
}

function countsOf(line: Line): string {
  const counts = [...line].map(([writer, changes]) => `${writer}: ${changes.length}`);
  return counts.sort().join(", ");
}

async function textOf(job: JobReader, at: string, name: string): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of job.readState(name, { at })) text += decoder.decode(piece);
  return text;
}
