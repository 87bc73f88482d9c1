/** An app that is not there yet: it holds requests until it is. */
import type { HttpApp } from "../../http/app.ts";
import { asTidemarkError, problemResponse } from "../../http/problem.ts";

/** Holds requests that come before the store is open. */
export class ComingApp implements HttpApp {
  readonly #app: Promise<HttpApp>;
  isHere: (app: HttpApp) => void = () => {};
  failed: (error: unknown) => void = () => {};

  constructor() {
    this.#app = new Promise((resolve) => {
      this.isHere = resolve;
      this.failed = (error) => {
        const answer = (): Response => problemResponse(asTidemarkError(error));
        resolve({ fetch: () => Promise.resolve(answer()) });
      };
    });
  }

  async fetch(request: Request): Promise<Response> {
    return await (await this.#app).fetch(request);
  }
}
