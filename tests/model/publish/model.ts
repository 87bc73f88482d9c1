/**
 * The publish model: a checkpoint's manifest and its generation, sync by sync, with failing syncs,
 * kills, power cuts, and another process that publishes too.
 * @module
 */
import type { Emit, Model } from "../explorer.ts";
import { newestIsWhole, newestOf } from "./invariants.ts";
import type { PublishRules } from "./rules.ts";
import type { Bounds, Folder, Name, OnDisk, Process, PublishState } from "./state.ts";
import { initialState, nameIn, spend, temporaryOf, withBody, withName } from "./state.ts";
import { withoutName, withoutProcess, withProcess } from "./state.ts";

export function publishModel(rules: PublishRules, bounds: Partial<Bounds>): Model<PublishState> {
  return {
    initial: initialState(bounds),
    successors(state, emit) {
      open(state, rules, emit);
      cutPower(state, emit);
      for (const process of state.processes) {
        if (state.left.kills > 0) {
          const killed = withoutProcess(spend(state, "kills"), process);
          emit(() => `process ${process.process} is killed`, killed);
        }
        stepOf(state, rules, process, emit);
      }
    },
    check: (state) => newestIsWhole(rules, state),
  };
}

function open(state: PublishState, rules: PublishRules, emit: Emit<PublishState>): void {
  if (state.left.opens === 0) return;
  const newest = newestOf(rules, state);
  const process: Process = {
    process: state.started,
    phase: "idle",
    number: newest?.number ?? 0,
    failuresBefore: 0,
    publishes: newest?.body.publishes ?? [],
  };
  const processes = [...state.processes, process];
  const opened = { ...spend(state, "opens"), started: state.started + 1, processes };
  emit(() => `process ${process.process} opens generation ${process.number}`, opened);
}

function stepOf(
  state: PublishState,
  rules: PublishRules,
  process: Process,
  emit: Emit<PublishState>,
): void {
  switch (process.phase) {
    case "idle":
      return writeManifest(state, process, emit);
    case "manifest written":
      return syncManifest(state, rules, process, emit);
    case "manifest synced":
      return syncManifestDirectory(state, rules, process, emit);
    case "manifest named":
      return writeTemporary(state, rules, process, emit);
    case "temporary written":
      return syncTemporary(state, rules, process, emit);
    case "temporary synced":
      return nameGeneration(state, rules, process, emit);
    case "linked":
      return syncDirectory(state, rules, process, emit);
    case "directory sync failed":
      return afterFailedSync(state, rules, process, emit);
    case "synced":
      return confirm(state, rules, process, emit);
  }
}

function ownPublish({ publishes }: Process): number {
  return publishes[publishes.length - 1];
}

function told(process: Process, does: string): () => string {
  return () => `process ${process.process} ${does}`;
}

function writeManifest(state: PublishState, process: Process, emit: Emit<PublishState>): void {
  if (state.left.publishes === 0) return;
  const publish = state.nextPublish;
  const publishes = [...process.publishes, publish];
  const body = state.bodies.length;
  const bodies = [...state.bodies, { publishes: [publish], onDisk: "cached" as const }];
  const paid = { ...spend(state, "publishes"), nextPublish: publish + 1, bodies };
  const named = withName(paid, fresh("checkpoints", publish, body));
  const next = withProcess(named, { ...process, phase: "manifest written", publishes });
  emit(told(process, `writes manifest ${publish}`), next);
}

function fresh(folder: Folder, number: number, body: number): Name {
  return { folder, number, temporary: false, body, onDisk: "cached" };
}

function synced(state: PublishState, body: number): PublishState {
  return withBody(state, body, { ...state.bodies[body], onDisk: "on disk" });
}

function syncManifest(
  state: PublishState,
  rules: PublishRules,
  process: Process,
  emit: Emit<PublishState>,
): void {
  const name = nameIn(state, "checkpoints", ownPublish(process)) as Name;
  const next = rules.manifestSync === "left out" ? state : synced(state, name.body);
  const after = withProcess(next, { ...process, phase: "manifest synced" });
  emit(told(process, "syncs its manifest"), after);
}

