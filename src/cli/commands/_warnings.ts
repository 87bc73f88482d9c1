/** What somebody should look after, as `status` tells it. */
import { formatBytes, formatCount, formatSpan } from "../_format.ts";
import type { StoreSummary } from "../target/target.ts";
import type { JobState } from "./_job_state.ts";

/** Something to look after. */
export interface Warning {
  readonly code: string;
  readonly job?: string;
  /** What it is and what to do, for people. */
  readonly text: string;
}

/** Less of the disk than this is little. */
const FREE_SHARE_MIN = 0.1;
/** More of a limit than this is much. */
const LIMIT_SHARE_MAX = 0.8;
/** A pipeline that appends makes checkpoints more often. */
const CHECKPOINT_AGE_MS_MAX = 3_600_000;
/** What an owner reads when it opens the job, before it serves. */
const TAIL_CHANGES_MAX = 1_000_000;

/** Finds what to look after. */
export function warningsOf(
  store: StoreSummary,
  jobs: readonly JobState[],
  nowMs: number,
): Warning[] {
  return [...ofStore(store), ...jobs.flatMap((job) => ofJob(job, nowMs))];
}

function ofStore(store: StoreSummary): Warning[] {
  const { problem, isFull, bytesFree, bytesTotal, bytesUsed, bytesMax } = store;
  const found: Warning[] = [];
  if (problem !== undefined) found.push({ code: problem.code, text: problem.message });
  if (isFull && problem?.code !== "storage-full") {
    found.push({ code: "storage-full", text: "the store is full: make room, or raise its limit" });
  }
  if (bytesFree !== undefined && bytesTotal && bytesFree / bytesTotal < FREE_SHARE_MIN) {
    const share = Math.floor(bytesFree / bytesTotal * 100);
    const text = `the disk is nearly full: ${formatBytes(bytesFree)} free, ${share} % of it; ` +
      "make room, or let go of checkpoints with retention and gc";
    found.push({ code: "disk-low", text });
  }
  if (bytesUsed !== undefined && bytesMax && bytesUsed / bytesMax > LIMIT_SHARE_MAX) {
    const share = Math.floor(bytesUsed / bytesMax * 100);
    const text = `the store has ${share} % of the ${formatBytes(bytesMax)} that it may take; ` +
      "raise storeBytesMax, or let go of checkpoints with retention and gc";
    found.push({ code: "limit-near", text });
  }
  return found;
}

function ofJob(state: JobState, nowMs: number): Warning[] {
  const { job, problem, newestCheckpoint: newest, sinceCheckpoint = 0 } = state;
  const found: Warning[] = [];
  if (problem !== undefined) {
    found.push({ code: problem.code, job, text: `job ${job}: ${problem.message}` });
  }
  const since = formatCount(sinceCheckpoint, "change");
  if (sinceCheckpoint > 0 && newest === null) {
    const text = `job ${job} has ${since} and no checkpoint: what resumes at latest loses them`;
    found.push({ code: "no-checkpoint", job, text });
  }
  if (sinceCheckpoint > 0 && newest && nowMs - newest.createdAtMs > CHECKPOINT_AGE_MS_MAX) {
    const age = formatSpan(nowMs - newest.createdAtMs);
    const text = `job ${job} has ${since} since its newest checkpoint, which is ${age} old: ` +
      "look whether its pipeline still makes them";
    found.push({ code: "checkpoint-old", job, text });
  }
  if (sinceCheckpoint > TAIL_CHANGES_MAX) {
    const text =
      `job ${job} has a long tail, ${since}: to open it takes longer, and no file of it ` +
      "can be let go before a checkpoint";
    found.push({ code: "tail-long", job, text });
  }
  return found;
}
