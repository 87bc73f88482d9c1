/**
 * The client of a sidecar.
 *
 * Owns: its jobs, the end of all that waits. Does not own: requests (`transport.ts`), what jobs do (`_remote_job.ts`).
 * @module
 */
import { TidemarkError } from "../engine/errors.ts";
import type {
  JobDeletion,
  JobImport,
  SalvageOptions,
  SalvageReport,
  WaitOptions,
} from "../engine/types.ts";
import { systemFetch } from "../runtime/system_fetch.ts";
import { unixFetch } from "../runtime/unix_fetch.ts";
import { Patience } from "./_patience.ts";
import { type JobParts, SidecarJob } from "./_remote_job.ts";
import { SidecarJobReader } from "./_remote_reader.ts";
import { partsOf } from "./calls_to.ts";
import { type ClientOptions, resolveClientSettings } from "./client_settings.ts";
import { SidecarCalls } from "./sidecar_calls.ts";
import type { RemoteExportOptions, SidecarStatus } from "./store_types.ts";
import { Transport, type TransportParts } from "./transport.ts";
import type {
  CreateJobOptions,
  JobDescription,
  RemoteJob,
  RemoteJobOptions,
  RemoteJobReader,
} from "./types.ts";

/**
 * Talks to a sidecar: for pipelines on Deno, Bun and Node, with the library's own words, so that moving from one to the
 * other is a change of imports. It gathers appends into batches, keeps their offsets, repeats what was not answered so
 * that it is done once, and bounds what it holds in memory. `docs/CLIENT.md` is its page.
 *
 * @example
 * ```ts
 * import { openStore } from "@tidemark/tidemark";
 * import { TidemarkClient } from "@tidemark/tidemark/client";
 * import { createApp } from "@tidemark/tidemark/http";
 *
 * // A sidecar within this process; yours is `new TidemarkClient("http://127.0.0.1:7460")`.
 * await using store = await openStore("memory:");
 * await using client = new TidemarkClient("http://sidecar", { fetch: createApp(store).fetch });
 *
 * const job = client.job("orders");
 * const { run, checkpoint } = await job.resume();
 * console.log(run, checkpoint?.metadata);
 *
 * const totals = job.writer("totals");
 * totals.append(0, new TextEncoder().encode("apples +3"));
 * await totals.persist();
 * await job.checkpoint({ metadata: { sourceOffset: 1 } });
 * console.assert((await client.jobs()).join() === "orders");
 * ```
 */
export class TidemarkClient implements AsyncDisposable {
  /** Address of the sidecar. */
  readonly url: string;
  readonly #transport: Transport;
  readonly #calls: SidecarCalls;
  readonly #parts: Omit<JobParts, "job">;
  readonly #jobs = new Map<string, SidecarJob>();
  #closing: Promise<void> | undefined;

