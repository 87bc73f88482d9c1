/**
 * What a run of the kill test saw, in words, and how much it must have seen to count.
 * @module
 */
import assert from "node:assert/strict";
import type { Kill } from "./_kill_deck.ts";

/** What a run saw. Of kills, one can hit several things. */
export class KillReport {
  kills = 0;
  /** Kills that left at least one append without an answer. */
  appendHits = 0;
  /** Kills that left a checkpoint without an answer. */
  checkpointHits = 0;
  /** Kills that left a resume without an answer. */
  resumeHits = 0;
  /** Kills while the job was opened after a kill: the request that opened it had no answer. */
  recoveryHits = 0;
  /** Kills before the sidecar listened. */
  startHits = 0;
  /** Appends and checkpoints that were acknowledged. */
  appends = 0;
  checkpoints = 0;
  /** Appends, checkpoints and resumes that had taken effect although their answers were lost. */
  appendsKept = 0;
  checkpointsKept = 0;
  resumesKept = 0;
  /** Resumes that were answered. */
  resumes = 0;
  /** Torn ends that recoveries dropped, and batches that they copied. */
  tornEnds = 0;
  copiedBatches = 0;
}

/** What kills must hit, and how often of fifty. */
interface Aim {
  /** The kill that is aimed at it. */
  readonly kill: Kill;
  readonly name: string;
  readonly hits: "appendHits" | "checkpointHits" | "recoveryHits";
  readonly perFifty: number;
}

const AIMS: readonly Aim[] = [
  { kill: "append", name: "an unanswered append", hits: "appendHits", perFifty: 20 },
  { kill: "checkpoint", name: "a checkpoint", hits: "checkpointHits", perFifty: 5 },
  { kill: "recovery", name: "a recovery", hits: "recoveryHits", perFifty: 5 },
];

/** What too few of so many kills have hit. */
export function missedAims(report: KillReport, kills: number): readonly Aim[] {
  return AIMS.filter(({ hits, perFifty }) => report[hits] < Math.floor(perFifty * kills / 50));
}

/** Fails when too few kills hit what they were aimed at: then the run shows too little. */
export function checkReport(report: KillReport, kills: number): void {
  const missed = missedAims(report, kills).map(({ name, hits }) => `${report[hits]} hit ${name}`);
  assert.deepEqual(missed, [], `of ${report.kills} kills`);
}

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
    `recovered: ${report.tornEnds} torn ends dropped, ${report.copiedBatches} batches copied`,
  ].join("\n");
}
