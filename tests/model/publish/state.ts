/**
 * State of the publish model: names and bodies in the folders of one job on one disk.
 * Owns: the types, how a state is made and changed.
 * Does not own: what may happen (steps), what must hold (invariants).
 * @module
 */

/** `lost`: there while the machine runs, but its sync failed; no later sync brings it to disk. */
export type OnDisk = "cached" | "on disk" | "lost" | "bad";

/** What a file holds. Each publish adds its number to those of the generation that it follows. */
export interface Body {
  readonly publishes: readonly number[];
  readonly onDisk: OnDisk;
}

export type Folder = "catalog" | "checkpoints";

export interface Name {
  readonly folder: Folder;
  /** Generation number, number of a publish (manifest), or process (temporary file). */
  readonly number: number;
  readonly temporary: boolean;
  /** Index of the body: several names may share one. */
  readonly body: number;
  readonly onDisk: OnDisk;
}

/** How far a process has come with its publish. */
export type Phase =
  | "idle"
  | "manifest written"
  | "manifest synced"
  | "manifest named"
  | "temporary written"
  | "temporary synced"
  | "linked"
  | "synced"
  | "directory sync failed";

export interface Process {
  readonly process: number;
  readonly phase: Phase;
  readonly number: number;
  /** How many directory syncs had failed when it opened the directory. */
  readonly failuresBefore: number;
  /** What it publishes, or what the newest generation that it knows says. */
  readonly publishes: readonly number[];
}

export interface Bounds {
  readonly publishes: number;
  readonly opens: number;
  readonly kills: number;
  readonly cuts: number;
  readonly failures: number;
}

export interface PublishState {
  readonly bodies: readonly Body[];
  readonly names: readonly Name[];
  /** The job's folder: until its parent is synced, a power cut may take all of it. */
  readonly folder: "cached" | "on disk";
  readonly processes: readonly Process[];
  readonly started: number;
  /** How many syncs of the catalog's directory have failed. */
  readonly directoryFailures: number;
  /** Publishes that the pipeline was told of. */
  readonly confirmed: readonly number[];
  readonly nextPublish: number;
  readonly left: Bounds;
}

/** A new job that one process has open. */
export function initialState(bounds: Partial<Bounds>): PublishState {
  return {
    bodies: [],
    names: [],
    folder: "cached",
    processes: [{ process: 0, phase: "idle", number: 0, failuresBefore: 0, publishes: [] }],
    started: 1,
    directoryFailures: 0,
    confirmed: [],
    nextPublish: 1,
    left: { publishes: 0, opens: 0, kills: 0, cuts: 0, failures: 0, ...bounds },
  };
}

export function spend(state: PublishState, what: keyof Bounds): PublishState {
  return { ...state, left: { ...state.left, [what]: state.left[what] - 1 } };
}

export function withProcess(state: PublishState, process: Process): PublishState {
  const processes = state.processes.map((one) => one.process === process.process ? process : one);
  return { ...state, processes };
}

export function withoutProcess(state: PublishState, { process }: Process): PublishState {
  return { ...state, processes: state.processes.filter((one) => one.process !== process) };
}

export function nameIn(
  { names }: PublishState,
  folder: Folder,
  number: number,
): Name | undefined {
  return names.find((one) => one.folder === folder && one.number === number && !one.temporary);
}

export function temporaryOf({ names }: PublishState, number: number): Name | undefined {
  return names.find((one) => one.temporary && one.number === number);
}

/** Adds a name, or puts it in the place of the one that is there. */
export function withName(state: PublishState, name: Name): PublishState {
  const others = state.names.filter((one) =>
    one.folder !== name.folder || one.number !== name.number || one.temporary !== name.temporary
  );
  return { ...state, names: [...others, name].sort(byPlace) };
}

function byPlace(a: Name, b: Name): number {
  return rankOf(a) - rankOf(b);
}

function rankOf({ folder, number, temporary }: Name): number {
  return (folder === "catalog" ? 0 : 100) + (temporary ? 50 : 0) + number;
}

export function withoutName(state: PublishState, name: Name): PublishState {
  return { ...state, names: state.names.filter((one) => one !== name) };
}

export function withBody(state: PublishState, index: number, body: Body): PublishState {
  return { ...state, bodies: state.bodies.map((one, at) => at === index ? body : one) };
}

/** The generation that an opener takes for the newest: its number and its body. */
export interface Newest {
  readonly number: number;
  readonly body: Body;
}

export function generationsOf(state: PublishState): Newest[] {
  return state.names
    .filter(({ folder, temporary }) => folder === "catalog" && !temporary)
    .map(({ number, body }) => ({ number, body: state.bodies[body] }));
}
