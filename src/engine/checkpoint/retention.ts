/**
 * Which checkpoints stay (DESIGN, *Retention*). Pure: decides, and does nothing.
 * Seed: `MIN_CHECKPOINT_THRESHOLD`, `gc_checkpoint`.
 * @module
 */
import type { CatalogEntry, GenerationBody } from "../format/generation.ts";
import type { RetentionPolicy } from "../types.ts";
import { lineOf } from "./checkpoint_list.ts";

/** What a job has without being told. */
export const DEFAULT_RETENTION: RetentionPolicy = Object.freeze({ minCount: 2 });

/** What a plan is made for. */
export interface RetentionOptions {
  readonly policy: RetentionPolicy;
  readonly nowMs: number;
  /** Stay in any case, on top of what is counted. */
  readonly except: ReadonlySet<string>;
  /** What is not an ancestor of `head` goes when it is older. */
  readonly abandonedAgeMsMax: number;
}

/** Why a checkpoint stays or goes. */
export interface RetentionVerdict {
  readonly entry: CatalogEntry;
  readonly stays: boolean;
  readonly reason: string;
}

/**
 * Checks a policy.
 *
 * @throws {RangeError} A count or age that is not allowed, or two that do not go together.
 */
export function checkRetention(policy: RetentionPolicy): RetentionPolicy {
  const { minCount, maxCount, maxAgeMs } = policy;
  const isCount = (value: number) => Number.isSafeInteger(value) && value >= 1;
  const isAge = (value: number) => Number.isSafeInteger(value) && value >= 0;
  if (!isCount(minCount)) {
    throw new RangeError(
      `Cannot keep ${minCount} checkpoints at least: wants a whole number from 1`,
    );
  }
  if (maxCount !== undefined && (!isCount(maxCount) || maxCount < minCount)) {
    throw new RangeError(
      `Cannot keep ${maxCount} checkpoints at most: wants a whole number, not below minCount ${minCount}`,
    );
  }
  if (maxAgeMs !== undefined && !isAge(maxAgeMs)) {
    throw new RangeError(`Cannot keep checkpoints for ${maxAgeMs} ms: wants a whole number from 0`);
  }
  return policy;
}

/** Says of every checkpoint whether it stays, oldest first. */
export function planRetention(
  generation: GenerationBody,
  options: RetentionOptions,
): RetentionVerdict[] {
  const line = lineOf(generation);
  const verdicts: RetentionVerdict[] = [];
  let counted = 0;
  for (const entry of [...generation.checkpoints].reverse()) {
    const why = standsApart(entry, generation, line, options);
    if (why !== undefined) verdicts.push({ entry, ...why });
    else verdicts.push({ entry, ...judge(entry, counted++, options) });
  }
  return verdicts.reverse();
}

/** Of what is not counted: `head`, what is pinned or excepted, what is abandoned. */
function standsApart(
  entry: CatalogEntry,
  { head }: GenerationBody,
  line: ReadonlySet<string>,
  { except, nowMs, abandonedAgeMsMax }: RetentionOptions,
): { stays: boolean; reason: string } | undefined {
  if (entry.pin !== null) return { stays: true, reason: "is pinned" };
  if (except.has(entry.uuid)) return { stays: true, reason: "is excepted" };
  if (entry.uuid === head || line.has(entry.uuid)) return undefined;
  return nowMs - entry.createdAtMs > abandonedAgeMsMax
    ? { stays: false, reason: "is abandoned, and old enough" }
    : { stays: true, reason: "is abandoned, but not long enough" };
}

/** Of the line: `newer` of its checkpoints that count are newer. */
function judge(
  entry: CatalogEntry,
  newer: number,
  { policy, nowMs }: RetentionOptions,
): { stays: boolean; reason: string } {
  const { minCount, maxAgeMs } = policy;
  const maxCount = policy.maxCount ?? (maxAgeMs === undefined ? minCount : Infinity);
  if (newer < minCount) return { stays: true, reason: `is one of the newest ${minCount}` };
  if (newer >= maxCount) return { stays: false, reason: `is beyond the newest ${maxCount}` };
  if (maxAgeMs !== undefined && nowMs - entry.createdAtMs > maxAgeMs) {
    return { stays: false, reason: `is older than ${maxAgeMs} ms` };
  }
  return { stays: true, reason: `is one of the newest ${maxCount}, and young enough` };
}
