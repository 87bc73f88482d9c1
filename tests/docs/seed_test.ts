import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { before, describe, test } from "node:test";
import * as api from "../../mod.ts";
import { type Export, exportsOf } from "./_api.ts";

/** The names of the systems that the product follows, in the order in which they are told of. */
const SEEDS: Readonly<Record<string, readonly string[]>> = {
  "The upload system": [
    "StateChangeUploadScheduler",
    "StateChangeUploadScheduler.upload",
    "StateChangeUploadScheduler.getAvailabilityProvider",
    "StateChangeUploadScheduler.close",
    "StateChangeUploadScheduler.fromConfig",
    "StateChangeUploadScheduler.directScheduler",
    "AvailabilityProvider",
    "AvailabilityProvider.isAvailable",
    "AvailabilityProvider.getAvailabilityFuture",
    "BatchingStateChangeUploadScheduler",
    "StateChangeUploader",
    "StateChangeUploader.upload",
    "StateChangeUploader.close",
    "AbstractStateChangeFsUploader",
    "StateChangeFsUploader",
    "DuplicatingStateChangeFsUploader",
    "UploadTask",
    "UploadTask.complete",
    "UploadTask.fail",
    "UploadTasksResult",
    "UploadTasksResult.getSuccessful",
    "UploadTasksResult.getFailed",
    "UploadResult",
    "UploadResult.getSequenceNumber",
    "UploadResult.getSize",
    "StateChangeSet",
    "SequenceNumber",
    "RetryingExecutor",
    "RetryingExecutor.execute",
    "RetryPolicy",
    "RetryPolicy.fixed",
    "UploadThrottle",
    "UploadThrottle.requestUpload",
    "UploadThrottle.uploadCompleted",
    "TaskChangelogRegistry",
    "LocalRecoveryConfig",
    "ChangelogStorageMetricGroup",
    "Configuration",
    "FileSystem",
    "Path",
    "JobID",
    "Executor",
    "IOException",
    "StateChangelogWriter",
    "StateChangelogWriter.append",
    "StateChangelogWriter.appendMeta",
    "StateChangelogWriter.initialSequenceNumber",
    "StateChangelogWriter.nextSequenceNumber",
    "StateChangelogWriter.persist",
    "StateChangelogWriter.confirm",
    "StateChangelogWriter.reset",
    "StateChangelogWriter.truncate",
    "StateChangelogWriter.truncateAndClose",
    "StateChangelogWriter.close",
    "StateChangelogHandleReader",
    "LocalChangelogRegistry",
  ],
  "The checkpointer": [
    "Checkpointer",
    "Checkpointer.backend",
    "Checkpointer.checkpoint_list",
    "Checkpointer.MIN_CHECKPOINT_THRESHOLD",
    "Checkpointer.new",
    "Checkpointer.verify_fingerprint",
    "Checkpointer.init_storage",
    "Checkpointer.measure_checkpoint_storage_use",
    "Checkpointer.gather_batches_for_checkpoint",
    "Checkpointer.gc_startup",
    "Checkpointer.checkpoint_dir",
    "Checkpointer.commit",
    "Checkpointer.list_checkpoints",
    "Checkpointer.read_checkpoints",
    "Checkpointer.update_checkpoint_file",
    "Checkpointer.remove_batch_file",
    "Checkpointer.remove_checkpoint_dir",
    "Checkpointer.gc_checkpoint",
    "CheckpointMetadata",
    "CheckpointMetadata.uuid",
    "CheckpointMetadata.identifier",
    "CheckpointMetadata.fingerprint",
    "CheckpointMetadata.size",
    "CheckpointMetadata.processed_records",
    "CheckpointMetadata.steps",
    "Checkpoint",
    "Checkpoint.checkpoint",
    "Checkpoint.restore",
    "EmptyCheckpoint",
    "Error::IncompatibleStorage",
  ],
};

/** Rows of the tables below a heading: a name there, what it is here, what has changed. */
async function rowsBelow(heading: string): Promise<string[][]> {
  const page = await readFile(new URL("../../docs/SEED.md", import.meta.url), "utf8");
  const section = page.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  return section.split("\n").filter((line) => line.startsWith("| `")).map((row) =>
    row.slice(1, -1).split("|").map((cell) => cell.trim())
  );
}

/** The names in code type. */
function namesIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
}

/** Names of what an export has, and what those have that it adds to. */
function membersOf(root: string, exports: readonly Export[]): string[] {
  const declarations = exports.find(({ name }) => name === root)?.declarations ?? [];
  return declarations.flatMap(({ def = {} }) => [
    ...[...(def.methods ?? []), ...(def.properties ?? [])].map(({ name = "" }) => name),
    ...(def.extends ?? []).flatMap(({ repr = "" }) => membersOf(repr, exports)),
  ]);
}

/** Why a name is not in the public interface; undefined when it is. */
function missing(name: string, exports: readonly Export[]): string | undefined {
  const [root, member] = name.split(".");
  if (exports.every(({ name }) => name !== root)) return `mod.ts exports no ${root}`;
  if (member === undefined || membersOf(root, exports).includes(member)) return undefined;
  const value = (api as Record<string, unknown>)[root] as Record<string, unknown> | undefined;
  return value?.[member] === undefined ? `${root} has no ${member}` : undefined;
}

describe("docs/SEED.md", () => {
  let exports: readonly Export[];
  before(async () => {
    exports = await exportsOf("mod.ts");
  });

  for (const [heading, names] of Object.entries(SEEDS)) {
    test(`has every name of ${heading.toLowerCase()}, and all that it says is there`, async () => {
      const rows = await rowsBelow(heading);
      assert.deepEqual(rows.flatMap(([there]) => namesIn(there)), names);
      for (const [there, here, change] of rows) {
        if (here === "none") assert.notEqual(change, "", `${there} is not explained`);
        else assert.notDeepEqual(namesIn(here), [], there);
        for (const name of namesIn(here)) assert.equal(missing(name, exports), undefined, there);
      }
    });
  }

  test("is held to the interface: what is not there is found", () => {
    assert.equal(missing("UploadThrottle", exports), undefined);
    assert.equal(missing("RetryPolicy.fixed", exports), undefined);
    assert.equal(missing("Writer.persist", exports), undefined);
    assert.equal(missing("UploadTasksResult.successful", exports), undefined);
    assert.equal(missing("Job.close", exports), undefined);
    assert.match(missing("ChangeFileLog", exports)!, /exports no ChangeFileLog/);
    assert.match(missing("Writer.confirm", exports)!, /Writer has no confirm/);
  });
});
