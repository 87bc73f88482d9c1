import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ERROR_KINDS, type ErrorCode, TidemarkError } from "../../src/engine/errors.ts";
import { createApp } from "../../src/http/mod.ts";
import { STATUS_OF } from "../../src/http/problem.ts";
import { RecordingLogger } from "../doubles/recording_logger.ts";
import { storeWith } from "./_failing_store.ts";

const STATUSES: Readonly<Record<string, number>> = {
  "invalid": 400,
  "not-found": 404,
  "conflict": 409,
  "fenced": 409,
  "unavailable": 503,
  "storage-full": 507,
  "corrupt": 500,
  "closed": 503,
  "internal": 500,
};

const OWN_STATUSES: Readonly<Partial<Record<ErrorCode, number>>> = {
  "unauthorized": 401,
  "forbidden": 403,
};

function statusOf(code: ErrorCode): number {
  return OWN_STATUSES[code] ?? STATUSES[ERROR_KINDS[code]];
}

async function problemOf(thrown: unknown, logger?: RecordingLogger): Promise<Response> {
  const app = createApp(storeWith(() => Promise.reject(thrown)), { logger });
  return await app.fetch(new Request("http://127.0.0.1/v1/jobs/j"));
}

describe("errors over HTTP", () => {
  test("have one status for each kind", () => {
    assert.deepEqual(STATUS_OF, STATUSES);
  });

  for (const code of Object.keys(ERROR_KINDS) as ErrorCode[]) {
    test(`are a problem document for ${code}`, async () => {
      const error = new TidemarkError(code, "Cannot do it: a reason", {
        outcome: "unknown",
        details: { offset: 7, fingerprint: 2n ** 64n - 1n },
      });
      const response = await problemOf(error);
      assert.equal(response.status, statusOf(code));
      assert.equal(response.headers.get("content-type"), "application/problem+json");
      const { title, nextStep, ...rest } = await response.json();
      assert.deepEqual(rest, {
        type: `urn:tidemark:error:${code}`,
        status: statusOf(code),
        detail: "Cannot do it: a reason",
        code,
        kind: ERROR_KINDS[code],
        outcome: "unknown",
        retryable: error.retryable,
        details: { offset: 7, fingerprint: "18446744073709551615" },
      });
      assert.equal(title.length > 5 && nextStep.length > 5, true);
    });
  }

  test("say when to come back where that helps", async () => {
    const waits: [ErrorCode, string | null][] = [
      ["backpressure", "1"],
      ["storage-full", "10"],
      ["closed", "1"],
      ["fenced", null],
      ["invalid-name", null],
    ];
    for (const [code, wait] of waits) {
      const response = await problemOf(new TidemarkError(code, "Cannot do it"));
      assert.equal(response.headers.get("retry-after"), wait, code);
    }
  });

  test("that nobody thought of are internal, with an unknown outcome, and are logged", async () => {
    const logger = new RecordingLogger();
    const response = await problemOf(new Error("a fault"), logger);
    assert.equal(response.status, 500);
    const { code, detail, outcome } = await response.json();
    assert.deepEqual([code, outcome], ["internal", "unknown"]);
    assert.match(detail, /a fault/);
    assert.equal(logger.records.length, 1);
  });

  test("that are the client's are not logged", async () => {
    const logger = new RecordingLogger();
    await problemOf(new TidemarkError("job-not-found", "There is no job j"), logger);
    assert.equal(logger.records.length, 0);
  });
});
