/** Answers that leave piece by piece: how many there are, and how long they wait for their readers. */
import { TidemarkError } from "../engine/errors.ts";
import type { Clock, Timer } from "../engine/port/clock.ts";

/** What an answer is made of. */
export interface AnswerSource {
  next(): Promise<IteratorResult<Uint8Array, unknown>>;
  /** Lets go of what it holds, when nobody reads it to its end. */
  leave(): Promise<unknown> | undefined;
}

/** Begins to read before a status is sent, so that what is not there is an error, and no stream that is cut. */
export async function beginning(all: AsyncIterable<Uint8Array>): Promise<AnswerSource> {
  const pieces = all[Symbol.asyncIterator]();
  let first: IteratorResult<Uint8Array> | undefined = await pieces.next();
  const next = (): Promise<IteratorResult<Uint8Array>> => {
    const piece = first === undefined ? pieces.next() : Promise.resolve(first);
    first = undefined;
    return piece;
  };
  return { next, leave: () => pieces.return?.() };
}

/** Limits of {@link AnswerStreams}. */
export interface AnswerLimits {
  /** Answers at a time; each takes some 10 MiB of memory. */
  readonly streamsMax: number;
  /** How long a reader may take nothing, in ms; 0: any time. */
  readonly idleMsMax: number;
}

/** Counts the answers that are under way. */
export class AnswerStreams {
  readonly #clock: Clock;
  readonly #limits: AnswerLimits;
  #count = 0;

  constructor(clock: Clock, limits: AnswerLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Answers that are under way. */
  get count(): number {
    return this.#count;
  }

  /**
   * The body of an answer.
   *
   * @param begin Opens what it is made of.
   * @throws {TidemarkError} `backpressure` when there are too many; what `begin` throws
   */
  async open(begin: () => Promise<AnswerSource>): Promise<ReadableStream<Uint8Array>> {
    this.#enter();
    try {
      return this.#stream(await begin());
    } catch (error) {
      this.#count -= 1;
      throw error;
    }
  }

  /**
   * Does what takes as much memory as an answer that streams.
   *
   * @throws {TidemarkError} `backpressure` when there are too many
   */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#enter();
    try {
      return await work();
    } finally {
      this.#count -= 1;
    }
  }

  #enter(): void {
    const { streamsMax } = this.#limits;
    if (this.#count >= streamsMax) throw tooMany(streamsMax);
    this.#count += 1;
  }

  #stream(source: AnswerSource): ReadableStream<Uint8Array> {
    const { idleMsMax } = this.#limits;
    let timer: Timer | undefined;
    let isOpen = true;
    const close = (): void => {
      timer?.cancel();
      if (isOpen) this.#count -= 1;
      isOpen = false;
    };
    const wait = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
      if (idleMsMax === 0) return;
      timer = this.#clock.schedule(idleMsMax, () => {
        close();
        controller.error(tookNothing(idleMsMax));
        // It can't be told any more: the connection is cut.
        void source.leave()?.catch(() => undefined);
      });
    };
    return new ReadableStream<Uint8Array>({
      start: wait,
      // Called only when the reader asks for more: that is the backpressure.
      async pull(controller) {
        timer?.cancel();
        try {
          const piece = await source.next();
          if (piece.done) {
            close();
            controller.close();
          } else {
            controller.enqueue(piece.value);
            wait(controller);
          }
        } catch (error) {
          close();
          throw error;
        }
      },
      async cancel() {
        close();
        await source.leave();
      },
    }, { highWaterMark: 0 });
  }
}

/** Runtimes print it: where in the program it comes from helps nobody. */
function tookNothing(idleMsMax: number): Error {
  const error = new Error(`The reader of an answer took nothing for ${idleMsMax} ms`);
  error.stack = error.message;
  return error;
}

function tooMany(streamsMax: number): TidemarkError {
  return new TidemarkError(
    "backpressure",
    `Cannot begin to stream an answer: ${streamsMax} others are under way; try again when one is done`,
    { details: { streamsMax } },
  );
}
