/**
 * State of the catalog model: owners of one job with one writer that meet only in a store where each
 * message lands at any later moment, also after its sender has died or given up.
 * Owns: the types, how a state is made and changed.
 * Does not own: what may happen (steps), what must hold (invariants).
 * @module
 */

/**
 * One change, named by who appended it: process * 8 + run. A process appends at most one change per
 * offset and run, so that two changes at the same offset are the same if their names are.
 */
export type Change = number;

/** Names a change file: process * 16 + how many files it had sent before. */
export type FileKey = number;

/** Stands where no file is known to hold an offset durably. */
export const NO_FILE: FileKey = -1;

export interface ChangeFile {
  readonly key: FileKey;
  readonly epoch: number;
  readonly firstOffset: number;
  readonly changes: readonly Change[];
}

export interface Checkpoint {
  readonly id: number;
  /** Every change up to its position. */
  readonly changes: readonly Change[];
  /** For each offset the file that holds it. */
  readonly files: readonly FileKey[];
}

export type PublishKind =
  | "fence"
  | "recovered"
  | "checkpoint"
  | "resume"
  | "collect"
  | "doom"
  | "deleted";

/** One immutable version of the catalog. */
export interface Generation {
  readonly number: number;
  readonly writeId: number;
  readonly kind: PublishKind;
  readonly epoch: number;
  readonly run: number;
  readonly checkpoints: readonly Checkpoint[];
  /** Id of the checkpoint from which the tail goes on; 0: none. */
  readonly head: number;
  /** Files of lower epochs belong to the tail only if adopted. */
  readonly tailFrom: number;
  /** Files of the adopted offsets, the first being the offset at which `head` ends. */
  readonly adopted: readonly FileKey[];
  readonly doomed: readonly FileKey[];
  readonly readable: boolean;
}

export type Message =
  | { readonly kind: "put file"; readonly file: ChangeFile }
  | { readonly kind: "put manifest"; readonly id: number }
  | { readonly kind: "delete file"; readonly key: FileKey }
  | { readonly kind: "delete manifest"; readonly id: number }
  | {
    readonly kind: "create generation";
    readonly generation: Generation;
    /** What its owner restored before it sent this; null unless it says `recovered`. */
    readonly restored: readonly Change[] | null;
  };

/** Change sets on their way into one file. */
export interface Upload {
  readonly firstOffset: number;
  readonly changes: readonly Change[];
  /** More than one if the upload was hedged. */
  readonly keys: readonly FileKey[];
  /** What the look-up found, if it was made before the write. */
  readonly lookedUpClear: boolean;
}

/** A publish whose outcome the owner does not know yet. */
export interface Pending {
  readonly generation: Generation;
  readonly restored: readonly Change[] | null;
  readonly answer: "none" | "created" | "exists";
  /** Files to delete, and the manifest to clean up if it failed; 0: none. */
  readonly filesToDelete: readonly FileKey[];
  readonly manifest: number;
}

export type Phase =
  | "claiming"
  | "fencing"
  | "recovering"
  | "publishing"
  | "running"
  | "deleting"
  | "sweeping"
  | "gone";

/** What a scan found: the changes of the job, and the files that hold those above `head`. */
export interface Found {
  readonly restored: readonly Change[];
  readonly adopted: readonly FileKey[];
}

/** What a sweep took first. */
export type Sweep = { readonly listed: readonly FileKey[] } | { readonly kept: readonly FileKey[] };

export interface Owner {
  readonly process: number;
  readonly phase: Phase;
  /** Whether it took its epoch to delete the job. */
  readonly deletes: boolean;
  readonly epoch: number;
  /** The generation that it holds for the newest. */
  readonly known: Generation | null;
  /** Kept only by an owner that scans before it claims. */
  readonly found: Found | null;
  readonly changes: readonly Change[];
  /** For each offset the file that holds it durably, `NO_FILE` while none is known to. */
  readonly durableIn: readonly FileKey[];
  /** Where it began to append: no checkpoint lies below. */
  readonly base: number;
  readonly uploads: readonly Upload[];
  /** Files of hedged uploads that lost. */
  readonly losers: readonly FileKey[];
  readonly pending: Pending | null;
  /** A publish of unknown outcome that it has gone past; null where it waits instead. */
  readonly overtaken: Pending | null;
  readonly sweep: Sweep | null;
  readonly filesSent: number;
  readonly publishesSent: number;
}

/** A process that reads the tail without lock or lease. */
export interface Reader {
  readonly phase: "idle" | "listed" | "scanning" | "scanned";
  readonly listed: number;
  readonly generation: Generation | null;
  readonly result: readonly Change[];
  /** Lines that were current since it began, but for the present one. */
  readonly linesBefore: readonly (readonly Change[])[];
  readonly acknowledgedAtStart: number;
}

/** What an all-knowing observer has seen: it decides nothing, the invariants compare with it. */
export interface Truth {
  readonly servingProcess: number;
  readonly servingEpoch: number;
  /** What the serving owner's pipeline appended, in order. */
  readonly line: readonly Change[];
  /** End of what was acknowledged. */
  readonly acknowledged: number;
  /** Checkpoints whose publish was confirmed to the pipeline, and that were not collected. */
  readonly confirmed: readonly number[];
}

