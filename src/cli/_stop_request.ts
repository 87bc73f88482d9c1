/** Signals that ask a long command to end: the first in order, the second at once. */
import type { CliIo, StopSignal } from "../runtime/cli_io.ts";
import { EXIT_CODE_OF_SIGNAL } from "./exit_codes.ts";

/** Wrappers such as `bun run` pass a signal on that their group had already: it comes twice. */
const ECHO_MS_MAX = 1000;

/** Listens for signals until it is told to ignore them. */
export class StopRequest {
  /** Settles at the first signal. */
  readonly requested: Promise<void>;
  /** Stops listening. */
  readonly ignore: () => void;
  readonly #io: CliIo;
  #request: () => void = () => {};
  #signal: StopSignal | undefined;
  #firstAtMs = 0;

  constructor(io: CliIo) {
    this.#io = io;
    this.requested = new Promise((resolve) => this.#request = resolve);
    this.ignore = io.onStopSignal((signal) => this.take(signal));
  }

  /** Takes a signal, also one that stands for another. */
  take(signal: StopSignal): void {
    const io = this.#io;
    if (this.#signal !== undefined) {
      const isEcho = signal === this.#signal && io.monotonicMs() - this.#firstAtMs < ECHO_MS_MAX;
      if (!isEcho) io.exit(EXIT_CODE_OF_SIGNAL[signal]);
      return;
    }
    this.#firstAtMs = io.monotonicMs();
    this.#signal = signal;
    this.#request();
  }

  /** The signal that asked for the end. */
  get signal(): StopSignal | undefined {
    return this.#signal;
  }
}
