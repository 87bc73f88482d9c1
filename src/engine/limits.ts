/** Limits of the format and of the protocols. They never change within a format version. @module */

export const KIB = 1024;
export const MIB = 1024 * KIB;
export const GIB = 1024 * MIB;

/** Version of everything that is stored. */
export const FORMAT_VERSION = 1;

/** Largest number of an offset, SQN, epoch, run, generation or size. */
export const COUNT_MAX: number = Number.MAX_SAFE_INTEGER;

/** Largest fingerprint, number of steps or of processed records. */
export const U64_MAX: bigint = 2n ** 64n - 1n;

/** Key group of metadata. */
export const META_KEY_GROUP = -1;
/** Largest key group. */
export const KEY_GROUP_MAX: number = 2 ** 31 - 1;

/** Longest job, writer, log or state name. */
export const NAME_LENGTH_MAX = 128;

/** Largest change. */
export const CHANGE_BYTES_MAX: number = 256 * MIB;
/** Largest body of a batch, uncompressed; a larger batch is split. */
export const BATCH_BODY_BYTES_MAX: number = GIB;
/** Largest index frame, its own header included. */
export const INDEX_FRAME_BYTES_MAX: number = 64 * MIB;
/** Size at which a change file ends and the next one begins. */
export const CHANGE_FILE_BYTES_MAX: number = GIB;
/** Smallest, usual and largest block of an LZ4 frame. */
export const BLOCK_BYTES_MIN: number = 64 * KIB;
export const BLOCK_BYTES_DEFAULT: number = 256 * KIB;
export const BLOCK_BYTES_MAX: number = 4 * MIB;

/** Most blocks of a state object, so that its index stays within its cap; 1.2 TiB with usual blocks. */
export const STATE_BLOCKS_MAX = 5_000_000;
/** State objects of one checkpoint. */
export const STATES_MAX = 10_000;

/** Catalog generations that are kept. */
export const GENERATIONS_KEPT = 16;
/** Largest catalog entry, as JSON. */
export const CATALOG_ENTRY_BYTES_MAX: number = KIB;
/** Longest idempotency key of a checkpoint. */
export const IDEMPOTENCY_KEY_LENGTH_MAX = 128;
/** Largest user metadata of a checkpoint, as JSON. */
export const USER_METADATA_BYTES_MAX: number = 64 * KIB;
/** Retained checkpoints of one job. */
export const CHECKPOINTS_MAX = 1000;
/** Largest small fact (owner key, catalog, adopted, manifest). */
export const FACT_BYTES_MAX: number = 64 * MIB;

/** How often an owner refreshes the time in `LOCK`. */
export const LOCK_REFRESH_MS = 2000;
/** Size of `RESERVE`. */
export const RESERVE_BYTES: number = 4 * MIB;
