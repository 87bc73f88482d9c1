/**
 * Every key of a store, and the way back from a key to what it names.
 * @module
 */
import { TidemarkError } from "./errors.ts";
import { COUNT_MAX, NAME_LENGTH_MAX } from "./limits.ts";
import { UUID_PATTERN } from "./uuid.ts";

/** What a job, writer, log or state name looks like; its length has a limit besides. */
export const NAME = /^[A-Za-z0-9_-](?:[A-Za-z0-9._-]*[A-Za-z0-9_-])?$/;
const COUNT = "[0-9]{20}";

/** The log of a job in one process. */
export const MAIN_LOG = "main";

/** Key of the marker that makes a folder a store. */
export const MARKER_KEY = "TIDEMARK";
/** Key of the space that is given up when a publish meets a full disk. */
export const RESERVE_KEY = "RESERVE";
/** Key that is written, and deleted again, to see whether the store can be written. */
export const PROBE_KEY = "PROBE";

/**
 * Checks a job, writer, log or state name.
 *
 * @param what What is named, for the message: `job`, `writer`, …
 * @throws {TidemarkError} `invalid-name`
 */
export function checkName(what: string, name: string): string {
  if (typeof name !== "string" || name.length > NAME_LENGTH_MAX || !NAME.test(name)) {
    throw new TidemarkError(
      "invalid-name",
      `Cannot use ${what} name ${
        JSON.stringify(name)
      }: wants 1 to ${NAME_LENGTH_MAX} of A-Z a-z 0-9 . _ -, neither starting nor ending with a dot`,
      { details: { what, name } },
    );
  }
  return name;
}

/** Writes an epoch, generation or number the way it stands in keys: 20 digits. */
export function formatCount(count: number): string {
  if (!Number.isSafeInteger(count) || count < 0) {
    throw new RangeError(
      `Cannot write ${count} into a key: wants a whole number from 0 to ${COUNT_MAX}`,
    );
  }
  return String(count).padStart(20, "0");
}

function parseCount(digits: string): number | undefined {
  const count = Number(digits);
  return Number.isSafeInteger(count) ? count : undefined;
}

/** Whether a key is in the folder of some job's state objects. */
export function isInStates(key: string): boolean {
  return /^jobs\/[^/]+\/states\//.test(key);
}

/** A change file's place in its job. */
export interface ChangeFileName {
  readonly log: string;
  readonly epoch: number;
  /** Counts the epoch's files, from 1. */
  readonly number: number;
  readonly uuid: string;
}

/** Prefix of all jobs. */
export const JOBS_PREFIX = "jobs/";

/** The keys of one job. */
export class JobKeys {
  readonly prefix: string;

  constructor(readonly job: string) {
    this.prefix = `${JOBS_PREFIX}${checkName("job", job)}/`;
  }

  get lock(): string {
    return `${this.prefix}LOCK`;
  }

  get ownersPrefix(): string {
    return `${this.prefix}owners/`;
  }

  owner(epoch: number): string {
    return `${this.ownersPrefix}${formatCount(epoch)}.json`;
  }

  parseOwner(key: string): number | undefined {
    return this.#count(key, this.ownersPrefix);
  }

  get catalogPrefix(): string {
    return `${this.prefix}catalog/`;
  }

  generation(generation: number): string {
    return `${this.catalogPrefix}${formatCount(generation)}.json`;
  }

  parseGeneration(key: string): number | undefined {
    return this.#count(key, this.catalogPrefix);
  }

  get adoptedPrefix(): string {
    return `${this.prefix}adopted/`;
  }

  adopted(epoch: number, uuid: string): string {
    return `${this.adoptedPrefix}${formatCount(epoch)}-${uuid}.json`;
  }

  get changelogPrefix(): string {
    return `${this.prefix}changelog/`;
  }

  changeFile(name: ChangeFileName): string {
    const { log, epoch, number, uuid } = name;
    return `${this.changelogPrefix}${checkName("log", log)}/${formatCount(epoch)}-${
      formatCount(number)
    }-${uuid}.cborseq.lz4`;
  }

  parseChangeFile(key: string): ChangeFileName | undefined {
    const match = key.startsWith(this.changelogPrefix)
      ? new RegExp(`^([^/]+)/(${COUNT})-(${COUNT})-(${UUID_PATTERN})\\.cborseq\\.lz4$`).exec(
        key.slice(this.changelogPrefix.length),
      )
      : null;
    if (match === null || !NAME.test(match[1])) return undefined;
    const epoch = parseCount(match[2]);
    const number = parseCount(match[3]);
    return epoch === undefined || number === undefined
      ? undefined
      : { log: match[1], epoch, number, uuid: match[4] };
  }

  get statesPrefix(): string {
    return `${this.prefix}states/`;
  }

  state(epoch: number, uuid: string): string {
    return `${this.statesPrefix}${formatCount(epoch)}-${uuid}.lz4`;
  }

  get checkpointsPrefix(): string {
    return `${this.prefix}checkpoints/`;
  }

  manifest(uuid: string): string {
    return `${this.checkpointsPrefix}${uuid}.json`;
  }

  get readersPrefix(): string {
    return `${this.prefix}readers/`;
  }

  reader(uuid: string): string {
    return `${this.readersPrefix}${uuid}.json`;
  }

  /** Whether a key is that of a reader's lease. */
  isReader(key: string): boolean {
    return key.startsWith(this.readersPrefix) &&
      new RegExp(`^${UUID_PATTERN}\\.json$`).test(key.slice(this.readersPrefix.length));
  }

  /** Whether a key is one that the engine makes in a job: a change file, a state object, a manifest, or what was adopted. */
  isOwn(key: string): boolean {
    const isNamed = (prefix: string, name: string) =>
      key.startsWith(prefix) && new RegExp(`^${name}$`).test(key.slice(prefix.length));
    return this.parseChangeFile(key) !== undefined ||
      isNamed(this.statesPrefix, `${COUNT}-${UUID_PATTERN}\\.lz4`) ||
      isNamed(this.checkpointsPrefix, `${UUID_PATTERN}\\.json`) ||
      isNamed(this.adoptedPrefix, `${COUNT}-${UUID_PATTERN}\\.json`);
  }

  #count(key: string, prefix: string): number | undefined {
    const match = key.startsWith(prefix)
      ? new RegExp(`^(${COUNT})\\.json$`).exec(key.slice(prefix.length))
      : null;
    return match === null ? undefined : parseCount(match[1]);
  }
}
