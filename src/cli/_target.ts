/** What a command works on: a job in a store of this machine, or in a sidecar's. */
import type {
  AppendResult,
  CheckpointMetadata,
  CheckpointOptions,
  EncodedChanges,
  KeyGroupRange,
  RestoreTrailer,
  ResumeOptions,
  ResumeResult,
} from "../engine/types.ts";

/** Where an append belongs. */
export interface AppendPlace {
  /** Expected offset; at the end where it is left out. */
  readonly offset?: number;
  readonly run?: number;
}

/** What to restore. */
export interface RestoreWish {
  readonly at?: string;
  readonly from?: number;
  readonly keyGroups?: KeyGroupRange;
}

/** A restore under way. */
export interface TargetRestore {
  /** Encoded changes; each piece is valid until the next one is asked for. */
  readonly pieces: AsyncIterable<Uint8Array>;
  readonly trailer: Promise<RestoreTrailer>;
}

/** How a command opens its job: `append` makes what is missing. */
export type OpenFor = "append" | "own" | "read";

/** A job, here or elsewhere. */
export interface Target extends AsyncDisposable {
  /** Appends at a writer; waits while there is no room, and until the changes are durable. */
  append(writer: string, changes: EncodedChanges, place: AppendPlace): Promise<AppendResult>;
  checkpoint(options: CheckpointOptions): Promise<CheckpointMetadata>;
  resume(options: ResumeOptions): Promise<ResumeResult>;
  restore(writer: string, wish: RestoreWish): Promise<TargetRestore>;
}
