/** An app that is not there yet: it holds requests until it is. */
import type { HttpApp } from "../../http/app.ts";
import { asTidemarkError, problemResponse } from "../../http/problem.ts";

/** Holds requests that come before the store is open. */
export class ComingApp implements HttpApp {
  readonly #coming: Promise<HttpApp>;
  #come: (app: HttpApp) => void = () => {};
  #here: HttpApp | undefined;

  constructor() {
    this.#coming = new Promise((resolve) => this.#come = resolve);
  }

  isHere(app: HttpApp): void {
    this.#here = app;
    this.#come(app);
  }

  failed(error: unknown): void {
    const answer = (): Response => problemResponse(asTidemarkError(error));
    this.isHere({ fetch: () => Promise.resolve(answer()) });
  }

  fetch(request: Request): Promise<Response> {
    return this.#here?.fetch(request) ?? this.#coming.then((app) => app.fetch(request));
  }
}
