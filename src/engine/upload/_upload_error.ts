/** What the owner of a task is told when its upload has failed for good. @module */
import { TidemarkError } from "../errors.ts";
import { isTimeout } from "./retry_policy.ts";

/** An error for the owner: a timeout says that the upload may have taken effect all the same. */
export function toUploadError(error: unknown): Error {
  if (isTimeout(error)) {
    return new TidemarkError(
      "storage-unavailable",
      `Cannot upload: ${
        (error as Error).message
      }; look at the store, or allow more by uploadTimeoutMs`,
      { outcome: "unknown", cause: error },
    );
  }
  return error instanceof Error ? error : new Error(String(error));
}
