/**
 * Tokens that follow their file.
 *
 * Owns: when to look, what happens when the new text is bad.
 * Does not own: the file, the tokens (`token_table.ts`).
 * @module
 */
import type { Clock } from "../engine/port/clock.ts";
import { type Logger, SILENT_LOGGER } from "../engine/port/logger.ts";
import type { Access, Grant } from "./access.ts";
import type { TokenTable } from "./token_table.ts";

const LOOK_MS = 1000;

/** Options of {@link ReloadingTokens}. */
export interface ReloadingTokensOptions {
  /** Answers something else whenever the file may have changed; never throws. */
  readonly version: () => string;
  /** Reads the file. Throws where it can't be used. */
  readonly load: () => TokenTable;
  readonly clock: Clock;
  /** @default silent */
  readonly logger?: Logger;
}

/** Looks at the file at most once a second, when a token is asked for. */
export class ReloadingTokens implements Access {
  readonly #options: ReloadingTokensOptions;
  #tokens: TokenTable;
  #version: string;
  #lookedAtMs: number;
  /** What the logger was told last of a file that can't be read. */
  #told: string | undefined;

  /** @throws what `load` throws */
  constructor(options: ReloadingTokensOptions) {
    this.#options = options;
    // Asked before it is read: what changes in between is seen at the next look.
    this.#version = options.version();
    this.#tokens = options.load();
    this.#lookedAtMs = options.clock.monotonicMs();
  }

  grantOf(token: string): Grant | undefined {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#lookedAtMs >= LOOK_MS) {
      this.#lookedAtMs = nowMs;
      const found = this.#options.version();
      if (found !== this.#version) this.#load(found);
    }
    return this.#tokens.grantOf(token);
  }

  /** Reads the file now, whether or not it has changed. */
  reload(): void {
    this.#told = undefined;
    this.#load(this.#options.version());
  }

  /** A version that can't be read is tried again at every look: what kept it from that may be over by then. */
  #load(version: string): void {
    const { load, logger = SILENT_LOGGER } = this.#options;
    try {
      this.#tokens = load();
      this.#version = version;
      this.#told = undefined;
      logger.log("info", "tokens are read anew", { tokens: this.#tokens.size });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const told = `${version} ${reason}`;
      if (told === this.#told) return;
      this.#told = told;
      logger.log("error", "tokens can't be read anew: those from before go on", { reason });
    }
  }
}
