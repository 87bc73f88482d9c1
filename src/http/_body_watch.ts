/** Bodies that come too slowly, or not at all. */
import type { Clock, Timer } from "../engine/port/clock.ts";
import { RequestError } from "./problem.ts";

/** Looks per time limit: one that stalls is noticed at most a quarter of the limit late. */
const LOOKS = 4;
/** What a body must bring within the limit, or its end: less keeps memory and a connection for nothing. */
const BYTES_PER_S_MIN = 1024;

/** A body that somebody reads. */
export interface WatchedBody {
  /** From now on the client is waited for. */
  waits(): void;
  /** So much has come; what is done with it is not the client's time. */
  came(bytes: number): void;
  /** Nobody reads it any more. */
  end(): void;
}

interface Entry {
  readonly stop: () => void;
  isWaiting: boolean;
  looks: number;
  bytes: number;
}

/** Watches every body of an app with one timer, which runs only while there is one. */
export class BodyWatch {
  readonly #clock: Clock;
  readonly #idleMsMax: number;
  readonly #bytesMin: number;
  readonly #entries = new Set<Entry>();
  #timer: Timer | undefined;

  /** @param idleMsMax 0: bodies may take any time */
  constructor(clock: Clock, idleMsMax: number) {
    this.#clock = clock;
    this.#idleMsMax = idleMsMax;
    this.#bytesMin = Math.ceil((BYTES_PER_S_MIN * idleMsMax) / 1000);
  }

  /** @param stop Called when the body stalls; it is not watched any more then. */
  begin(stop: () => void): WatchedBody {
    const entry: Entry = { stop, isWaiting: false, looks: 0, bytes: 0 };
    if (this.#idleMsMax > 0) this.#entries.add(entry);
    this.#arm();
    return {
      waits: () => void (entry.isWaiting = true),
      came: (bytes) => {
        entry.isWaiting = false;
        entry.bytes += bytes;
        if (entry.bytes < this.#bytesMin) return;
        entry.bytes = 0;
        entry.looks = 0;
      },
      end: () => void this.#entries.delete(entry),
    };
  }

  /** The refusal of a body that stalled. */
  tooSlow(): RequestError {
    return new RequestError(
      408,
      `Cannot read the request body: it brought less than ${this.#bytesMin} bytes in ` +
        `${this.#idleMsMax} ms, and did not end; send it again, faster`,
      { idleMsMax: this.#idleMsMax, bytesMin: this.#bytesMin },
      { connection: "close" },
    );
  }

  #arm(): void {
    if (this.#timer !== undefined || this.#entries.size === 0) return;
    this.#timer = this.#clock.schedule(this.#idleMsMax / LOOKS, () => {
      this.#timer = undefined;
      this.#look();
      this.#arm();
    });
  }

  #look(): void {
    for (const entry of this.#entries) {
      if (!entry.isWaiting || ++entry.looks <= LOOKS) continue;
      this.#entries.delete(entry);
      entry.stop();
    }
  }
}
