/** The machine's source of chance. @module */
import type { Random } from "../engine/port/random.ts";

const FILL_BYTES_MAX = 65536;

/** A {@link Random} over the runtime's secure generator. */
export class SystemRandom implements Random {
  fill(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; from += FILL_BYTES_MAX) {
      // Web Crypto refuses shared memory by type; a backend only ever fills its own small buffers.
      crypto.getRandomValues(
        bytes.subarray(from, from + FILL_BYTES_MAX) as Uint8Array<ArrayBuffer>,
      );
    }
  }
}
