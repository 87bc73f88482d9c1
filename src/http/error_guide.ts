/**
 * What each error code means and what to do about it, in words: for problem documents, for the
 * command line, and for `docs/ERRORS.md`, which a test holds equal to this table.
 * @module
 */
import type { ErrorCode } from "../engine/errors.ts";

/** One code, explained. */
export interface ErrorExplanation {
  /** What happened, in a few words. */
  readonly title: string;
  /** What to do about it. */
  readonly nextStep: string;
}

/** Every error code, explained. */
export const ERROR_GUIDE: Readonly<Record<ErrorCode, ErrorExplanation>> = {
  "invalid-name": {
    title: "A name is not allowed",
    nextStep:
      "Use 1 to 128 of A-Z a-z 0-9 . _ - for job and writer names, neither starting nor ending with a dot",
  },
  "invalid-change": {
    title: "The changes can't be read",
    nextStep: "Send whole changes in the stated format; nothing of this input was taken",
  },
  "invalid-request": {
    title: "The request is not valid",
    nextStep: "Correct what the message names; nothing was changed",
  },
  "unauthorized": {
    title: "The request carries no token that is known",
    nextStep:
      "Send a token of this sidecar, as Authorization: Bearer TOKEN, or in TIDEMARK_TOKEN for the command line",
  },
  "forbidden": {
    title: "The token lacks a right",
    nextStep:
      "Use a token that has the right that the message names, or ask whoever keeps the token file",
  },
  "change-too-large": {
    title: "A change is too large",
    nextStep: "Split the value into changes of at most 256 MiB, and into smaller appends",
  },
  "unsupported-format": {
    title: "The data is of a newer or another format",
    nextStep: "Use a release of Tidemark that knows this format; nothing was touched",
  },
  "unsupported-file-system": {
    title: "The file system can't keep the guarantees",
    nextStep:
      "Put the store on a local file system with hard links and directory sync, such as ext4 or XFS",
  },
  "symbolic-link": {
    title: "A symbolic link leads out of the store",
    nextStep: "Replace the link by what it points to, or open the store at its real place",
  },
  "not-a-store": {
    title: "The folder is not a store",
    nextStep: "Name a folder that holds a store, or a new or empty one to create a store in",
  },
  "read-only": {
    title: "The store is open for reading only",
    nextStep: "Open it as its owner to change it",
  },
  "truncated": {
    title: "The changes were truncated",
    nextStep: "Start from the oldest checkpoint that still has them",
  },
  "invalid-archive": {
    title: "The archive can't be imported",
    nextStep: "Export the job again, and check that all of it arrived; nothing of it was taken",
  },
  "store-not-found": {
    title: "There is no store",
    nextStep: "Check the path; append and serve create a store where there is none",
  },
  "job-not-found": {
    title: "There is no such job",
    nextStep: "Check the name, or create the job first: PUT /v1/jobs/{job}, or tidemark append",
  },
  "writer-not-found": {
    title: "There is no such writer",
    nextStep: "Check the name against the job's writers; the first append begins a writer",
  },
  "checkpoint-not-found": {
    title: "There is no such checkpoint",
    nextStep:
      "List the job's checkpoints and name one of them; without any, read the tail (at=tail, --at tail)",
  },
  "state-not-found": {
    title: "The checkpoint has no such state",
    nextStep: "Show the checkpoint and name one of its states",
  },
  "object-not-found": {
    title: "An object is missing from the store",
    nextStep: "Run verify on the job to see what it still has",
  },
  "snapshot-expired": {
    title: "What was being read was collected meanwhile",
    nextStep: "Read again; it starts from what is there now",
  },
  "object-exists": {
    title: "An object is there already",
    nextStep: "Open the job again; if this repeats, another process writes to the store",
  },
  "job-busy": {
    title: "Another live process owns the job, or somebody reads it",
    nextStep: "Stop that process, or talk to it over HTTP (--url)",
  },
  "settings-conflict": {
    title: "The job is open with other settings",
    nextStep: "Use the settings it was opened with, or close it first",
  },
  "fingerprint-mismatch": {
    title: "The checkpoint is of another pipeline shape",
    nextStep:
      "Resume from a checkpoint of this fingerprint, or accept the other one by name if its state fits",
  },
  "offset-conflict": {
    title: "Other changes were appended at this offset",
    nextStep: "Do not repeat this append: resume, and replay from the position that resume answers",
  },
  "offset-mismatch": {
    title: "The append is not at the writer's end",
    nextStep: "Continue at details.expectedOffset; nothing of this append was taken",
  },
  "run-required": {
    title: "The append does not say which run it belongs to",
    nextStep: "Send the run that resume answered, as Tidemark-Run or --run",
  },
  "too-many-checkpoints": {
    title: "The job has as many checkpoints as it can list",
    nextStep: "Remove checkpoints before making another",
  },
  "plan-changed": {
    title: "The plan is not the one that was accepted",
    nextStep: "Look at the new plan, and accept that one; nothing was done",
  },
  "checkpoint-in-use": {
    title: "The checkpoint is still needed",
    nextStep:
      "Look at the reason: make a newer checkpoint, unpin it, or wait until its readers have ended",
  },
  "checkpoint-exists": {
    title: "A checkpoint of this uuid was begun or made before",
    nextStep: "List the checkpoints: it may be the one that is wanted; else use another uuid",
  },
  "idempotency-conflict": {
    title: "The idempotency key stands for another request",
    nextStep: "Repeat that very request, or use another key",
  },
  "job-exists": {
    title: "There is such a job already",
    nextStep: "Import under another name, or delete the job first",
  },
  "import-unfinished": {
    title: "The job is being imported, or an import of it was stopped",
    nextStep: "Wait for the import, or import the job again, or delete it",
  },
  "fenced": {
    title: "A newer owner or a newer run took over",
    nextStep:
      "Stop writing with this handle or run; resume to learn where the pipeline starts again",
  },
  "backpressure": {
    title: "The store takes no more at the moment",
    nextStep: "Send the same append again a little later; nothing of it was taken",
  },
  "storage-unavailable": {
    title: "The storage did not answer or failed",
    nextStep: "Look at the cause and at the outcome; try again when the storage works",
  },
  "storage-denied": {
    title: "The storage denied access",
    nextStep: "Give the named user the right to the named path",
  },
  "server-unreachable": {
    title: "The sidecar did not answer",
    nextStep:
      "Check that it runs and that the address is right; after a lost answer, repeat with an offset",
  },
  "listen-failed": {
    title: "The address can't be listened on",
    nextStep: "Choose another address or port with --listen; port 0 takes any free one",
  },
  "aborted": {
    title: "The call was given up",
    nextStep: "Call again if the result is still wanted",
  },
  "storage-full": {
    title: "The storage is full",
    nextStep: "Make room; the store goes on by itself, and what was acknowledged is safe",
  },
  "corrupt": {
    title: "Stored data is damaged",
    nextStep:
      "Leave the store as it is and run verify --full; put back what is bad from a copy, or look at what tidemark salvage would do",
  },
  "catalog-lost": {
    title: "The job has files but no readable catalog",
    nextStep:
      "Put the catalog back from a copy, or look at what tidemark salvage would do; nothing was touched",
  },
  "changes-lost": {
    title: "Acknowledged changes are missing",
    nextStep:
      "Put the named files back from a copy, or look at what tidemark salvage would do; nothing was touched",
  },
  "closed": {
    title: "It is closed, or closing",
    nextStep: "Open it again, or wait until the sidecar is back",
  },
  "internal": {
    title: "An error inside Tidemark",
    nextStep: "Report it with the message and what led to it",
  },
};