function syncManifestDirectory(
  state: PublishState,
  rules: PublishRules,
  process: Process,
  emit: Emit<PublishState>,
): void {
  const left = rules.manifestDirectorySync === "left out";
  const next = left ? state : withFolderSynced(state, "checkpoints");
  const after = withProcess(next, { ...process, phase: "manifest named" });
  emit(told(process, "syncs the directory of its manifest"), after);
}

/** What a directory sync that returns has brought to disk. */
function withFolderSynced(state: PublishState, folder: Folder): PublishState {
  const names = state.names.map((name): Name =>
    name.folder === folder && name.onDisk === "cached" ? { ...name, onDisk: "on disk" } : name
  );
  return { ...state, names };
}

/** Creates the temporary file; where the name is shared, writes into the one that is there. */
function writeTemporary(
  state: PublishState,
  rules: PublishRules,
  process: Process,
  emit: Emit<PublishState>,
): void {
  const number = rules.temporaryName === "unique" ? process.process : 0;
  const existing = rules.temporaryName === "unique" ? undefined : temporaryOf(state, number);
  const written = { publishes: process.publishes, onDisk: "cached" as const };
  const after: Process = { ...process, phase: "temporary written", number: process.number + 1 };
  const label = told(process, `writes a temporary file for generation ${after.number}`);
  if (existing !== undefined) {
    return emit(label, withProcess(withBody(state, existing.body, written), after));
  }
  const body = state.bodies.length;
  const created = { ...state, bodies: [...state.bodies, written] };
  const name: Name = { ...fresh("catalog", number, body), temporary: true };
  emit(label, withProcess(withName(created, name), after));
}

function temporaryNameOf(state: PublishState, rules: PublishRules, { process }: Process): Name {
  return temporaryOf(state, rules.temporaryName === "unique" ? process : 0) as Name;
}

function syncTemporary(
  state: PublishState,
  rules: PublishRules,
  process: Process,
  emit: Emit<PublishState>,
): void {
  const name = temporaryOf(state, rules.temporaryName === "unique" ? process.process : 0);
  if (name === undefined) return emit(told(process, "ends"), withoutProcess(state, process));
  const next = rules.bodySync === "left out" ? state : synced(state, name.body);
  const after = withProcess(next, { ...process, phase: "temporary synced" });
  emit(told(process, "syncs its temporary file"), after);
}

/** Gives the body its final name, if the number is free. */
function nameGeneration(
  state: PublishState,
  rules: PublishRules,
  process: Process,
  emit: Emit<PublishState>,
): void {
  const { number } = process;
  const temporary = temporaryNameOf(state, rules, process);
  const exists = nameIn(state, "catalog", number) !== undefined;
  if (temporary === undefined || (exists && rules.finalName === "linked")) {
    const swept = temporary === undefined ? state : withoutName(state, temporary);
    return emit(
      told(process, `finds generation ${number} taken, and ends`),
      withoutProcess(swept, process),
    );
  }
  const linked = withName(state, fresh("catalog", number, temporary.body));
  const moved = rules.finalName === "linked" ? linked : withoutName(linked, temporary);
  const label = told(process, `names its file generation ${number}`);
  const failuresBefore = state.directoryFailures;
  emit(label, withProcess(moved, { ...process, phase: "linked", failuresBefore }));
}

function syncDirectory(
  state: PublishState,
  rules: PublishRules,
  process: Process,
  emit: Emit<PublishState>,
): void {
  const after = { ...process, phase: "synced" } as const;
  if (rules.directorySync === "left out") {
    return emit(told(process, "does not sync the directory"), withProcess(state, after));
  }
  const hidden = rules.directoryHandle === "for the sync";
  if (hidden || state.directoryFailures === process.failuresBefore) {
    const done = withProcess(withFolderSynced(state, "catalog"), after);
    emit(told(process, "syncs the directory of the catalog"), done);
    if (state.left.failures === 0) return;
    reportFailure(withNamesLost(spend(state, "failures")), process, emit);
  } else reportFailure(state, process, emit);
}

