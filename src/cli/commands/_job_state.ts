/** How one job is, as `status` tells it. */
import type { ErrorCode } from "../../engine/errors.ts";
import type {
  CheckpointMetadata,
  JobOwner,
  StoreStatus,
  WriterPosition,
} from "../../engine/types.ts";
import { asTidemarkError } from "../../http/problem.ts";
import type { ReadStore, ReadTarget } from "../target/target.ts";

/** What is known of a job; what can't be read is left out, and `problem` says why. */
export interface JobState {
  readonly job: string;
  /** False of a job that the sidecar has not opened: nothing more is known of it. */
  readonly isOpen?: false;
  readonly run?: number;
  readonly epoch?: number;
  /** Who has it, or had it last. */
  readonly owner?: JobOwner;
  /** Of a sidecar: whether the job takes changes. */
  readonly isServing?: boolean;
  readonly checkpoints?: number;
  /** The checkpoint that the job goes on from; null before the first. */
  readonly newestCheckpoint?:
    | Pick<CheckpointMetadata, "uuid" | "identifier" | "createdAtMs">
    | null;
  readonly writers?: readonly WriterPosition[];
  /** Changes that no checkpoint of its line holds. */
  readonly sinceCheckpoint?: number;
  readonly bytes?: number;
  readonly objects?: number;
  readonly problem?: { readonly code: ErrorCode; readonly message: string };
}

/** A job of which nothing is known, as nobody has opened it here. */
export function unopened(job: string): JobState {
  return { job, isOpen: false };
}

/** Looks at a job. @throws {TidemarkError} that there is none, where it is the only one asked for */
export async function stateOf(
  store: ReadStore,
  job: string,
  { open, isOnly }: {
    readonly open?: StoreStatus["jobs"][number];
    readonly isOnly: boolean;
  },
): Promise<JobState> {
  const serving = open === undefined ? {} : { isServing: open.isServing };
  let found: JobState = { job, ...serving, ...(open?.problem && { problem: open.problem }) };
  try {
    const { run, epoch, head, owner } = await store.standing(job);
    found = { ...found, run, epoch, ...(owner === undefined ? {} : { owner }) };
    await using reader = await store.reader(job);
    const checkpoints = await reader.checkpoints();
    const newest = checkpoints.find(({ uuid }) => uuid === head);
    found = {
      ...found,
      checkpoints: checkpoints.length,
      newestCheckpoint: newest === undefined ? null : {
        uuid: newest.uuid,
        ...(newest.identifier === undefined ? {} : { identifier: newest.identifier }),
        createdAtMs: newest.createdAtMs,
      },
    };
    const writers = await reader.writers();
    const sinceCheckpoint = await changesSince(reader, head, writers);
    found = { ...found, writers, sinceCheckpoint };
    const { bytes, objects } = await reader.usage();
    return { ...found, bytes, objects };
  } catch (error) {
    const { code, kind, message } = asTidemarkError(error);
    // What is wrong with one job does not hide the others.
    if (isOnly && kind === "not-found") throw error;
    return { ...found, problem: { code, message } };
  }
}

async function changesSince(
  reader: ReadTarget,
  head: string | null,
  writers: readonly WriterPosition[],
): Promise<number> {
  const kept = head === null ? [] : (await reader.checkpointDetails(head)).writers;
  const keptOf = new Map(kept.map(({ writer, nextOffset }) => [writer, nextOffset]));
  return writers.reduce(
    (sum, { writer, nextOffset }) => sum + Math.max(0, nextOffset - (keptOf.get(writer) ?? 0)),
    0,
  );
}