  /**
   * Makes a client. Nothing is sent before it is used.
   *
   * @param url Address of the sidecar, such as `http://127.0.0.1:7460`; or `unix:PATH`, an absolute path to its socket.
   * @param options Token, batches, waits, memory. @default {}
   * @throws {TypeError} An address that is none, a token that can't be sent, an option that does not exist.
   * @throws {RangeError} A number that is not allowed, or two that do not go together.
   */
  constructor(url: string, options: ClientOptions = {}) {
    const settings = resolveClientSettings(options);
    const { token, clock, random } = options;
    const socket = /^unix:(.+)$/.exec(url)?.[1];
    const fetch = options.fetch ?? (socket === undefined ? systemFetch() : unixFetch(socket));
    const shownUrl = socket === undefined ? undefined : url;
    const parts: TransportParts = partsOf({ token, fetch, clock, random, shownUrl, ...settings });
    this.#transport = new Transport(socket === undefined ? url : "http://localhost", parts);
    this.url = this.#transport.url;
    this.#calls = new SidecarCalls(this.#transport, settings);
    this.#parts = {
      calls: this.#calls,
      clock: parts.clock,
      random: parts.random,
      settings,
      closed: this.#transport.closed,
      newPatience: () => new Patience(parts.clock, parts.random, settings),
    };
  }

  /**
   * A job, for its pipeline. Nothing is sent before it is used; the same name gives the same job until that is closed.
   *
   * @param id 1 to 128 of `A-Z a-z 0-9 . _ -`, neither starting nor ending with a dot.
   * @param options Its fingerprint, and whether to make it. @default {}
   * @returns The job.
   * @throws {TidemarkError} `invalid-name`; `closed`; `settings-conflict` when it is there with another fingerprint.
   */
  job(id: string, options: RemoteJobOptions = {}): RemoteJob {
    this.#checkOpen();
    const found = this.#jobs.get(id);
    if (found === undefined || found.isClosed) {
      const job = new SidecarJob({ ...this.#parts, job: id }, options);
      this.#jobs.set(id, job);
      return job;
    }
    found.checkSame(options);
    return found;
  }

  /**
   * A job, to be read beside its pipeline: makes nothing.
   *
   * @param id As for {@link TidemarkClient.job}.
   * @returns The reader.
   * @throws {TidemarkError} `invalid-name`; `closed`
   */
  reader(id: string): RemoteJobReader {
    this.#checkOpen();
    return new SidecarJobReader({ ...this.#parts, job: id });
  }

  /**
   * Makes a job unless it is there, and sets what is given.
   *
   * @param id As for {@link TidemarkClient.job}.
   * @param options Fingerprint and retention. @default {}
   * @returns The job as the sidecar has it.
   * @throws {TidemarkError} `settings-conflict` when it is there with another fingerprint; `invalid-name`,
   * `invalid-request`, `server-unreachable`; and what opening the job can throw.
   * @throws The signal's reason.
   */
  async createJob(id: string, options: CreateJobOptions = {}): Promise<JobDescription> {
    return await this.#calls.createJob(id, options);
  }

  /**
   * Lists the jobs.
   *
   * @param options What ends the wait. @default {}
   * @returns Their names, sorted.
   * @throws {TidemarkError} `server-unreachable`, `storage-unavailable`, `storage-denied`
   * @throws The signal's reason.
   */
  async jobs(options: WaitOptions = {}): Promise<string[]> {
    return await this.#calls.jobs(options);
  }

  /**
   * How the sidecar and its store are: cheap enough to be asked every second.
   *
   * @param options What ends the wait. @default {}
   * @returns Room, uptime, and the jobs that are open.
   * @throws {TidemarkError} `server-unreachable`
   * @throws The signal's reason.
   */
  async status(options: WaitOptions = {}): Promise<SidecarStatus> {
    return await this.#calls.store(options);
  }

  /**
   * Asks once whether the sidecar takes requests now.
   *
   * @param options What ends the wait. @default {}
   * @returns Whether it does; not while it closes, its store is not usable, or nobody answers.
   * @throws The signal's reason.
   */
  async isReady(options: WaitOptions = {}): Promise<boolean> {
    return await this.#calls.isReady(options);
  }

  /**
   * What the sidecar counts.
   *
   * @param options What ends the wait. @default {}
   * @returns The text format of Prometheus, version 0.0.4; `docs/METRICS.md` says what is in it.
   * @throws {TidemarkError} `invalid-request` where it counts nothing; `server-unreachable`
   * @throws The signal's reason.
   */
  async metrics(options: WaitOptions = {}): Promise<string> {
    return await this.#calls.metrics(options);
  }

  /**
   * Deletes a job with everything that was made of it, pinned checkpoints too. A lost answer is not repeated.
   *
   * @param id The job's name.
   * @param options What ends the wait. @default {}
   * @returns What was deleted.
   * @throws {TidemarkError} As the engine's `Store.deleteJob`; `server-unreachable`: look whether it is there.
   * @throws The signal's reason.
   */
  async deleteJob(id: string, options: WaitOptions = {}): Promise<JobDeletion> {
    return await this.#calls.deleteJob(id, options);
  }

  /**
   * Reads a whole job as one archive: a tar file.
   *
   * @param id The job's name.
   * @param options What is exported. @default {}
   * @returns The archive, piece by piece. The iteration ends only when all of it came; one that breaks begins anew.
   * @throws {TidemarkError} From the iteration: as the engine's `Store.exportJob`; `server-unreachable`.
   */
  exportJob(id: string, options: RemoteExportOptions = {}): AsyncIterable<Uint8Array> {
    return this.#calls.exportJob(id, options);
  }

  /**
   * Makes a job from an archive. A lost answer is not repeated.
   *
   * @param id The job's name here; it must be free.
   * @param bytes The archive, in pieces of any size.
   * @param options What ends the wait. @default {}
   * @returns What was imported.
   * @throws {TidemarkError} As the engine's `Store.importJob`; `server-unreachable`: look whether it is there.
   * @throws What `bytes` throws, and the signal's reason.
   */
  async importJob(
    id: string,
    bytes: AsyncIterable<Uint8Array>,
    options: WaitOptions = {},
  ): Promise<JobImport> {
    return await this.#calls.importJob(id, bytes, options);
  }

  /**
   * Brings back a job that can't be opened: says what is lost, and does it once that plan is accepted.
   *
   * @param id The job's name.
   * @param options Which plan is accepted. @default {}
   * @returns What was found, and what would be done or was.
   * @throws {TidemarkError} As the engine's `Store.salvage`; `server-unreachable`: with outcome `unknown` look again.
   * @throws The signal's reason.
   */
  async salvage(
    id: string,
    options: Omit<SalvageOptions, "takeOver"> = {},
  ): Promise<SalvageReport> {
    return await this.#calls.salvage(id, options);
  }

  /**
   * Closes every job, which makes what was appended durable, and ends all that still waits as `closed`. Idempotent.
   *
   * @param options A signal that gives the wait up. @default {}
   * @throws {TidemarkError} What kept something that was appended from being made durable, unless that was told before;
   * with several an `AggregateError`. All is ended in any case.
   * @throws The signal's reason.
   */
  close(options: WaitOptions = {}): Promise<void> {
    // A later call may give up what an earlier one waits for.
    const closed = Promise.allSettled([...this.#jobs.values()].map((job) => job.close(options)));
    return this.#closing ??= this.#close(closed);
  }

  /** Closes it. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(closed: Promise<PromiseSettledResult<void>[]>): Promise<void> {
    const results = await closed;
    await this.#transport.close();
    const failures = results.flatMap((one) => one.status === "rejected" ? [one.reason] : []);
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, "Cannot close every job");
  }

  #checkOpen(): void {
    if (this.#closing === undefined) return;
    throw new TidemarkError("closed", `The client of ${this.url} is closed: make another`);
  }
}
