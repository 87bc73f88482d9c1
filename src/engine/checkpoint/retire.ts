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
  const removed = new Set<string>();
  const quarantined: string[] = [];
  const entries: CatalogEntry[] = [];
  let isChange = false;
  for (const { entry, stays } of verdicts) {
    const since = entry.quarantinedAtMs;
    if (stays) {
      isChange ||= since !== null;
      entries.push({ ...entry, quarantinedAtMs: null });
    } else if (quarantineMs === 0 || (since !== null && nowMs - since >= quarantineMs)) {
      removed.add(entry.uuid);
      entries.push(entry);
    } else {
      if (since === null) quarantined.push(entry.uuid);
      entries.push({ ...entry, quarantinedAtMs: since ?? nowMs });
    }
  }
  return {
    checkpoints: withoutGoing(entries, removed),
    removed: [...removed],
    quarantined,
    isChange: isChange || removed.size > 0 || quarantined.length > 0,
  };
}

/** A list of checkpoints without some: the children of what goes take over its parent. */
export function withoutGoing(
  checkpoints: readonly CatalogEntry[],
  going: ReadonlySet<string>,
): CatalogEntry[] {
  const parents = new Map(checkpoints.map(({ uuid, parent }) => [uuid, parent]));
  const parentOf = (uuid: string | null): string | null => {
    let parent = uuid;
    while (parent !== null && going.has(parent)) parent = parents.get(parent) ?? null;
    return parent;
  };
  return checkpoints.filter(({ uuid }) => !going.has(uuid)).map((entry) => (
    { ...entry, parent: parentOf(entry.parent) }
  ));
}
