/**
 * State of the log model: one job's change files on one disk, with failing syncs, kills, power cuts
 * and take-overs. Publishes are atomic here; the other models look into them.
 * Owns: the types, how a state is made and changed.
 * Does not own: what may happen (steps), what must hold (invariants).
 * @module
 */

/** Epoch * 16 + number within the epoch, so that keys sort as files do. */
export type FileKey = number;

/** Stands where an owner has no file open, or a set is in none. */
export const NO_FILE: FileKey = 0;

/**
 * A change set. An epoch appends at most one at each place (writer, SQN), so that place and epoch
 * say what is in it; every set holds one change, so that SQNs are offsets too.
 */
export interface ChangeSet {
  readonly writer: number;
  readonly sqn: number;
  readonly epoch: number;
}

/** `lost`: to be read while the machine runs, but its write-back failed. */
export type OnDisk = "cached" | "on disk" | "lost" | "bad";

export interface Batch {
  readonly sets: readonly ChangeSet[];
  readonly onDisk: OnDisk;
}

/** A file and how many of its batches count: synced, adopted, or needed. */
export interface FilePart {
  readonly file: FileKey;
  readonly length: number;
}

export interface LogFile {
  readonly key: FileKey;
  readonly batches: readonly Batch[];
  /** Predecessors with their synced lengths, as its header names them. */
  readonly predecessors: readonly FilePart[];
  readonly sealed: boolean;
  readonly nameOnDisk: boolean;
  readonly header: OnDisk;
}

/** By writer, then by SQN: the epoch of the set that is there. */
export type Content = readonly (readonly number[])[];

/** By writer, then by SQN: the file that holds the set, up to and with its batch. */
export type Places = readonly (readonly (FilePart | null)[])[];

export interface Checkpoint {
  readonly id: number;
  readonly content: Content;
  readonly places: Places;
  /** By writer: sets below are in state objects, and need no file. */
  readonly base: readonly number[];
  readonly files: readonly FilePart[];
}

export interface Adopted {
  readonly parts: readonly FilePart[];
  /** By writer, where the adopted part ends. */
  readonly ends: readonly number[];
}

/** The newest generation of the catalog. */
export interface Generation {
  readonly epoch: number;
  readonly checkpoints: readonly Checkpoint[];
  readonly head: number;
  readonly tailFrom: FileKey;
  readonly adopted: Adopted | null;
  readonly doomed: readonly FileKey[];
}

export interface Write {
  readonly file: FileKey;
  readonly index: number;
  readonly sets: readonly ChangeSet[];
}

export type Durability = "pending" | "writing" | "durable";

/** What a scan found, while the owner makes its copies. */
export interface Found {
  readonly content: Content;
  readonly places: Places;
  readonly adopted: Adopted;
  readonly copies: readonly Write[];
}

/** Files read one after another, while others write. */
export interface Snapshot {
  readonly toRead: readonly FileKey[];
  readonly read: readonly LogFile[];
}

export interface RollOver {
  readonly position: readonly number[];
  readonly tailFrom: FileKey;
}

export interface Owner {
  readonly epoch: number;
  readonly phase: "fencing" | "scanning" | "copying" | "running";
  readonly content: Content;
  readonly durability: readonly (readonly Durability[])[];
  readonly places: Places;
  readonly openFile: FileKey;
  readonly nextNumber: number;
  /** Files that the next header names. */
  readonly unnamed: readonly FilePart[];
  /** Batches of the open file whose sync has returned. */
  readonly synced: number;
  /** Batches of the open file that are acknowledged. */
  readonly acknowledged: number;
  readonly writes: readonly Write[];
  /** A write that was given up, where its late success would count. */
  readonly late: Write | null;
  /** How far a scan has come that does not read all at once. */
  readonly snapshot: Snapshot | null;
  readonly found: Found | null;
  readonly rollOver: RollOver | null;
  readonly checkpointed: boolean;
  /** Files that a sweep has listed. */
  readonly listed: readonly FileKey[] | null;
}

/** A reader of the tail in another process. */
export interface Reader {
  readonly phase: "idle" | "listing" | "reading";
  readonly generation: Generation | null;
  readonly snapshot: Snapshot | null;
  readonly linesBefore: readonly Content[];
  readonly acknowledgedAtStart: readonly number[];
}

/** What an all-knowing observer has seen. */
export interface Truth {
  readonly servingEpoch: number;
  readonly line: Content;
  readonly acknowledged: readonly number[];
  /** Whether a byte that was on disk has changed. */
  readonly rotten: boolean;
}

/** How often each thing may still happen. */
export interface Bounds {
  readonly appends: number;
  readonly opens: number;
  /** Scans of a take-over that read file by file, and not all at once. */
  readonly slowScans: number;
  readonly kills: number;
  readonly cuts: number;
  readonly failures: number;
  readonly seals: number;
  readonly checkpoints: number;
  readonly materialised: number;
  readonly collections: number;
  readonly sweeps: number;
  readonly resumes: number;
  readonly tailResumes: number;
  readonly rots: number;
  readonly reads: number;
}

export interface LogState {
  readonly claimed: number;
  readonly generation: Generation;
  readonly files: readonly LogFile[];
  readonly deletes: readonly FileKey[];
  readonly owners: readonly Owner[];
  readonly reader: Reader;
  readonly truth: Truth;
  readonly left: Bounds;
}

const NOTHING: Bounds = {
  appends: 0,
  opens: 0,
  slowScans: 0,
  kills: 0,
  cuts: 0,
  failures: 0,
  seals: 0,
  checkpoints: 0,
  materialised: 0,
  collections: 0,
  sweeps: 0,
  resumes: 0,
  tailResumes: 0,
  rots: 0,
  reads: 0,
};

