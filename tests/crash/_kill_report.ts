/**
 * What a run of the kill test saw, in words, and how much it must have seen to count.
 * @module
 */
import assert from "node:assert/strict";
import type { KillReport } from "./_kill_run.ts";

const APPEND_HITS_MIN = 20;
const CHECKPOINT_HITS_MIN = 5;
const RECOVERY_HITS_MIN = 5;
/** The minima are for so many kills. */
const FIFTY = 50;

/** A few lines for people. */
export function describeReport(report: KillReport): string {
  return [
    `${report.kills} kills hit ${report.appendHits} unanswered appends, ` +
    `${report.checkpointHits} checkpoints, ${report.recoveryHits} recoveries, ` +
    `${report.resumeHits} resumes, ${report.startHits} starts`,
    `answered: ${report.appends} appends, ${report.checkpoints} checkpoints, ` +
    `${report.resumes} resumes`,
    `there without an answer: ${report.appendsKept} appends, ` +
    `${report.checkpointsKept} checkpoints, ${report.resumesKept} resumes`,
  ].join("\n");
}

/** Fails when too few kills hit what they were aimed at: then the run shows too little. */
export function checkReport(report: KillReport): void {
  const hits: readonly (readonly [name: string, found: number, perFifty: number])[] = [
    ["an unanswered append", report.appendHits, APPEND_HITS_MIN],
    ["a checkpoint", report.checkpointHits, CHECKPOINT_HITS_MIN],
    ["a recovery", report.recoveryHits, RECOVERY_HITS_MIN],
  ];
  for (const [name, found, perFifty] of hits) {
    const wanted = Math.floor(perFifty * report.kills / FIFTY);
    assert.ok(found >= wanted, `${found} of ${report.kills} kills hit ${name}, wanted ${wanted}`);
  }
}
