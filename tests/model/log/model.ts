/**
 * The log model: everything that may happen next.
 * @module
 */
import type { Emit, Model } from "../explorer.ts";
import { cutPower, kill, landDelete, rot } from "./disk.ts";
import { openFileStays, publishedIsRestorable } from "./invariants.ts";
import { collect, publishCheckpoint, resumeAt, rollOver, sweep } from "./keeping.ts";
import { readTail } from "./reading.ts";
import { claimEpoch, copyOrPublish, publishFence, scan } from "./recovery.ts";
import type { LogRules } from "./rules.ts";
import type { Bounds, LogState, Owner } from "./state.ts";
import { fileOf, initialState, NO_FILE, withoutOwner } from "./state.ts";
import { acknowledge, append, sealFile, settleWrite, writeBatch } from "./writing.ts";

export function logModel(
  rules: LogRules,
  writers: number,
  bounds: Partial<Bounds>,
): Model<LogState> {
  return {
    initial: initialState(writers, bounds),
    successors(state, emit) {
      for (const key of state.deletes) landDelete(state, key, emit);
      claimEpoch(state, emit);
      cutPower(state, emit);
      rot(state, emit);
      for (const owner of state.owners) {
        kill(state, owner, emit);
        stepsOfOwner(state, rules, owner, emit);
      }
      readTail(state, rules, emit);
    },
    check: (state) => publishedIsRestorable(rules, state) ?? openFileStays(state),
  };
}

function stepsOfOwner(
  state: LogState,
  rules: LogRules,
  owner: Owner,
  emit: Emit<LogState>,
): void {
  if (owner.openFile !== NO_FILE && fileOf(state.files, owner.openFile) === undefined) {
    const label = () => `${owner.epoch} finds its file gone, and ends`;
    return emit(label, withoutOwner(state, owner));
  }
  switch (owner.phase) {
    case "fencing":
      return publishFence(state, owner, emit);
    case "scanning":
      return scan(state, rules, owner, emit);
    case "copying":
      return copyOrPublish(state, rules, owner, emit);
    case "running":
      return serve(state, rules, owner, emit);
  }
}

function serve(state: LogState, rules: LogRules, owner: Owner, emit: Emit<LogState>): void {
  append(state, owner, emit);
  writeBatch(state, rules, owner, emit);
  settleWrite(state, rules, owner, emit);
  sealFile(state, rules, owner, emit);
  acknowledge(state, rules, owner, emit);
  rollOver(state, owner, emit);
  publishCheckpoint(state, rules, owner, emit);
  collect(state, rules, owner, emit);
  sweep(state, rules, owner, emit);
  resumeAt(state, rules, owner, emit);
}
