/** What of a sidecar's job can be read. */
import { checkName } from "../engine/paths.ts";
import type {
  At,
  CheckpointDetails,
  CheckpointMetadata,
  JobUsage,
  ReadStateOptions,
  RestoreOptions,
  RestoreStream,
  VerifyOptions,
  VerifyReport,
  WaitOptions,
  WriterPosition,
} from "../engine/types.ts";
import { RemoteRestore, type RestoreParts } from "./_remote_restore.ts";
import type { JobDescription, RemoteJobReader } from "./types.ts";

/** Reads a job; makes nothing. */
export class SidecarJobReader implements RemoteJobReader {
  readonly id: string;
  readonly #parts: RestoreParts;

  /** @throws {TidemarkError} `invalid-name` */
  constructor(parts: RestoreParts) {
    checkName("job", parts.job);
    this.id = parts.job;
    this.#parts = parts;
  }

  async describe(options: WaitOptions = {}): Promise<JobDescription> {
    return await this.#parts.calls.job(this.id, options);
  }

  async checkpoints(options: WaitOptions = {}): Promise<CheckpointMetadata[]> {
    return await this.#parts.calls.checkpoints(this.id, options);
  }

  async checkpointDetails(at: At, options: WaitOptions = {}): Promise<CheckpointDetails> {
    return await this.#parts.calls.checkpointDetails(this.id, at, options);
  }

  async writers(options: WaitOptions = {}): Promise<WriterPosition[]> {
    return [...(await this.describe(options)).writers];
  }

  restore(options: RestoreOptions = {}): RestoreStream {
    return new RemoteRestore(this.#parts, options);
  }

  readState(name: string, options: ReadStateOptions = {}): AsyncIterable<Uint8Array> {
    const { at = "latest", signal } = options;
    return this.#parts.calls.readState(this.id, name, at, { signal });
  }

  async verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    const { level, signal } = options;
    return await this.#parts.calls.verify(this.id, { level, signal });
  }

  async usage(options: WaitOptions = {}): Promise<JobUsage> {
    return await this.#parts.calls.usage(this.id, options);
  }

  close(_options: WaitOptions = {}): Promise<void> {
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
