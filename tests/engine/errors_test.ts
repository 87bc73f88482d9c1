import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  ERROR_KINDS,
  type ErrorCode,
  type ErrorKind,
  hasCode,
  TidemarkError,
} from "../../src/engine/errors.ts";

const KINDS: readonly ErrorKind[] = [
  "invalid",
  "not-found",
  "conflict",
  "fenced",
  "unavailable",
  "storage-full",
  "corrupt",
  "closed",
  "internal",
];

describe("TidemarkError", () => {
  test("is an Error with a code, a kind, an outcome, details and a cause", () => {
    const cause = new Error("disk");
    const error = new TidemarkError("storage-full", "Cannot append: the disk is full", {
      outcome: "unknown",
      details: { freeBytes: 0 },
      cause,
    });
    assert.ok(error instanceof Error);
    assert.equal(error.name, "TidemarkError");
    assert.equal(error.code, "storage-full");
    assert.equal(error.kind, "storage-full");
    assert.equal(error.outcome, "unknown");
    assert.deepEqual(error.details, { freeBytes: 0 });
    assert.equal(error.cause, cause);
    assert.match(String(error.stack), /Cannot append/);
  });

  test("has taken no effect, has no details and no cause, unless it says so", () => {
    const error = new TidemarkError("closed", "Store x is closed");
    assert.equal(error.outcome, "not-applied");
    assert.deepEqual(error.details, {});
    assert.equal("cause" in error, false);
  });

  test("has codes in kebab case and kinds of a fixed list, each of them used", () => {
    for (const [code, kind] of Object.entries(ERROR_KINDS)) {
      assert.match(code, /^[a-z]+(-[a-z]+)*$/);
      assert.ok(KINDS.includes(kind), `${code}: ${kind}`);
      assert.equal(new TidemarkError(code as ErrorCode, "x").kind, kind);
    }
    assert.deepEqual(new Set(Object.values(ERROR_KINDS)), new Set(KINDS));
  });

  test("has the codes that the design names", () => {
    const named = ["backpressure", "fenced", "offset-conflict", "offset-mismatch"];
    named.push("snapshot-expired", "catalog-lost", "truncated", "storage-full", "run-required");
    for (const code of named) assert.ok(Object.hasOwn(ERROR_KINDS, code), code);
  });

  test("is retryable only where the same call may succeed later", () => {
    const retryable = Object.keys(ERROR_KINDS).filter((code) =>
      new TidemarkError(code as ErrorCode, "x").retryable
    );
    assert.deepEqual(retryable.sort(), [
      "backpressure",
      "job-busy",
      "server-unreachable",
      "snapshot-expired",
      "storage-full",
      "storage-unavailable",
    ]);
  });
});

test("hasCode asks for the class and the code", () => {
  assert.ok(hasCode(new TidemarkError("closed", "x"), "closed"));
  assert.equal(hasCode(new TidemarkError("closed", "x"), "fenced"), false);
  assert.equal(hasCode(Object.assign(new Error("x"), { code: "closed" }), "closed"), false);
  assert.equal(hasCode(undefined, "closed"), false);
});