/** How often each thing may still happen. */
export interface Bounds {
  readonly appends: number;
  readonly pairs: number;
  readonly opens: number;
  readonly checkpoints: number;
  readonly resumes: number;
  readonly hedges: number;
  readonly giveUps: number;
  readonly lostAnswers: number;
  readonly collections: number;
  readonly sweeps: number;
  readonly deletions: number;
  readonly reads: number;
  readonly removals: number;
  readonly rots: number;
  readonly catalogLosses: number;
}

export interface CatalogState {
  /** By number; the owners keep only the newest few. */
  readonly generations: readonly Generation[];
  /** By epoch: a bit for each process that holds that owner key for its own; 0: no such key. */
  readonly ownerKeys: readonly number[];
  readonly files: readonly ChangeFile[];
  readonly manifests: readonly number[];
  readonly messages: readonly Message[];
  readonly owners: readonly Owner[];
  readonly reader: Reader;
  readonly truth: Truth;
  readonly left: Bounds;
}

const NOTHING: Bounds = {
  appends: 0,
  pairs: 0,
  opens: 0,
  checkpoints: 0,
  resumes: 0,
  hedges: 0,
  giveUps: 0,
  lostAnswers: 0,
  collections: 0,
  sweeps: 0,
  deletions: 0,
  reads: 0,
  removals: 0,
  rots: 0,
  catalogLosses: 0,
};

/** How many generations an owner keeps: the design's 16 would never be reached in so few steps. */
export const GENERATIONS_KEPT = 2;

export const IDLE_READER: Reader = {
  phase: "idle",
  listed: 0,
  generation: null,
  result: [],
  linesBefore: [],
  acknowledgedAtStart: 0,
};

/** An owner that has just started, or nothing of one that has ended. */
export function ownerIn(phase: Phase, process: number): Owner {
  return {
    process,
    phase,
    deletes: false,
    epoch: 0,
    known: null,
    found: null,
    changes: [],
    durableIn: [],
    base: 0,
    uploads: [],
    losers: [],
    pending: null,
    overtaken: null,
    sweep: null,
    filesSent: 0,
    publishesSent: 0,
  };
}

/** Process 0 owns a new job and has published its first generation. */
export function initialState(bounds: Partial<Bounds>): CatalogState {
  const first: Generation = {
    number: 1,
    writeId: 0,
    kind: "recovered",
    epoch: 1,
    run: 1,
    checkpoints: [],
    head: 0,
    tailFrom: 1,
    adopted: [],
    doomed: [],
    readable: true,
  };
  const owner = { ...ownerIn("running", 0), epoch: 1, known: first, publishesSent: 1 };
  return {
    generations: [first],
    ownerKeys: [0, 1],
    files: [],
    manifests: [],
    messages: [],
    owners: [owner],
    reader: IDLE_READER,
    truth: { servingProcess: 0, servingEpoch: 1, line: [], acknowledged: 0, confirmed: [] },
    left: { ...NOTHING, ...bounds },
  };
}

export function newestGeneration(state: CatalogState): Generation | undefined {
  return state.generations[state.generations.length - 1];
}

/** The checkpoint of that id, or the empty one from which a job without `head` goes on. */
export function checkpointOf(generation: Generation, id: number): Checkpoint {
  return generation.checkpoints.find((one) => one.id === id) ?? { id: 0, changes: [], files: [] };
}

export function withOwner(state: CatalogState, owner: Owner): CatalogState {
  return { ...state, owners: state.owners.map((o) => o.process === owner.process ? owner : o) };
}

export function spend(state: CatalogState, what: keyof Bounds, count = 1): CatalogState {
  return { ...state, left: { ...state.left, [what]: state.left[what] - count } };
}

/** Messages are a bag: held in one order, so that the order of sending makes no other state. */
export function withMessages(state: CatalogState, ...more: Message[]): CatalogState {
  const messages = [...state.messages, ...more].sort((a, b) => rankOf(a) - rankOf(b));
  return { ...state, messages };
}

export function withoutMessage(state: CatalogState, message: Message): CatalogState {
  const at = state.messages.indexOf(message);
  return { ...state, messages: state.messages.filter((_, i) => i !== at) };
}

function rankOf(message: Message): number {
  switch (message.kind) {
    case "put file":
      return message.file.key;
    case "put manifest":
      return 1000 + message.id;
    case "delete file":
      return 2000 + message.key;
    case "delete manifest":
      return 3000 + message.id;
    case "create generation":
      return 4000 + message.generation.writeId;
  }
}

export function withFile(state: CatalogState, file: ChangeFile): CatalogState {
  const others = state.files.filter((one) => one.key !== file.key);
  return { ...state, files: [...others, file].sort((a, b) => a.key - b.key) };
}

export function hasFile(state: CatalogState, key: FileKey): boolean {
  return state.files.some((file) => file.key === key);
}

/** The end of what is durable without a hole. */
export function durableEnd(owner: Owner): number {
  const hole = owner.durableIn.indexOf(NO_FILE);
  return hole < 0 ? owner.durableIn.length : hole;
}

/** The bit of a process in an owner key. */
export function bitOf(process: number): number {
  return 1 << process;
}

export function nameOfProcess(process: number): string {
  return "ABCDEFGH"[process];
}

/** `A1` is a change that process A appended in run 1. */
export function nameOfChange(change: Change): string {
  return `${nameOfProcess(change >> 3)}${change & 7}`;
}

export function listOfChanges(changes: readonly Change[]): string {
  return `[${changes.map(nameOfChange).join(" ")}]`;
}

export function nameOfFile(key: FileKey): string {
  return `file ${nameOfProcess(key >> 4)}.${key & 15}`;
}
