import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode, TidemarkError } from "../../../src/engine/errors.ts";
import { AttemptTimeoutError, RetryPolicy } from "../../../src/engine/upload/retry_policy.ts";
import { hasSettled, turn } from "../_engine.ts";
import { ExecutorBench } from "./_executor.ts";

function away(): TidemarkError {
  return new TidemarkError("storage-unavailable", "Cannot write: the disk is away");
}

describe("RetryingExecutor attempts", () => {
  test("once when there are no retries", async () => {
    const bench = new ExecutorBench();
    const run = bench.run(RetryPolicy.none());
    const error = away();
    await bench.fail(1, error);
    await assert.rejects(run, error);
    assert.equal(bench.attempts.length, 1);
  });

  test("as often as the policy says, and fails with the last error", async () => {
    const bench = new ExecutorBench();
    const run = bench.run(RetryPolicy.fixed(5, 0, 0));
    const errors = Array.from({ length: 5 }, away);
    for (const [i, error] of errors.entries()) await bench.fail(i + 1, error);
    await assert.rejects(run, (error) => error === errors[4]);
    assert.equal(bench.attempts.length, 5);
    assert.deepEqual(bench.failures, errors.map((error, i) => [i + 1, error]));
  });

  test("until one succeeds", async () => {
    const bench = new ExecutorBench();
    const run = bench.run(RetryPolicy.fixed(6, 0, 0));
    await bench.fail(1, away());
    await bench.fail(2, away());
    await bench.succeed(3);
    assert.equal(await run, "result 3");
    assert.equal(bench.attempts.length, 3);
    assert.deepEqual(bench.successes, [[3, 3]]);
  });

  test("once what would fail again, whatever is thrown, at once or later", async () => {
    const thrown = [new TypeError("x"), new TidemarkError("fenced", "x"), "a string", undefined];
    for (const error of thrown) {
      const bench = new ExecutorBench();
      const run = bench.run(RetryPolicy.fixed(Number.MAX_SAFE_INTEGER, 0, 0));
      const caught = run.catch((reason) => reason);
      await bench.fail(1, error);
      assert.equal(await caught, error);
      assert.equal(bench.attempts.length, 1);
      const atOnce = bench.executor.execute(() => {
        throw error;
      }, RetryPolicy.fixed(9, 0, 0));
      assert.equal(await atOnce.catch((reason) => reason), error);
    }
  });

  test("many times what throws at once, without nesting", async () => {
    const bench = new ExecutorBench();
    let attempts = 0;
    const run = bench.executor.execute(() => {
      attempts++;
      throw away();
    }, RetryPolicy.fixed(20_000, 0, 0));
    await assert.rejects(run, TidemarkError);
    assert.equal(attempts, 20_000);
  });

  test("after exactly the policy's delay", async () => {
    const bench = new ExecutorBench();
    void bench.run(RetryPolicy.fixed(2, 0, 123));
    await bench.fail(1, away());
    assert.equal(bench.clock.nextDelayMs, 123);
    await bench.clock.advance(122);
    assert.equal(bench.attempts.length, 1);
    await bench.clock.advance(1);
    assert.equal(bench.attempts.length, 2);
    await bench.succeed(2);
    assert.equal(bench.clock.pendingCount, 0);
  });

  test("without delay after a timeout, the operation's own included", async () => {
    const bench = new ExecutorBench();
    void bench.run(RetryPolicy.fixed(3, 0, 123));
    await bench.fail(1, new DOMException("late", "TimeoutError"));
    assert.equal(bench.attempts.length, 2);
    await bench.fail(2, new AttemptTimeoutError(1, 5));
    assert.equal(bench.attempts.length, 3);
    assert.equal(bench.clock.pendingCount, 0);
    await bench.succeed(3);
  });
});

