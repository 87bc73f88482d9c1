/** How a checkpoint stands, in words. */
import type { CheckpointMetadata } from "../../engine/types.ts";

/** Such as `head, pinned`; empty where there is nothing to say. */
export function checkpointStates(checkpoint: CheckpointMetadata): string {
  const states = [
    checkpoint.isHead && "head",
    checkpoint.isAbandoned && "abandoned",
    checkpoint.pin !== undefined && "pinned",
    checkpoint.quarantinedAtMs !== undefined && "resting",
  ];
  return states.filter((state) => state !== false).join(", ");
}
