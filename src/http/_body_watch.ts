/** Bodies that come too slowly, or not at all. */
import type { Clock, Timer } from "../engine/port/clock.ts";
import { RequestError } from "./problem.ts";

/** Looks per time limit: one that stalls is noticed at most a quarter of the limit late. */
const LOOKS = 4;
/** What a body must bring within the limit, or its end: less keeps memory and a connection for nothing. */
const BYTES_PER_S_MIN = 1024;
/** How many times that, where it is not seen how a body comes: it holds all of its memory meanwhile. */
const UNSEEN_TIMES = 8;

/** A body that somebody reads. */
export class WatchedBody {
  readonly #entries: Set<WatchedBody>;
  readonly #bytesMin: number;
  /** Called when it stalls. */
  readonly stop: () => void;
  /** Looks that find nothing new before it counts as stalled. */
  readonly looksMax: number;
  isWaiting = false;
  looks = 0;
  #bytes = 0;

  constructor(
    entries: Set<WatchedBody>,
    stop: () => void,
    limits: { readonly bytesMin: number; readonly looksMax: number },
  ) {
    this.#entries = entries;
    this.#bytesMin = limits.bytesMin;
    this.looksMax = limits.looksMax;
    this.stop = stop;
  }

  /** From now on the client is waited for. */
  waits(): void {
    this.isWaiting = true;
  }

  /** So much has come; what is done with it is not the client's time. */
  came(bytes: number): void {
    this.isWaiting = false;
    this.#bytes += bytes;
    if (this.#bytes < this.#bytesMin) return;
    this.#bytes = 0;
    this.looks = 0;
  }

  /** Nobody reads it any more. */
  end(): void {
    this.#entries.delete(this);
  }
}

/** Watches every body of an app with one timer, which runs only while there is one. */
export class BodyWatch {
  readonly #clock: Clock;
  readonly #idleMsMax: number;
  readonly #bytesMin: number;
  readonly #bodies = new Set<WatchedBody>();
  #timer: Timer | undefined;

  /** @param idleMsMax 0: bodies may take any time */
  constructor(clock: Clock, idleMsMax: number) {
    this.#clock = clock;
    this.#idleMsMax = idleMsMax;
    this.#bytesMin = Math.ceil((BYTES_PER_S_MIN * idleMsMax) / 1000);
  }

  /**
   * @param stop Called when the body stalls; it is not watched any more then.
   * @param unseenBytes How much may come without being told here. @default 0
   */
  begin(stop: () => void, unseenBytes = 0): WatchedBody {
    const bytesMin = this.#bytesMin;
    const looksMax = LOOKS * Math.max(1, Math.ceil(unseenBytes / (bytesMin * UNSEEN_TIMES)));
    const body = new WatchedBody(this.#bodies, stop, { bytesMin, looksMax });
    if (this.#idleMsMax > 0) this.#bodies.add(body);
    this.#arm();
    return body;
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
    if (this.#timer !== undefined || this.#bodies.size === 0) return;
    this.#timer = this.#clock.schedule(this.#idleMsMax / LOOKS, () => {
      this.#timer = undefined;
      this.#look();
      this.#arm();
    });
  }

  #look(): void {
    for (const body of this.#bodies) {
      if (!body.isWaiting || ++body.looks <= body.looksMax) continue;
      body.end();
      body.stop();
    }
  }
}
