/** Why a store, a job, or a run of it, takes nothing any more. @module */
import { TidemarkError } from "./errors.ts";

/** The job was closed. */
export function jobIsClosed(job: string): TidemarkError {
  return new TidemarkError("closed", `Job ${job} is closed: open it again`, { details: { job } });
}

/** The job is being deleted. */
export function jobIsDeleted(job: string): TidemarkError {
  return new TidemarkError("closed", `Job ${job} was closed to be deleted`, {
    outcome: "unknown",
    details: { job },
  });
}

/** The run was ended by a resume. */
export function runIsOver(job: string, run: number): TidemarkError {
  return new TidemarkError(
    "fenced",
    `Run ${run} of job ${job} is over: the job was resumed; take its writers again`,
    { outcome: "unknown", details: { job, run } },
  );
}

/** A resume failed when its run had ended already. */
export function resumeFailed(job: string, cause: unknown): TidemarkError {
  return new TidemarkError(
    "closed",
    `Job ${job} is closed, since a resume failed half-way: open it again`,
    { outcome: "unknown", details: { job }, cause },
  );
}

/** The store was closed. */
export function storeClosed(location: string): TidemarkError {
  return new TidemarkError("closed", `Store ${location} is closed: open it again`);
}

/** What a job is held for. */
export type HeldFor = "salvage" | "delete" | "import";

/** This process does something else with the job. */
export function busyHere(id: string, what: HeldFor): TidemarkError {
  return new TidemarkError(
    "job-busy",
    `Cannot ${what} job ${id}: this process has it open, or salvages, deletes or imports it already; close it first`,
    { details: { job: id } },
  );
}
