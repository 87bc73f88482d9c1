/** Request bodies, read in bounded memory. */
import { APPEND_MEMORY } from "../engine/changelog/append_memory.ts";
import { TidemarkError } from "../engine/errors.ts";
import { type DirectBody, READ_BODY, WHOLE_BYTES_MAX } from "../engine/port/request_body.ts";
import type { BodyWatch, WatchedBody } from "./_body_watch.ts";
import { RequestError } from "./problem.ts";

/** How much of request bodies is in memory, over all requests of an app. */
export class BodyBudget {
  #usedBytes = 0;

  constructor(readonly bytesMax: number) {}

  /** Bytes that are reserved now. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** @throws {TidemarkError} `backpressure` when other bodies hold what would be needed */
  reserve(bytes: number): void {
    if (this.#usedBytes + bytes > this.bytesMax) {
      throw new TidemarkError(
        "backpressure",
        `Cannot read a request body of ${bytes} bytes: other requests hold ${this.#usedBytes} of ` +
          `${this.bytesMax} bytes; try again when they are done`,
        { details: { bytes, usedBytes: this.#usedBytes, bytesMax: this.bytesMax } },
      );
    }
    this.#usedBytes += bytes;
  }

  release(bytes: number): void {
    this.#usedBytes -= bytes;
  }
}

/** A body in memory; its budget is held until it is released. */
export class HeldBody {
  readonly #budget: BodyBudget;
  #heldBytes: number;

  constructor(readonly bytes: Uint8Array, budget: BodyBudget, heldBytes: number) {
    this.#budget = budget;
    this.#heldBytes = heldBytes;
  }

  release(): void {
    this.#budget.release(this.#heldBytes);
    this.#heldBytes = 0;
  }
}

const UNSTATED_BODY_BYTES = 64 * 1024;

/**
 * Reads a request's body whole.
 *
 * @param bytesMax Largest body that is taken.
 * @throws {RequestError} 413 when it is larger, 400 when it ends before its stated length
 * @throws {RequestError} 408 when it stalls
 * @throws {TidemarkError} `backpressure` when the budget is used up
 */
export function readBody(
  request: Request & DirectBody,
  bytesMax: number,
  budget: BodyBudget,
  watch: BodyWatch,
): Promise<HeldBody> {
  // Neither this nor what follows is an async function: a small append feels the frame of each.
  try {
    const stated = statedLength(request);
    if (stated !== undefined && stated > bytesMax) throw tooLarge(bytesMax, stated);
    const isSeen = request[READ_BODY] !== undefined;
    if (stated !== undefined && (isSeen || stated <= WHOLE_BYTES_MAX)) {
      return readStated(request, stated, budget, watch);
    }
    return collectBody(request, new BodyCollector(bytesMax, budget, stated), watch);
  } catch (error) {
    return Promise.reject(error);
  }
}

function readStated(
  request: Request,
  stated: number,
  budget: BodyBudget,
  watch: BodyWatch,
): Promise<HeldBody> {
  budget.reserve(stated);
  return new Promise((resolve, reject) => {
    let isOver = false;
    const over = (): boolean => {
      if (isOver) return false;
      isOver = true;
      watched.end();
      return true;
    };
    const fail = (error: unknown): void => {
      if (!over()) return;
      budget.release(stated);
      reject(unreadable(error));
    };
    // Of a small one it need not be known how it comes.
    const unseen = stated > WHOLE_BYTES_MAX ? 0 : stated;
    const watched = watch.begin(() => fail(watch.tooSlow()), unseen);
    watched.waits();
    try {
      readWhole(request, stated, watched).then((bytes) => {
        if (bytes.length !== stated) fail(otherLength(stated, bytes.length));
        else if (over()) resolve(new HeldBody(bytes, budget, stated));
      }, fail);
    } catch (error) {
      fail(error);
    }
  });
}

/** The server hands out no more than was stated. */
function readWhole(
  request: Request & DirectBody,
  stated: number,
  watched: WatchedBody,
): Promise<Uint8Array> {
  if (request[READ_BODY] !== undefined) {
    return request[READ_BODY](stated, APPEND_MEMORY, watched);
  }
  // Node 20 has no `bytes` of its own.
  if (request.bytes !== undefined) return request.bytes();
  return request.arrayBuffer().then((buffer) => new Uint8Array(buffer));
}

/** Reads a body as it comes, into memory that grows with it where no length is stated. */
async function collectBody(
  request: Request,
  collector: BodyCollector,
  watch: BodyWatch,
): Promise<HeldBody> {
  const reader = request.body === null ? undefined : new WatchedReader(request.body, watch);
  try {
    for (let part = await reader?.read(); part !== undefined; part = await reader?.read()) {
      collector.add(part);
    }
    return collector.finish();
  } catch (error) {
    collector.release();
    throw unreadable(error);
  } finally {
    reader?.end();
  }
}

/**
 * Reads a request's body piece by piece, as it comes.
 *
 * @throws {RequestError} 400 when it can't be read, or ends before its stated length; 408 when it
 * stalls
 */
export async function* streamBody(
  request: Request,
  watch: BodyWatch,
): AsyncGenerator<Uint8Array> {
  const stated = statedLength(request);
  if (request.body === null) return;
  const reader = new WatchedReader(request.body, watch);
  let length = 0;
  try {
    for (let part = await reader.read(); part !== undefined; part = await reader.read()) {
      length += part.length;
      yield part;
    }
  } catch (error) {
    throw unreadable(error);
  } finally {
    reader.end();
  }
  if (stated !== undefined && stated !== length) throw otherLength(stated, length);
}

/** Reads a body as long as it comes. */
class WatchedReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #watch: BodyWatch;
  readonly #watched: WatchedBody;
  #isStalled = false;

  constructor(body: ReadableStream<Uint8Array>, watch: BodyWatch) {
    this.#reader = body.getReader();
    this.#watch = watch;
    this.#watched = watch.begin(() => {
      this.#isStalled = true;
      // Ends the wait below.
      this.#reader.cancel().catch(() => undefined);
    });
  }

  /** The next piece; undefined at the end. @throws {RequestError} 408 */
  async read(): Promise<Uint8Array | undefined> {
    this.#watched.waits();
    const part = await this.#reader.read();
    if (this.#isStalled) throw this.#watch.tooSlow();
    if (part.done) return undefined;
    this.#watched.came(part.value.length);
    return part.value;
  }

  end(): void {
    this.#watched.end();
    this.#reader.releaseLock();
  }
}

