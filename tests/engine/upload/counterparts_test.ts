import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkRow, readRows } from "../_counterparts.ts";

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

const rows = readRows(new URL("COUNTERPARTS.md", import.meta.url));

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
    for (const row of rows) checkRow(row, new URL("../", import.meta.url));
  });
});