describe("RetryingExecutor attempts that take too long", () => {
  test("go on beside the next", async () => {
    const bench = new ExecutorBench();
    const run = bench.run(RetryPolicy.fixed(2, 500, 0));
    await bench.clock.advance(499);
    assert.equal(bench.attempts.length, 1);
    await bench.clock.advance(1);
    assert.equal(bench.attempts.length, 2);
    assert.equal(bench.executor.attemptsInFlight, 2);
    assert.equal(bench.attempts[0].signal.aborted, false);
    await bench.succeed(2);
    assert.equal(await run, "result 2");
  });

  test("win when they are done first, and what runs is told to stop", async () => {
    const bench = new ExecutorBench();
    const run = bench.run(RetryPolicy.fixed(2, 500, 0));
    await bench.clock.advance(500);
    await bench.succeed(1);
    assert.equal(await run, "result 1");
    assert.deepEqual(bench.successes, [[1, 2]]);
    assert.equal(bench.attempts[0].signal.aborted, false);
    assert.ok(hasCode(bench.attempts[1].signal.reason, "aborted"));
    assert.equal(bench.clock.pendingCount, 0);
    await bench.succeed(2);
    assert.deepEqual(bench.losers, ["result 2"]);
  });

  test("are handed over, each once, when another won", async () => {
    const bench = new ExecutorBench(10);
    const run = bench.run(RetryPolicy.fixed(7, 5, 0));
    for (let i = 0; i < 6; i++) await bench.clock.advance(5);
    await bench.succeed(7);
    assert.equal(await run, "result 7");
    assert.deepEqual(bench.losers, []);
    for (const ordinal of [3, 1, 2, 6, 5, 4]) await bench.succeed(ordinal);
    assert.deepEqual(bench.losers, [3, 1, 2, 6, 5, 4].map((ordinal) => `result ${ordinal}`));
    assert.deepEqual(bench.failures.map(([ordinal]) => ordinal), [1, 2, 3, 4, 5, 6]);
    assert.deepEqual(bench.successes, [[7, 7]]);
  });

  test("fail the whole at once when the last does, and are handed over if they come", async () => {
    const bench = new ExecutorBench();
    const run = bench.run(RetryPolicy.fixed(2, 5, 0));
    const failure = assert.rejects(run, { name: "AttemptTimeoutError", attempt: 2, timeoutMs: 5 });
    await bench.clock.advance(10);
    await failure;
    assert.equal(bench.executor.attemptsInFlight, 2);
    assert.ok(bench.attempts.every(({ signal }) => signal.aborted));
    await bench.succeed(1);
    await bench.fail(2, away());
    assert.deepEqual(bench.losers, ["result 1"]);
    assert.deepEqual(bench.successes, []);
    assert.equal(bench.executor.attemptsInFlight, 0);
  });

  test("count as failed once, though they fail later too", async () => {
    const bench = new ExecutorBench();
    const run = bench.run(RetryPolicy.fixed(3, 5, 0));
    await bench.clock.advance(5);
    await bench.fail(1, away());
    assert.equal(bench.attempts.length, 2);
    assert.equal(bench.failures.length, 1);
    await bench.succeed(2);
    await run;
  });

  test("do not end the whole while another attempt runs or is due", async () => {
    const bench = new ExecutorBench();
    const run = bench.run(RetryPolicy.fixed(3, 50, 20));
    await bench.clock.advance(50);
    await bench.fail(2, away());
    assert.equal(await hasSettled(run), false);
    await bench.clock.advance(20);
    assert.equal(bench.attempts.length, 3);
    await bench.succeed(3);
    assert.equal(await run, "result 3");
  });

  test("are stopped before the next begins, where attempts can't overlap, and count for nothing", async () => {
    const bench = new ExecutorBench();
    const run = bench.run(RetryPolicy.fixed(3, 5, 0), { overlapping: false });
    let abortedFirst = false;
    bench.attempts[0].signal.addEventListener("abort", () => {
      abortedFirst = bench.attempts.length === 1;
    });
    await bench.clock.advance(5);
    assert.ok(abortedFirst);
    assert.ok(bench.attempts[0].signal.reason instanceof AttemptTimeoutError);
    await bench.succeed(1);
    assert.equal(await hasSettled(run), false);
    await bench.succeed(2);
    assert.equal(await run, "result 2");
    assert.deepEqual(bench.losers, []);
  });

  test("are not handed over where they can't overlap, even after a failure", async () => {
    const bench = new ExecutorBench();
    const run = bench.run(RetryPolicy.none(), { overlapping: false });
    const failure = assert.rejects(run, (error) => hasCode(error, "closed"));
    await bench.executor.close();
    await failure;
    await bench.succeed(1);
    assert.deepEqual(bench.losers, []);
  });
});

