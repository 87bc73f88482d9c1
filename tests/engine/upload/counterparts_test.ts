import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";

/** Tests of the source, by class. Each part of the upload system adds those that concern it. */
const REFERENCE: Readonly<Record<string, readonly string[]>> = {
  BatchingStateChangeUploadSchedulerTest: [
    "testNoDelayAndThreshold",
    "testSizeThreshold",
    "testDelay",
    "testRetry",
    "testUploadTimeout",
    "testRetryOnTimeout",
    "testErrorHandling",
    "testClose",
    "testBackPressure",
    "testInterruptedWhenBackPressured",
  ],
  RetryingExecutorTest: [
    "testNoRetries",
    "testFixedRetryLimit",
    "testFixedRetrySuccess",
    "testNonRetryableException",
    "testRetryDelay",
    "testNoRetryDelayIfTimeout",
    "testTimeout",
    "testDiscardOnTimeout",
  ],
  ChangelogStorageMetricsTest: [
    "testUploadsCounter",
    "testUploadSizes",
    "testUploadFailuresCounter",
    "testUploadBatchSizes",
    "testAttemptsPerUpload",
    "testTotalAttemptsPerUpload",
    "testQueueSize",
  ],
  TaskChangelogRegistryImplTest: [
    "testDiscardedWhenNotUsed",
    "testNotDiscardedIfStoppedTracking",
  ],
  ChangelogStateDiscardTest: [
    "testPreEmptiveUploadDiscardedOnMaterialization",
    "testPreEmptiveUploadDiscardedOnSubsumption",
    "testPreEmptiveUploadNotDiscardedWithoutNotification",
    "testPreEmptiveUploadDiscardedOnMaterializationIfCompletedLater",
    "testPreEmptiveUploadDiscardedOnClose",
    "testPreEmptiveUploadForMultipleBackends",
  ],
  FsStateChangelogWriterTest: [
    "testFileAvailableAfterPreUpload",
    "testFileAvailableAfterClose",
    "testLocalFileDiscard",
    "testLocalFileAfterMaterialize",
    "testLocalFileAbort",
  ],
  FsStateChangelogStorageTest: ["testWriteAndRead"],
  LocalChangelogRegistryTest: ["testRegistryNormal"],
  ChangelogStreamHandleReaderWithCacheTest: ["testCloseStreamTwice"],
};

function readBeside(path: string): string {
  return readFileSync(new URL(path, import.meta.url), "utf8");
}

/** A test of ours, as a row names it. */
const OURS = /^`([\w/.-]+_test\.ts)` > (.+)$/;

const rows = readBeside("COUNTERPARTS.md").split("\n")
  .filter((line) => line.startsWith("| ") && !/^\| (?:---|reference test)/.test(line))
  .map((line) => line.slice(1, -1).split(" | ").map((cell) => cell.trim()));

describe("COUNTERPARTS.md", () => {
  test("has a row for every test of the source", () => {
    const named = new Set(rows.map(([reference]) => reference));
    const wanted = Object.entries(REFERENCE).flatMap(([suite, tests]) =>
      tests.map((name) => `${suite} ${name}`)
    );
    assert.deepEqual(wanted.filter((name) => !named.has(name)), []);
  });

  test("names tests that there are, and a mutation for each", () => {
    assert.ok(rows.length > 0);
    for (const cells of rows) {
      assert.equal(cells.length, 3, cells.join(" | "));
      const [reference, ours, mutation] = cells;
      const [, file, name] = OURS.exec(ours) ?? [];
      assert.ok(name !== undefined, `${reference} names no test: ${ours}`);
      const text = readBeside(`../${file}`);
      const isThere = [`"${name}"`, `'${name}'`, `\`${name}\``].some((literal) =>
        text.includes(`test(${literal}`)
      );
      assert.ok(isThere, `${file} has no test ${JSON.stringify(name)}`);
      assert.ok(mutation.length > 10, `${reference} names no mutation`);
    }
  });
});
