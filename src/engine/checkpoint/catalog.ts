/**
 * A job's catalog as its owner sees it: publishes one immutable generation after another (DESIGN, protocol *Publish*).
 * Owns: numbers, lost answers, pruning. Does not own: what a generation says, who owns the job.
 * @module
 */
import { TidemarkError, withUnknownOutcome } from "../errors.ts";
import { encodeGeneration, type GenerationBody } from "../format/generation.ts";
import { GENERATIONS_KEPT } from "../limits.ts";
import { formatCount } from "../paths.ts";
import type { Ports } from "../port/ports.ts";
import { withReserve } from "./reserve.ts";
import { newUuid } from "../uuid.ts";
import {
  type JobPlace,
  listGenerations,
  readGeneration,
  readNewestGeneration,
} from "./catalog_read.ts";

/** How often a publish repeats itself before it says that its outcome is unknown. */
const ATTEMPTS_MAX = 3;

/** What a publish sets; the rest is filled in. */
export type GenerationContent = Omit<
  GenerationBody,
  "key" | "store" | "job" | "number" | "writeId" | "createdAtMs"
>;

interface Attempt {
  readonly body: GenerationBody;
  readonly bytes: Uint8Array;
  /** Whether a request was sent whose answer is lost: it may take effect at any time. */
  isInDoubt: boolean;
}

/** `ours`: it is there, but its name need not be on disk. */
type Placed = "created" | "ours" | "taken" | "unknown";

/** How a catalog publishes. */
export interface CatalogOptions {
  /** Every number is above this one. @default that of the newest generation */
  readonly above?: number;
  /** Whether old generations stay. @default false */
  readonly keepsAll?: boolean;
}

/** The catalog of a job that this process owns. */
export class Catalog {
  readonly #place: JobPlace;
  readonly #ports: Ports;
  readonly #options: CatalogOptions;
  #newest: GenerationBody | undefined;
  /** A publish of which nothing decided yet whether it took effect: nothing else is published before it. */
  #undecided: Attempt | undefined;

  /** Throws when the job has another owner; asked after every publish, before anything relies on it. */
  #checkOwner: () => void = () => {};

  /** @param options For whoever publishes above generations that can't be read. */
  constructor(
    place: JobPlace,
    ports: Ports,
    newest: GenerationBody | undefined,
    options: CatalogOptions = {},
  ) {
    this.#place = place;
    this.#ports = ports;
    this.#newest = newest;
    this.#options = options;
  }

  /** Publishes as this owner from now on. */
  publishAs(owner: { check(): void }): void {
    this.#checkOwner = () => owner.check();
  }

  /** @throws {TidemarkError} `fenced` when the job has another owner. */
  checkOwner(): void {
    this.#checkOwner();
  }

  /** The newest generation that is known. */
  get newest(): GenerationBody | undefined {
    return this.#newest;
  }