class BodyCollector {
  readonly #bytesMax: number;
  readonly #budget: BodyBudget;
  readonly #stated: number | undefined;
  #buffer: Uint8Array;
  #length = 0;
  #reserved = 0;

  constructor(bytesMax: number, budget: BodyBudget, stated: number | undefined) {
    this.#bytesMax = bytesMax;
    this.#budget = budget;
    this.#stated = stated;
    this.#buffer = new Uint8Array(this.#reserve(stated ?? Math.min(UNSTATED_BODY_BYTES, bytesMax)));
  }

  add(part: Uint8Array): void {
    const needed = this.#length + part.length;
    if (needed > this.#bytesMax) throw tooLarge(this.#bytesMax);
    if (needed > this.#buffer.length) this.#grow(needed);
    this.#buffer.set(part, this.#length);
    this.#length = needed;
  }

  finish(): HeldBody {
    if (this.#stated !== undefined && this.#length !== this.#stated) {
      throw otherLength(this.#stated, this.#length);
    }
    const bytes = this.#length === this.#buffer.length
      ? this.#buffer
      : this.#buffer.slice(0, this.#length);
    return new HeldBody(bytes, this.#budget, this.#reserved);
  }

  release(): void {
    this.#budget.release(this.#reserved);
    this.#reserved = 0;
  }

  #grow(needed: number): void {
    const length = Math.min(Math.max(needed, this.#buffer.length * 2), this.#bytesMax);
    this.#reserve(length - this.#buffer.length);
    const grown = new Uint8Array(length);
    grown.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = grown;
  }

  #reserve(bytes: number): number {
    this.#budget.reserve(bytes);
    this.#reserved += bytes;
    return bytes;
  }
}

function statedLength(request: Request): number | undefined {
  const header = request.headers.get("content-length");
  if (header === null) return undefined;
  if (!/^[0-9]{1,15}$/.test(header)) {
    throw new RequestError(
      400,
      `Cannot read the request body: content-length is ${JSON.stringify(header)}`,
    );
  }
  return Number(header);
}

function otherLength(stated: number, found: number): RequestError {
  return new RequestError(
    400,
    `Cannot read the request body: content-length says ${stated} bytes, got ${found}`,
  );
}

/** The connection of a body broke: the client went away, or the server cut it off. */
export class BrokenBody extends RequestError {
  constructor(cause: unknown) {
    super(400, `Cannot read the request body: ${String(cause)}`);
  }
}

function unreadable(error: unknown): TidemarkError {
  return error instanceof TidemarkError ? error : new BrokenBody(error);
}

function tooLarge(bytesMax: number, bytes?: number): RequestError {
  return new RequestError(
    413,
    `Cannot take a request body of ${bytes ?? "more"} bytes: at most ${bytesMax} are allowed; ` +
      `send it in several requests`,
    { bytesMax, ...(bytes === undefined ? {} : { bytes }) },
  );
}
