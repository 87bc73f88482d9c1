/**
 * What the tail of a job is made of: which change sets, writer by writer, and which files hold them.
 * @module
 */
import type { ChangeSetFacts } from "../format/change_set.ts";
import type { ChangeFileName } from "../paths.ts";
import type { KeyGroupRange, Problem } from "../types.ts";
import type { SetRange } from "../upload/change_file_log.ts";

/** A change file. */
export interface FileId {
  readonly key: string;
  readonly name: ChangeFileName;
  /** Whose it is by its header, when it was imported. @default this job's */
  readonly origin?: FileOrigin;
}

/** The store and the job that wrote a file. */
export interface FileOrigin {
  readonly store: string;
  readonly job: string;
}

/** A file and the length up to which it is needed. */
export interface NeededFile extends FileId {
  /** The end of a whole batch. */
  readonly length: number;
  /** Checksum of the batch index that ends there. */
  readonly indexHash: bigint;
  /** Which change sets are in it, by writer. @default not known */
  readonly sets?: ReadonlyMap<string, Readonly<SetRange>>;
}

/** Where what a writer holds begins: everything before it was truncated. */
export interface WriterBase {
  readonly sequenceNumber: number;
  readonly offset: number;
}

/** Where a writer stands. */
export interface WriterEnd {
  /** @default the beginning */
  readonly base?: WriterBase;
  /** Whether nothing is appended any more. @default false */
  readonly isClosed?: boolean;
  readonly writer: string;
  readonly keyGroups: KeyGroupRange;
  readonly sequenceNumber: number;
  readonly nextOffset: number;
}

/** The last whole batch of a file that nothing proves to be on disk. */
export interface UnprovenBatch {
  readonly file: FileId;
  /** Where the batch ends in its file. */
  readonly end: number;
  /** Checksum of the batch's index. */
  readonly indexHash: bigint;
}

/** What a scan of the tail found. */
export interface Tail {
  /** Files that hold tail sets, oldest first, each up to the last batch that is needed; unproven batches not counted. */
  readonly files: readonly NeededFile[];
  /** Every writer, `head`'s included, with where its contiguous part ends. */
  readonly writers: ReadonlyMap<string, WriterEnd>;
  /** Per writer, the offset below which everything is proven to be on disk. */
  readonly proven: ReadonlyMap<string, number>;
  /** Batches that must be copied before what is in them may be relied on. */
  readonly unproven: readonly UnprovenBatch[];
  readonly torn: readonly Problem[];
  readonly sets: number;
  readonly changes: number;
  /** Per writer, the end of the last change that anything tells of, whether it can be read or not. */
  readonly known: ReadonlyMap<string, number>;
  /** Told of as lost: from this epoch on a name that `head` knows is another writer's. @default there is none */
  readonly reusedSince?: number;
}

/** What is known of a change set in a place. */
export type PlacedSet = Omit<ChangeSetFacts, "keyGroupMin" | "keyGroupMax">;

/** A batch in its file. */
export interface BatchPlace {
  readonly file: FileId;
  /** Where the batch begins and ends. */
  readonly batchStart: number;
  readonly batchEnd: number;
  /** Checksum of the batch's index. */
  readonly indexHash: bigint;
  /** Whether nothing proves that the batch is on disk. */
  readonly isUnproven: boolean;
}

/** A change set in one place of one file. */
export interface SetPlace extends BatchPlace {
  readonly entry: PlacedSet;
}