  /**
   * Publishes a generation.
   *
   * @param makeContent Makes the content from the newest generation; asked again when that turns out to be older
   *   than thought.
   * @throws {TidemarkError} `fenced`: a generation of a higher epoch is there. Outcome `unknown`: the answer was lost,
   *   and reading back decided nothing; what the generation names may be published.
   */
  async publish(
    makeContent: (newest: GenerationBody | undefined) => GenerationContent,
  ): Promise<GenerationBody> {
    await this.settle();
    for (;;) {
      const { above = 0 } = this.#options;
      const number = Math.max(above, this.#newest?.number ?? 0) + 1;
      const attempt = this.#attempt(makeContent(this.#newest), number);
      if (await this.#decide(attempt) === "ours") return this.#newest!;
    }
  }

  /** Whether nothing decided yet if a publish took effect: `newest` may not be the newest then. */
  get isUndecided(): boolean {
    return this.#undecided !== undefined;
  }

  /**
   * Brings a publish to an end of which nothing decided yet whether it took effect.
   *
   * @throws {TidemarkError} What {@link publish} throws; of whoever waits for this nothing was published.
   */
  async settle(): Promise<void> {
    if (this.#undecided === undefined) return;
    const { key } = this.#undecided.body;
    try {
      await this.#decide(this.#undecided);
    } catch (error) {
      const isUnknown = error instanceof TidemarkError && error.outcome === "unknown";
      if (!isUnknown) throw error;
      throw new TidemarkError(
        error.code,
        `Cannot publish anything before it is known whether ${key} was published: ${error.message}`,
        { outcome: "not-applied", details: error.details, cause: error },
      );
    }
  }

  /** Repeats an attempt until it is known who took its number. */
  async #decide(first: Attempt): Promise<"ours" | "taken"> {
    const own = new Set<number>();
    try {
      return await this.#repeat(first, own);
    } catch (error) {
      throw own.size === 0 ? error : withUnknownOutcome(error);
    }
  }

  /** @param own Numbers under which the content is there, whether on disk or not: added to. */
  async #repeat(first: Attempt, own: Set<number>): Promise<"ours" | "taken"> {
    let attempt = first;
    const causes: unknown[] = [];
    for (let i = 0; i < ATTEMPTS_MAX; i++) {
      this.#undecided = attempt;
      const placed = await this.#put(attempt, causes);
      if (placed === "unknown") continue;
      this.#undecided = undefined;
      if (placed === "taken") {
        await this.#reread(attempt.body.epoch);
        return "taken";
      }
      own.add(attempt.body.number);
      // A number that was pruned since can be created again: that must not pass for the newest.
      this.#checkOwner();
      this.#newest = attempt.body;
      if (placed === "created") {
        await this.#prune();
        return "ours";
      }
      // Its name may not be on disk: the same content goes under the next number.
      attempt = this.#attempt(attempt.body, attempt.body.number + 1);
    }
    throw new TidemarkError(
      "storage-unavailable",
      `Cannot tell whether ${attempt.body.key} was published: the answer was lost and can't be read back; try again`,
      { outcome: "unknown", details: { key: attempt.body.key }, cause: causes[0] },
    );
  }

  /** Puts a generation, and reads back whose it is where the answer does not say. Notes what went wrong. */
  async #put(attempt: Attempt, causes: unknown[]): Promise<Placed> {
    const { body, bytes } = attempt;
    try {
      const tag = formatCount(body.epoch);
      const { backend, reserve } = this.#place;
      const result = await withReserve(
        reserve,
        () => backend.putIfAbsent(body.key, bytes, { tag }),
      );
      if (result === "created") return "created";
      if (!attempt.isInDoubt) return "taken";
    } catch (error) {
      const isLost = error instanceof TidemarkError && error.outcome === "unknown";
      attempt.isInDoubt ||= isLost;
      if (!attempt.isInDoubt) {
        this.#undecided = undefined;
        throw error;
      }
      causes.push(error);
    }
    try {
      return await this.#whose(body);
    } catch (error) {
      causes.push(error);
      return "unknown";
    }
  }

  /** Reads back who took a number. Absent decides nothing, since the request may still land. */
  async #whose(body: GenerationBody): Promise<Placed> {
    const found = await readGeneration(this.#place, body.number);
    if (found === undefined) return "unknown";
    return found.writeId === body.writeId ? "ours" : "taken";
  }

  async #reread(epoch: number): Promise<void> {
    this.#newest = await readNewestGeneration(this.#place);
    if (this.#newest !== undefined && this.#newest.epoch > epoch) {
      throw new TidemarkError(
        "fenced",
        `Job ${this.#place.keys.job} has another owner: its catalog is at epoch ${this.#newest.epoch}, this one is ${epoch}`,
        { outcome: "not-applied", details: { epoch, newestEpoch: this.#newest.epoch } },
      );
    }
  }

  #attempt(content: GenerationContent, number: number): Attempt {
    const { keys, store } = this.#place;
    const body: GenerationBody = {
      ...content,
      key: keys.generation(number),
      store,
      job: keys.job,
      number,
      writeId: newUuid(this.#ports),
      createdAtMs: this.#ports.clock.nowMs(),
    };
    return { body, bytes: encodeGeneration(body), isInDoubt: false };
  }

  /** Keeps the newest generations. What can't be deleted stays for the next time. */
  async #prune(): Promise<void> {
    if (this.#options.keepsAll) return;
    const { backend, keys } = this.#place;
    try {
      const numbers = await listGenerations(this.#place);
      for (const number of numbers.slice(0, -GENERATIONS_KEPT)) {
        // One that comes back goes with the next.
        await backend.delete(keys.generation(number), { mayComeBack: true });
      }
    } catch (error) {
      this.#ports.logger.log("warning", "Cannot delete old catalog generations", {
        job: keys.job,
        error,
      });
    }
  }
}
