/** What a run gives to its writers. */
import type { TidemarkError } from "../engine/errors.ts";
import type { Clock } from "../engine/port/clock.ts";
import type {
  AppendAtOptions,
  AppendResult,
  EncodedChanges,
  PersistResult,
  WaitOptions,
} from "../engine/types.ts";
import type { UploadThrottle } from "../engine/upload/upload_throttle.ts";
import type { Batch } from "./_batch_queue.ts";
import type { ClientSettings } from "./client_settings.ts";

/** What writers share, and what they tell. */
export interface WriterContext {
  readonly clock: Clock;
  readonly settings: ClientSettings;
  /** Counts what is held in memory. */
  readonly throttle: UploadThrottle;
  /** Waits until it is known where the writers began. */
  attached(signal?: AbortSignal): Promise<void>;
  /** Where a writer began; undefined while that is not known. */
  startOf(writer: string): number | undefined;
  /** How many changes of a writer may be sent: not those that a checkpoint under way must not hold. */
  limitOf(writer: string): number;
  /** Sends a batch at its offset, until it is durable. */
  append(writer: string, batch: Batch): Promise<void>;
  /** Appends at an offset, past the batches. */
  appendAt(
    writer: string,
    offset: number | undefined,
    changes: EncodedChanges,
    options: AppendAtOptions,
  ): Promise<AppendResult>;
  /** Tells where the durable change sets of a writer lie. */
  segments(writer: string, from: number | undefined, options: WaitOptions): Promise<PersistResult>;
  /** Ends the active change set of a writer; answers the number of the next. */
  roll(writer: string, options: WaitOptions): Promise<number>;
  /** Gives up what lies below a change set. */
  truncate(writer: string, to: number, options: WaitOptions): Promise<void>;
  /** Something could not be sent for now. */
  stalled(error: unknown): void;
  /** Something will never be taken; answers what its writer ends with. */
  failed(error: unknown): TidemarkError;
}
