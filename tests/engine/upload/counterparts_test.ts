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
    "testAppend",
    "testPreUpload",
    "testPersist",
    "testPersistAgain",
    "testNoReUploadBeforeCompletion",
    "testPersistNewlyAppended",
    "testPersistAfterReset",
    "testPersistFailure",
    "testPersistFailedChanges",
    "testPersistNonFailedChanges",
    "testTruncate",
    "testFileAvailableAfterPreUpload",
    "testFileAvailableAfterClose",
    "testLocalFileDiscard",
    "testLocalFileAfterMaterialize",
    "testLocalFileAbort",
  ],
  FsStateChangelogWriterSqnTest: ["without", "append", "nextSequenceNumber"],
  FsStateChangelogStorageTest: [
    "testDeadlockOnUploadCompletion",
    "testWriteAndRead",
    "testNoAppendAfterClose",
  ],
  FsStateChangelogStorageLoaderTest: ["testLoaded"],
  StateChangeFsUploaderTest: ["testBasePath", "testCompression"],
  LocalChangelogRegistryTest: ["testRegistryNormal"],
  ChangelogStreamHandleReaderWithCacheTest: ["testCloseStreamTwice"],
};

const rows = readRows(new URL("COUNTERPARTS.md", import.meta.url));

describe("COUNTERPARTS.md", () => {
  test("has a row for every test of the source", () => {
    // What follows the name says how ours differs.
    const named = new Set(rows.map(([reference]) => /^\S+ \w+/.exec(reference)?.[0]));
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
