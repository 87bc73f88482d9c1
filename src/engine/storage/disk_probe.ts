/**
 * Measures a disk by small files of its own, under temporary names that an owner sweeps.
 * @module
 */
import { temporaryName } from "./_keys.ts";
import { closeAfterFailure, discardTemporary, type PosixPorts } from "./_posix_context.ts";
import { writeFully } from "./_posix_writes.ts";

export { isTemporaryName } from "./_keys.ts";

const PROBE_TAG = "probe";
const PIECE_BYTES = 4096;

/** What a disk did. */
export interface DiskProbe {
  /** Milliseconds of each sync of a few KiB that were written before it. */
  readonly syncMs: readonly number[];
  /** By how many milliseconds the file's time was ahead of the clock. */
  readonly fileTimeAheadMs: number;
  /** By how many milliseconds the wall clock went faster than time that never goes back, meanwhile. */
  readonly clockAheadMs: number;
}

/** Writes and syncs a file in a folder so many times, and removes it. */
export async function probeDisk(
  ports: PosixPorts,
  folder: string,
  syncs: number,
): Promise<DiskProbe> {
  const { clock, fileSystem } = ports;
  const path = `${folder}/${temporaryName(PROBE_TAG, clock, ports.random)}`;
  const [wallMs, monotonicMs] = [clock.nowMs(), clock.monotonicMs()];
  const handle = await fileSystem.open(path, "create");
  try {
    const syncMs: number[] = [];
    for (let i = 0; i < syncs; i++) {
      await writeFully(handle, new Uint8Array(PIECE_BYTES).fill(i), i * PIECE_BYTES);
      const startMs = clock.monotonicMs();
      await handle.datasync();
      syncMs.push(clock.monotonicMs() - startMs);
    }
    const fileTimeAheadMs = (await handle.stat()).modifiedMs - clock.nowMs();
    const clockAheadMs = clock.nowMs() - wallMs - (clock.monotonicMs() - monotonicMs);
    return { syncMs, fileTimeAheadMs, clockAheadMs };
  } finally {
    await closeAfterFailure(ports, handle);
    await discardTemporary(ports, path);
  }
}
