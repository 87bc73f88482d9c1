import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TidemarkError } from "../../../src/engine/errors.ts";
import {
  AttemptTimeoutError,
  isRetryable,
  isTimeout,
  RetryPolicy,
} from "../../../src/engine/upload/retry_policy.ts";
import { SeededRandom } from "../../doubles/seeded_random.ts";

const TIMEOUT = new AttemptTimeoutError(1, 5);
const AWAY = new TidemarkError("storage-unavailable", "away");

describe("RetryPolicy none", () => {
  test("has neither timeout nor retry", () => {
    const policy = RetryPolicy.none();
    assert.equal(policy.name, "none");
    assert.equal(policy.timeoutMs(1), undefined);
    assert.equal(policy.retryAfterMs(1, AWAY, 0), undefined);
    assert.equal(policy.retryAfterMs(1, TIMEOUT, 0), undefined);
  });
});

describe("RetryPolicy fixed", () => {
  test("waits after failures, not after timeouts, and gives up at the last attempt", () => {
    const policy = RetryPolicy.fixed(3, 5000, 500);
    assert.equal(policy.name, "fixed");
    assert.equal(policy.timeoutMs(1), 5000);
    assert.equal(policy.timeoutMs(3), 5000);
    assert.equal(policy.retryAfterMs(1, AWAY, 1e9), 500);
    assert.equal(policy.retryAfterMs(2, TIMEOUT, 0), 0);
    assert.equal(policy.retryAfterMs(3, AWAY, 0), undefined);
    assert.equal(policy.retryAfterMs(3, TIMEOUT, 0), undefined);
  });

  test("has no timeout when that is 0 or less", () => {
    assert.equal(RetryPolicy.fixed(3, 0, 0).timeoutMs(1), undefined);
    assert.equal(RetryPolicy.fixed(3, -1, 0).timeoutMs(1), undefined);
  });

  test("gives up at once what would fail again", () => {
    const policy = RetryPolicy.fixed(3, 0, 0);
    for (const error of [new TypeError("x"), new TidemarkError("fenced", "x"), "text", undefined]) {
      assert.equal(policy.retryAfterMs(1, error, 0), undefined);
    }
  });

  test("refuses a count of attempts that is none", () => {
    for (const attempts of [0, -1, 1.5, NaN]) {
      assert.throws(() => RetryPolicy.fixed(attempts, 0, 0), {
        name: "RangeError",
        message: new RegExp(`${attempts} attempts`),
      });
    }
  });
});

describe("RetryPolicy exponential", () => {
  const options = {
    attemptsMax: 2000,
    timeoutMs: 5000,
    delayMsMin: 100,
    delayMsMax: 1000,
    deadlineMs: 60_000,
    random: new SeededRandom(7),
  };
  /** Draws the highest and the lowest there is. */
  const highest = { fill: (bytes: Uint8Array) => void bytes.fill(255) };
  const lowest = { fill: (bytes: Uint8Array) => void bytes.fill(0) };

  test("doubles the bound of its waits, up to the largest", () => {
    const policy = RetryPolicy.exponential({ ...options, random: highest });
    assert.equal(policy.name, "exponential");
    assert.equal(policy.timeoutMs(1), 5000);
    const waits = [1, 2, 3, 4, 5, 1999].map((attempt) => policy.retryAfterMs(attempt, AWAY, 0)!);
    assert.deepEqual(waits.map(Math.round), [100, 200, 400, 800, 1000, 1000]);
    assert.ok(waits[0] < 100);
  });

  test("draws evenly from nothing to the bound", () => {
    assert.equal(
      RetryPolicy.exponential({ ...options, random: lowest }).retryAfterMs(5, AWAY, 0),
      0,
    );
    const policy = RetryPolicy.exponential(options);
    const waits = Array.from({ length: 1000 }, () => policy.retryAfterMs(9, AWAY, 0)!);
    for (const fifth of [0, 1, 2, 3, 4]) {
      const count = waits.filter((ms) => ms >= fifth * 200 && ms < (fifth + 1) * 200).length;
      assert.ok(count > 140 && count < 260, `${count} of 1000 waits in fifth ${fifth}, seed 7`);
    }
  });

  test("begins nothing after the deadline, or after the last attempt", () => {
    const policy = RetryPolicy.exponential({ ...options, attemptsMax: 3, random: highest });
    assert.ok(policy.retryAfterMs(1, AWAY, 59_900)! <= 100);
    assert.equal(policy.retryAfterMs(1, AWAY, 59_901), undefined);
    assert.equal(policy.retryAfterMs(3, AWAY, 0), undefined);
    assert.equal(policy.retryAfterMs(1, new Error("x"), 0), undefined);
  });

  test("goes on however many attempts there were, though the first wait is nothing", () => {
    const policy = RetryPolicy.exponential({ ...options, delayMsMin: 0 });
    assert.equal(policy.retryAfterMs(1500, AWAY, 0), 0);
  });
});

test("isTimeout and isRetryable know the policy's timeouts and those of signals", () => {
  const ofSignal = new DOMException("late", "TimeoutError");
  const aborted = new DOMException("left", "AbortError");
  assert.deepEqual([TIMEOUT, ofSignal, aborted, AWAY].map(isTimeout), [true, true, false, false]);
  assert.deepEqual([TIMEOUT, ofSignal, aborted, AWAY].map(isRetryable), [true, true, false, true]);
  assert.match(TIMEOUT.message, /Attempt 1 took longer than 5 ms/);
});
