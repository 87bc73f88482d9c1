/** Bodies that come too slowly, or not at all. */
import type { Clock, Timer } from "../engine/port/clock.ts";
import { RequestError } from "./problem.ts";

/** Looks per time limit: one that stalls is noticed at most a quarter of the limit late. */
const LOOKS = 4;
/** What a body must bring within the limit, or its end: less keeps memory and a connection for nothing. */
const BYTES_PER_S_MIN = 1024;
/** How many times that, where it is not seen how a body comes: it holds all of its memory meanwhile. */
const UNSEEN_TIMES = 8;

/** A body that somebody reads. Those of an app are a list, as in `engine/upload/_task_ledger.ts`. */
export class WatchedBody {
  readonly #bytesMin: number;
  /** Called when it stalls. */
  readonly stop: () => void;
  /** Looks that find nothing new before it counts as stalled. */
  readonly looksMax: number;
  before: WatchedBody | undefined;
  after: WatchedBody | undefined;
  isWaiting = false;
  looks = 0;
  #bytes = 0;

  constructor(stop: () => void, bytesMin: number, looksMax: number) {
    this.#bytesMin = bytesMin;
    this.looksMax = looksMax;
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
    const { before, after } = this;
    if (before !== undefined) before.after = after;
    if (after !== undefined) after.before = before;
    this.before = undefined;
    this.after = undefined;
  }
}

/** Watches every body of an app with one timer, which runs only while there is one. */
export class BodyWatch {
  readonly #clock: Clock;
  readonly #idleMsMax: number;
  readonly #bytesMin: number;
  /** Stands before all others, and is no body. */
  readonly #first = new WatchedBody(() => {}, 0, 0);
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
    const body = new WatchedBody(stop, bytesMin, looksMax);
    if (this.#idleMsMax === 0) return body;
    const first = this.#first;
    body.before = first;
    body.after = first.after;
    if (first.after !== undefined) first.after.before = body;
    first.after = body;
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
    if (this.#timer !== undefined || this.#first.after === undefined) return;
    this.#timer = this.#clock.schedule(this.#idleMsMax / LOOKS, () => {
      this.#timer = undefined;
      this.#look();
      this.#arm();
    });
  }

  #look(): void {
    const stalled: WatchedBody[] = [];
    for (let body = this.#first.after; body !== undefined; body = body.after) {
      if (body.isWaiting && ++body.looks > body.looksMax) stalled.push(body);
    }
    for (const body of stalled) {
      // Who heard of one before may have ended it.
      if (body.before === undefined) continue;
      body.end();
      body.stop();
    }
  }
}
