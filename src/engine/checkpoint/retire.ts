/**
 * What a catalog lists after retention: pure. What goes rests in quarantine first, with its bytes in place.
 * @module
 */
import type { CatalogEntry, GenerationBody } from "../format/generation.ts";
import type { RetentionVerdict } from "./retention.ts";

/** Entries that are more than this skip quarantine, so that the catalog never overflows. */
const QUARANTINE_ENTRIES_MAX = 500;

/** What becomes of a catalog's checkpoints. */
export interface Retirement {
  /** What the next generation lists. */
  readonly checkpoints: readonly CatalogEntry[];
  /** Uuids that it lists no more. */
  readonly removed: readonly string[];
  /** Uuids that rest in quarantine from now on. */
  readonly quarantined: readonly string[];
  /** Whether the catalog changes at all. */
  readonly isChange: boolean;
}

/**
 * Applies verdicts to a catalog. The children of what goes take over its parent.
 *
 * @param options `quarantineMs` is how long a checkpoint rests; 0 removes it at once.
 */
export function retire(
  { checkpoints }: Pick<GenerationBody, "checkpoints">,
  verdicts: readonly RetentionVerdict[],
  options: { readonly nowMs: number; readonly quarantineMs: number },
): Retirement {
  const { nowMs } = options;
  const quarantineMs = checkpoints.length > QUARANTINE_ENTRIES_MAX ? 0 : options.quarantineMs;
  const removed = new Map<string, string | null>();
  const quarantined: string[] = [];
  const kept: CatalogEntry[] = [];
  let isChange = false;
  for (const { entry, stays } of verdicts) {
    const since = entry.quarantinedAtMs;
    if (stays) {
      isChange ||= since !== null;
      kept.push({ ...entry, quarantinedAtMs: null });
    } else if (quarantineMs === 0 || (since !== null && nowMs - since >= quarantineMs)) {
      removed.set(entry.uuid, entry.parent);
    } else {
      if (since === null) quarantined.push(entry.uuid);
      kept.push({ ...entry, quarantinedAtMs: since ?? nowMs });
    }
  }
  const parentOf = (uuid: string | null): string | null => {
    let parent = uuid;
    while (parent !== null && removed.has(parent)) parent = removed.get(parent)!;
    return parent;
  };
  return {
    checkpoints: kept.map((entry) => ({ ...entry, parent: parentOf(entry.parent) })),
    removed: [...removed.keys()],
    quarantined,
    isChange: isChange || removed.size > 0 || quarantined.length > 0,
  };
}
