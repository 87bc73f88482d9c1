/** What the catalog says of a checkpoint. @module */
import { xxh64 } from "../../../wasm/mod.ts";
import type { CheckpointFacts } from "../format/checkpoint_facts.ts";
import type { CatalogEntry, ObjectReference } from "../format/generation.ts";
import { formatHash } from "../format/hash_text.ts";
import type { ManifestBody } from "../format/manifest.ts";

/** The entry of a checkpoint that is published. */
export function entryOf(
  facts: CheckpointFacts,
  size: number,
  manifest: ObjectReference,
): CatalogEntry {
  const { uuid, parent, fingerprint, identifier, steps, processedRecords } = facts;
  const { createdAtMs, epoch, run, idempotency } = facts;
  return {
    ...{ uuid, parent, fingerprint, identifier, steps, processedRecords, createdAtMs, epoch, run },
    ...(idempotency === undefined ? {} : { idempotency }),
    ...{ size, manifest, pin: null, quarantinedAtMs: null },
  };
}

/** The entry that a manifest gets when its checkpoint is published. */
export function entryOfManifest(manifest: ManifestBody, bytes: Uint8Array): CatalogEntry {
  const needed = [...manifest.files, ...manifest.states];
  const size = needed.reduce((sum, { length }) => sum + length, bytes.length);
  return entryOf(manifest, size, referenceTo(manifest.key, bytes));
}

/** What stands for an object that is written as it is. */
export function referenceTo(key: string, bytes: Uint8Array): ObjectReference {
  return { key, size: bytes.length, xxh64: formatHash(xxh64(bytes)) };
}