describe("RetryingExecutor runs so many attempts at once", () => {
  test("over all operations, in order of arrival", async () => {
    const bench = new ExecutorBench(2);
    const runs = [1, 2, 3, 4].map(() => bench.run(RetryPolicy.none()));
    assert.equal(bench.attempts.length, 2);
    assert.equal(bench.executor.attemptsInFlight, 2);
    await bench.succeed(2);
    assert.equal(bench.attempts.length, 3);
    await bench.fail(1, new Error("x"));
    assert.equal(bench.attempts.length, 4);
    await bench.succeed(3);
    await bench.succeed(4);
    await Promise.allSettled(runs);
    assert.equal(bench.executor.attemptsInFlight, 0);
  });

  test("and counts the time from when an attempt is due, so that it settles though all places hang", async () => {
    const bench = new ExecutorBench(1);
    const hung = bench.run(RetryPolicy.none());
    const starved = bench.run(RetryPolicy.fixed(2, 5, 0));
    const failure = assert.rejects(starved, { name: "AttemptTimeoutError" });
    await bench.clock.advance(10);
    await failure;
    assert.equal(bench.attempts.length, 1);
    await bench.succeed(1);
    await hung;
    assert.equal(bench.attempts.length, 1);
    assert.equal(bench.executor.attemptsInFlight, 0);
  });

  test("and lets others go first when an attempt is tried again", async () => {
    const bench = new ExecutorBench(1);
    void bench.run(RetryPolicy.fixed(2, 0, 0));
    void bench.run(RetryPolicy.none());
    await bench.fail(1, away());
    assert.deepEqual(bench.attempts.map(({ run, ordinal }) => [run, ordinal]), [[0, 1], [1, 1]]);
    await bench.succeed(2);
    assert.deepEqual(bench.attempts.map(({ run, ordinal }) => [run, ordinal]).at(-1), [0, 2]);
    await bench.succeed(3);
  });

  test("refuses a bound that is none", () => {
    for (const max of [0, -1, 1.5, NaN]) assert.throws(() => new ExecutorBench(max), RangeError);
  });
});

describe("RetryingExecutor is given up", () => {
  test("by a signal: before, while an attempt runs, and while one is due", async () => {
    const reason = new Error("left");
    const bench = new ExecutorBench();
    const policy = RetryPolicy.fixed(3, 0, 50);
    await assert.rejects(bench.run(policy, { signal: AbortSignal.abort(reason) }), reason);
    const abort = new AbortController();
    const runs = [1, 2].map(() => bench.run(policy, { signal: abort.signal }));
    const failures = runs.map((run) => assert.rejects(run, reason));
    await bench.fail(1, away());
    abort.abort(reason);
    await Promise.all(failures);
    assert.equal(bench.attempts[1].signal.reason, reason);
    assert.equal(bench.clock.pendingCount, 0);
    await bench.succeed(2);
    assert.deepEqual(bench.losers, ["result 2"]);
  });

  test("by a close: what runs, hangs, is due and waits for its turn, each once", async () => {
    const bench = new ExecutorBench(2);
    const policy = RetryPolicy.fixed(3, 5, 50);
    const runs = [1, 2, 3].map(() => bench.run(policy));
    const failures = runs.map((run) => assert.rejects(run, (error) => hasCode(error, "closed")));
    await bench.fail(1, away());
    await bench.executor.close();
    await Promise.all(failures);
    await bench.executor.close();
    await assert.rejects(bench.run(policy), (error) => hasCode(error, "closed"));
    assert.equal(bench.clock.pendingCount, 0);
    assert.equal(bench.attempts.length, 3);
    assert.ok(bench.attempts.slice(1).every(({ signal }) => signal.aborted));
  });
});

describe("RetryingExecutor survives what it calls", () => {
  const thrown = new Error("thrown");
  const throwing = (): never => {
    throw thrown;
  };

  test("callbacks that throw: the result stands, and it is logged", async () => {
    const bench = new ExecutorBench();
    const callbacks = { onFailure: throwing, onSuccess: throwing, onLoser: throwing };
    const run = bench.run(RetryPolicy.fixed(3, 5, 0), callbacks);
    await bench.clock.advance(5);
    await bench.succeed(1);
    assert.equal(await run, "result 1");
    await bench.succeed(2);
    assert.deepEqual(bench.logger.records.map(({ level, fields }) => [level, fields.error]), [
      ["error", thrown],
      ["error", thrown],
      ["error", thrown],
    ]);
    assert.equal(bench.executor.attemptsInFlight, 0);
  });

  test("a policy that throws: the operation fails with it", async () => {
    const policy = RetryPolicy.none();
    const bench = new ExecutorBench();
    await assert.rejects(bench.run({ ...policy, timeoutMs: throwing }), thrown);
    assert.equal(bench.attempts.length, 0);
    const run = bench.run({ ...policy, retryAfterMs: throwing });
    const failure = assert.rejects(run, thrown);
    await bench.fail(1, away());
    await failure;
    const again = {
      timeoutMs: (n: number) => n > 1 ? throwing() : undefined,
      retryAfterMs: () => 0,
    };
    const late = bench.run({ ...policy, ...again });
    const lateFailure = assert.rejects(late, thrown);
    await bench.fail(2, away());
    await lateFailure;
    await turn();
    assert.equal(bench.executor.attemptsInFlight, 0);
  });
});