export const IDLE_READER: Reader = {
  phase: "idle",
  generation: null,
  snapshot: null,
  linesBefore: [],
  acknowledgedAtStart: [],
};

/** At most this many owners run at once: one that serves and one that takes over. */
export const OWNERS_MAX = 2;

export function forEachWriter<Value>(writers: number, value: (writer: number) => Value): Value[] {
  return Array.from({ length: writers }, (_, writer) => value(writer));
}

/** An owner with no file open and nothing in flight. */
export function ownerWith(
  epoch: number,
  phase: Owner["phase"],
  content: Content,
  places: Places,
): Owner {
  return {
    epoch,
    phase,
    content,
    durability: content.map((sets) => sets.map(() => "durable")),
    places,
    openFile: NO_FILE,
    nextNumber: 1,
    unnamed: [],
    synced: 0,
    acknowledged: 0,
    writes: [],
    late: null,
    snapshot: null,
    found: null,
    rollOver: null,
    checkpointed: false,
    listed: null,
  };
}

/** Epoch 1 owns a new job. */
export function initialState(writers: number, bounds: Partial<Bounds>): LogState {
  const nothing = forEachWriter(writers, () => []);
  return {
    claimed: 1,
    generation: {
      epoch: 1,
      checkpoints: [],
      head: 0,
      tailFrom: startOf(1),
      adopted: null,
      doomed: [],
    },
    files: [],
    deletes: [],
    owners: [ownerWith(1, "running", nothing, nothing)],
    reader: IDLE_READER,
    truth: {
      servingEpoch: 1,
      line: nothing,
      acknowledged: forEachWriter(writers, () => 0),
      rotten: false,
    },
    left: { ...NOTHING, ...bounds },
  };
}

/** The key before every file of an epoch. */
export function startOf(epoch: number): FileKey {
  return epoch * 16;
}

export function epochOf(key: FileKey): number {
  return key >> 4;
}

export function fileOf(files: readonly LogFile[], key: FileKey): LogFile | undefined {
  return files.find((file) => file.key === key);
}

export function checkpointOf({ checkpoints }: Generation, id: number, writers: number): Checkpoint {
  const found = checkpoints.find((one) => one.id === id);
  if (found !== undefined) return found;
  const nothing = forEachWriter(writers, () => []);
  const base = forEachWriter(writers, () => 0);
  return { id: 0, content: nothing, places: nothing, base, files: [] };
}

export function headOf({ generation, truth }: LogState): Checkpoint {
  return checkpointOf(generation, generation.head, truth.line.length);
}

export function positionOf(content: Content): number[] {
  return content.map((sets) => sets.length);
}

export function spend(state: LogState, what: keyof Bounds): LogState {
  return { ...state, left: { ...state.left, [what]: state.left[what] - 1 } };
}

export function withOwner(state: LogState, owner: Owner): LogState {
  return { ...state, owners: state.owners.map((o) => o.epoch === owner.epoch ? owner : o) };
}

export function withoutOwner(state: LogState, { epoch }: Owner): LogState {
  return { ...state, owners: state.owners.filter((owner) => owner.epoch !== epoch) };
}

/** Puts a file in the place of the one with its key, or adds it. */
export function withFile(state: LogState, file: LogFile): LogState {
  const others = state.files.filter(({ key }) => key !== file.key);
  return { ...state, files: [...others, file].sort((a, b) => a.key - b.key) };
}

export function withBatch(file: LogFile, index: number, onDisk: OnDisk): LogFile {
  return { ...file, batches: file.batches.map((b, i) => i === index ? { ...b, onDisk } : b) };
}

/** A batch whose bytes are bad says nothing. */
export function withoutContent(file: LogFile, index: number): LogFile {
  const batches = file.batches.map((batch, i) =>
    i === index ? { sets: [], onDisk: "bad" as const } : batch
  );
  return { ...file, batches };
}

/** A directory sync brings every name to disk. */
export function syncDirectory(state: LogState): LogState {
  return {
    ...state,
    files: state.files.map((file) => file.nameOnDisk ? file : { ...file, nameOnDisk: true }),
  };
}

/** Replaces one item of a list of lists. */
export function replaceAt<Item>(
  lists: readonly (readonly Item[])[],
  { writer, sqn }: { readonly writer: number; readonly sqn: number },
  item: Item,
): (readonly Item[])[] {
  return lists.map((list, w) => w === writer ? list.map((one, q) => q === sqn ? item : one) : list);
}

/** The end of what a writer has durable without a hole. */
export function durableEnd(owner: Owner, writer: number): number {
  const hole = owner.durability[writer].findIndex((one) => one !== "durable");
  return hole < 0 ? owner.durability[writer].length : hole;
}

/** The parts of files that hold a range of every writer, each as long as the range needs. */
export function partsOf(
  places: Places,
  from: readonly number[],
  to: readonly number[],
): FilePart[] {
  const lengths = new Map<FileKey, number>();
  places.forEach((ofWriter, writer) => {
    for (const place of ofWriter.slice(from[writer], to[writer])) {
      if (place === null) continue;
      lengths.set(place.file, Math.max(lengths.get(place.file) ?? 0, place.length));
    }
  });
  return [...lengths]
    .map(([file, length]) => ({ file, length }))
    .sort((a, b) => a.file - b.file);
}

export function nameOfFile(key: FileKey): string {
  return `(${epochOf(key)},${key & 15})`;
}

export function listOfSets(sets: readonly ChangeSet[]): string {
  return sets.map(({ writer, sqn }) => `w${writer}s${sqn}`).join(" ");
}

/** Of each writer the epochs of its sets: `[1 1|2]`. */
export function listOfContent(content: Content): string {
  return `[${content.map((sets) => sets.join(" ")).join("|")}]`;
}
