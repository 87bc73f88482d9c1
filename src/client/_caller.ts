/** Requests with JSON in them, of the kinds that there are. */
import type { WaitOptions } from "../engine/types.ts";
import { type JsonObject, toJson } from "./_json.ts";
import type { Call, Transport } from "./transport.ts";

/** How long one attempt of a call may take; 0: as long as it takes. */
export interface CallLimits {
  /** Of what is done at once: appends, looks at a job. */
  readonly attemptMsMax: number;
  /** Of all else, but for what may take any time. */
  readonly longAttemptMsMax: number;
}

/** Sends them. */
export class Caller {
  readonly transport: Transport;
  readonly limits: CallLimits;

  constructor(transport: Transport, limits: CallLimits) {
    this.transport = transport;
    this.limits = limits;
  }

  /** Looks at something. */
  async get(path: string, { signal }: WaitOptions): Promise<JsonObject> {
    const attemptMsMax = this.limits.longAttemptMsMax;
    return await this.transport.json({ path, repeat: "lost", attemptMsMax, signal });
  }

  /** Sets something: as often as it takes. */
  async put(path: string, body: JsonObject, signal?: AbortSignal): Promise<JsonObject> {
    return await this.transport.json({
      ...this.jsonCall("PUT", path, body, signal),
      repeat: "lost",
    });
  }

  /** Asks for something that changes nothing, and may take any time. */
  async ask(path: string, body: JsonObject, signal?: AbortSignal): Promise<JsonObject> {
    return await this.transport.json({
      ...this.jsonCall("POST", path, body, signal),
      lostOutcome: "not-applied",
      repeat: "lost",
      attemptMsMax: 0,
    });
  }

  /** A request with JSON, which is repeated only where nothing was done. */
  jsonCall(method: "PUT" | "POST", path: string, body: JsonObject, signal?: AbortSignal): Call {
    return {
      method,
      path,
      headers: { "content-type": "application/json" },
      body: toJson(body),
      lostOutcome: "unknown",
      repeat: "refused",
      attemptMsMax: this.limits.longAttemptMsMax,
      signal,
    };
  }
}
