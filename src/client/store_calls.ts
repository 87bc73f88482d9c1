/**
 * What a sidecar says of its store, and does with whole jobs.
 *
 * Owns: what is sent, how answers are read, which requests may be repeated.
 * Does not own: attempts (`transport.ts`), what happens within a job (`sidecar_calls.ts`).
 * @module
 */
import type {
  JobDeletion,
  JobImport,
  SalvageOptions,
  SalvageReport,
  WaitOptions,
} from "../engine/types.ts";
import { listOf } from "./_answers.ts";
import { Caller, type CallLimits } from "./_caller.ts";
import { jobPath, queryOf } from "./_paths.ts";
import { isTransient } from "./_problem.ts";
import { readArchiveStream, sendPieces } from "./_state_stream.ts";
import type { Transport } from "./transport.ts";
import type { RemoteExportOptions, SidecarStatus } from "./store_types.ts";

const NO_LIMITS: CallLimits = { attemptMsMax: 0, longAttemptMsMax: 0 };

/** Talks to one sidecar about its store. */
export class StoreCalls {
  protected readonly caller: Caller;

  constructor(transport: Transport, limits: CallLimits = NO_LIMITS) {
    this.caller = new Caller(transport, limits);
  }

  /** Address of the sidecar. */
  get url(): string {
    return this.caller.transport.url;
  }

  /** Names of the jobs. */
  async jobs(options: WaitOptions = {}): Promise<string[]> {
    const jobs = listOf<{ job: string }>(await this.caller.get("/v1/jobs", options), "jobs");
    return jobs.map(({ job }) => job);
  }

  /** Deletes a whole job; what can't be undone is confirmed by its name. */
  async deleteJob(job: string, { signal }: WaitOptions = {}): Promise<JobDeletion> {
    return await this.caller.transport.json({
      method: "DELETE",
      path: `${jobPath(job)}${queryOf({ confirm: job })}`,
      lostOutcome: "unknown",
      repeat: "refused",
      signal,
    }) as unknown as JobDeletion;
  }

  /** How the store and the sidecar are. */
  async store(options: WaitOptions = {}): Promise<SidecarStatus> {
    return await this.caller.get("/v1/store", options) as unknown as SidecarStatus;
  }

  /** Whether the sidecar takes requests now: it is asked once. */
  async isReady({ signal }: WaitOptions = {}): Promise<boolean> {
    const { attemptMsMax } = this.caller.limits;
    try {
      await this.caller.transport.text({ path: "/readyz", repeat: "never", attemptMsMax, signal });
      return true;
    } catch (error) {
      if (isTransient(error)) return false;
      throw error;
    }
  }

  /** What the sidecar counts, in the text format of Prometheus. */
  async metrics({ signal }: WaitOptions = {}): Promise<string> {
    const attemptMsMax = this.caller.limits.longAttemptMsMax;
    return await this.caller.transport.text({
      path: "/metrics",
      repeat: "lost",
      attemptMsMax,
      signal,
    });
  }

  /**
   * Exports a whole job.
   *
   * @param at `tail` is all of it, a checkpoint that one alone. @default "tail"
   * @returns The archive. The iteration ends only when all of it came.
   */
  async *exportJob(
    job: string,
    { at, signal }: RemoteExportOptions = {},
  ): AsyncGenerator<Uint8Array> {
    const path = `${jobPath(job)}/archive${queryOf({ at })}`;
    const answer = await this.caller.transport.stream({ path, repeat: "lost", signal });
    const signals = [this.caller.transport.closed, signal];
    yield* readArchiveStream(answer, { what: `the archive of job ${job}`, url: this.url, signals });
  }

  /** Makes a job from an archive, under a name that is free. */
  async importJob(
    job: string,
    archive: AsyncIterable<Uint8Array>,
    { signal }: WaitOptions = {},
  ): Promise<JobImport> {
    const call = {
      method: "PUT",
      path: `${jobPath(job)}/archive`,
      headers: { "content-type": "application/x-tar" },
      lostOutcome: "unknown",
      repeat: "never",
      signal,
    } as const;
    const send = (body: ReadableStream<Uint8Array>) =>
      this.caller.transport.json({ ...call, body });
    return await sendPieces(archive, send) as unknown as JobImport;
  }

  /** Brings back a job that can't be opened: says what is lost, and does it when that plan is accepted. */
  async salvage(
    job: string,
    { signal, ...body }: Omit<SalvageOptions, "takeOver"> = {},
  ): Promise<SalvageReport> {
    const path = `${jobPath(job)}/salvage`;
    const isLook = body.accept === undefined || body.dryRun === true;
    const answer = isLook
      ? await this.caller.ask(path, body, signal)
      : await this.caller.transport.json({
        ...this.caller.jsonCall("POST", path, body, signal),
        repeat: "refused",
      });
    return answer as unknown as SalvageReport;
  }
}