/** A directory sync fails: no name that waited for it is on disk, or will be. */
function withNamesLost(state: PublishState): PublishState {
  const names = state.names.map((name): Name =>
    name.folder === "catalog" && name.onDisk === "cached" ? { ...name, onDisk: "lost" } : name
  );
  return { ...state, names, directoryFailures: state.directoryFailures + 1 };
}

/** The handle tells of a failure, be it of this sync or of another since it was opened. */
function reportFailure(
  state: PublishState,
  process: Process,
  emit: Emit<PublishState>,
): void {
  const { directoryFailures: failuresBefore } = state;
  const after: Process = { ...process, phase: "directory sync failed", failuresBefore };
  emit(
    told(process, "is told that a sync of the catalog's directory failed"),
    withProcess(state, after),
  );
}

function afterFailedSync(
  state: PublishState,
  rules: PublishRules,
  process: Process,
  emit: Emit<PublishState>,
): void {
  if (rules.failedDirectorySync === "syncs again") {
    const next = withProcess(state, { ...process, phase: "linked" });
    return emit(told(process, "tries the directory sync again"), next);
  }
  const again = { ...process, phase: "temporary synced", number: process.number + 1 } as const;
  emit(told(process, `goes on to generation ${again.number}`), withProcess(state, again));
}

/** The pipeline is told; the temporary name and the manifest before go. */
function confirm(
  state: PublishState,
  rules: PublishRules,
  process: Process,
  emit: Emit<PublishState>,
): void {
  const { publishes } = process;
  const folder = rules.parentSync === "left out" ? state.folder : "on disk";
  const confirmed = [...state.confirmed, ownPublish(process)];
  let next: PublishState = { ...state, folder, confirmed };
  const temporary = temporaryOf(next, rules.temporaryName === "unique" ? process.process : 0);
  if (temporary !== undefined) next = withoutName(next, temporary);
  const before = nameIn(next, "checkpoints", publishes[publishes.length - 2] ?? 0);
  if (before !== undefined) next = withoutName(next, before);
  const idle = withProcess(next, { ...process, phase: "idle" });
  emit(told(process, `confirms publish ${ownPublish(process)}, deletes the manifest before`), idle);
}

/** The machine loses power: any part of what was not synced is gone. */
function cutPower(state: PublishState, emit: Emit<PublishState>): void {
  if (state.left.cuts === 0) return;
  const ended = { ...spend(state, "cuts"), processes: [] };
  if (state.folder === "cached") {
    emit(() => "POWER CUT; the job's folder is gone", { ...ended, names: [], bodies: [] });
  }
  for (const names of namesAfterCut(state.names)) {
    const gone = state.names.length - names.length;
    for (const badBodies of [false, true]) {
      const bodies = state.bodies.map((body) => {
        const unsure = body.onDisk === "cached" || body.onDisk === "lost";
        const onDisk: OnDisk = !unsure ? body.onDisk : badBodies ? "bad" : "on disk";
        return { ...body, onDisk };
      });
      const next = { ...ended, folder: "on disk" as const, names, bodies };
      emit(() => `POWER CUT; ${gone} names gone${badBodies ? ", bodies bad" : ""}`, next);
    }
  }
}

/** Every set of names that may be left. */
function namesAfterCut(names: readonly Name[]): Name[][] {
  let outcomes: Name[][] = [[]];
  for (const name of names) {
    const kept: Name = { ...name, onDisk: "on disk" };
    const sure = name.onDisk === "on disk";
    outcomes = outcomes.flatMap((o) => sure ? [[...o, kept]] : [[...o, kept], o]);
  }
  return outcomes;
}
