/** How many requests are answered at a time. */
import { TidemarkError } from "../engine/errors.ts";

/** Counts requests until their answers are there. */
export class RequestCount {
  readonly #requestsMax: number;
  #count = 0;

  constructor(requestsMax: number) {
    this.#requestsMax = requestsMax;
  }

  /** @throws {TidemarkError} `backpressure` when there are too many */
  enter(): void {
    if (this.#count >= this.#requestsMax) {
      throw new TidemarkError(
        "backpressure",
        `Cannot take the request: ${this.#requestsMax} others are being answered; try again later`,
        { details: { requestsMax: this.#requestsMax } },
      );
    }
    this.#count += 1;
  }

  leave(): void {
    this.#count -= 1;
  }
}
