/** Bringing back a job whose catalog or changes are lost. @module */
import type { Problem } from "./report.ts";

/**
 * Options of {@link Store.salvage}.
 *
 * @example
 * ```ts
 * import { openStore, type SalvageOptions } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * await (await store.job("orders")).close();
 * const plan = await store.salvage("orders");
 * const options: SalvageOptions = { accept: plan.id };
 * console.assert(!(await store.salvage("orders", options)).isDone); // nothing was wrong
 * ```
 */
export interface SalvageOptions {
  /** `id` of the plan that is accepted, losses included. @default none: the plan is only answered */
  readonly accept?: string;
  /** Whether only to answer the plan, whatever is accepted. @default false */
  readonly dryRun?: boolean;
  /** Whether to take the job from a live process of this machine, which is fenced then. @default false */
  readonly takeOver?: boolean;
  /** Stops the reading; nothing is stopped once it is being published. @default never */
  readonly signal?: AbortSignal;
}

/**
 * A checkpoint that can be restored, as a salvaged catalog lists it.
 *
 * @example
 * ```ts
 * import { openStore, type SalvagedCheckpoint } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * await (await store.job("orders")).checkpoint({ identifier: "noon" });
 * const { checkpoints } = await store.salvage("orders");
 * const [noon]: readonly SalvagedCheckpoint[] = checkpoints;
 * console.assert(noon.identifier === "noon" && noon.isHead);
 * ```
 */
export interface SalvagedCheckpoint {
  /** Names it. */
  readonly uuid: string;
  /** Its name for people. @default none */
  readonly identifier?: string;
  /** When it was made, in milliseconds since 1970. */
  readonly createdAtMs: number;
  /** The run that made it. */
  readonly run: number;
  /** Whether the job goes on from it. */
  readonly isHead: boolean;
  /** Whether it is pinned until somebody unpins it. */
  readonly isPinned: boolean;
}

/**
 * A checkpoint that can't be restored, and is listed no more.
 *
 * @example
 * ```ts
 * import type { LostCheckpoint } from "@tidemark/tidemark";
 *
 * const tell = ({ uuid, problems }: LostCheckpoint): string => `${uuid}: ${problems[0].reason}`;
 * console.assert(tell({ uuid: "01a2", problems: [{ key: "k", reason: "is missing" }] }) === "01a2: is missing");
 * ```
 */
export interface LostCheckpoint {
  /** Names it. */
  readonly uuid: string;
  /** Its name for people, where that can still be read. @default not known */
  readonly identifier?: string;
  /** Why it can't be restored. */
  readonly problems: readonly Problem[];
}

/**
 * Changes that were appended and can't be read back.
 *
 * @example
 * ```ts
 * import type { LostChanges } from "@tidemark/tidemark";
 *
 * const count = ({ from, to }: LostChanges): number => to - from;
 * console.assert(count({ writer: "totals", from: 3, to: 7 }) === 4);
 * ```
 */
export interface LostChanges {
  /** Whose they are. */
  readonly writer: string;
  /** Offset of the first: the writer goes on from here. */
  readonly from: number;
  /** First offset after the last that anything tells of. */
  readonly to: number;
}

/**
 * What {@link Store.salvage} found, and would do or did.
 *
 * @example
 * ```ts
 * import { openStore, type SalvageReport } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * await (await store.job("orders")).close();
 * const report: SalvageReport = await store.salvage("orders");
 * console.assert(!report.isNeeded && report.lost.changes.length === 0);
 * ```
 */
export interface SalvageReport {
  /** The job's name. */
  readonly job: string;
  /** Identifies what is lost and what the job would go on from: {@link SalvageOptions.accept} names it. */
  readonly id: string;
  /** Whether anything is wrong that a salvage mends. */
  readonly isNeeded: boolean;
  /** Whether it was done; else this is a plan. */
  readonly isDone: boolean;
  /** How the catalog was found. */
  readonly catalog: {
    /** `whole`, or its newest generation is `unreadable`, or every one is `missing`. */
    readonly state: "whole" | "unreadable" | "missing";
    /** Generation that is gone on from; undefined: the manifests alone. */
    readonly generation?: number;
  };
  /** Uuid of the checkpoint that the job goes on from, or null. */
  readonly head: string | null;
  /** Why it is that one, for people. */
  readonly headReason: string;
  /** Checkpoints that can be restored and are listed, oldest first. */
  readonly checkpoints: readonly SalvagedCheckpoint[];
  /** Where every writer goes on. */
  readonly writers: readonly { readonly writer: string; readonly nextOffset: number }[];
  /** What is gone. */
  readonly lost: {
    /** Checkpoints that can't be restored. */
    readonly checkpoints: readonly LostCheckpoint[];
    /** Changes after `head` that can't be read, by writer. */
    readonly changes: readonly LostChanges[];
    /** Objects that are missing or bad, or belong elsewhere. */
    readonly objects: readonly Problem[];
  };
  /** What whoever accepts it should know besides, for people. */
  readonly notes: readonly string[];
  /** Generation that was published. @default none was */
  readonly published?: number;
  /** The run from now on: who appends must resume first when it is another one. @default none was published */
  readonly run?: number;
}
