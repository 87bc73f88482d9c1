import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkRow, readRows, readTests } from "../_counterparts.ts";

/** Tests of the source, by file. */
const REFERENCE: Readonly<Record<string, readonly string[]>> = {
  "checkpointer.rs": [
    "test_checkpointer",
    "verify_checkpoint_intact_detects_missing_state_file",
    "missing_pspine_batches_preserves_batches",
    "missing_catalog_preserves_checkpoint_dirs",
    "gc_checkpoint_propagates_corrupt_protected_metadata",
    "corrupt_pspine_batches_returns_error_not_panic",
    "failed_commit_rolls_back_in_memory_list",
    "legacy_checkpoint_without_dependencies_json_preserves_batches",
  ],
  "dbsp_handle.rs": [
    "can_find_batches_for_checkpoint",
    "checkpoint_file",
    "circuit_takes_ownership_of_storage_dir",
    "revert_to_unknown_checkpoint",
    "revert_to_partial_checkpoint",
    "gc_commits",
    "gc_on_startup",
    "commit_restore",
    "reject_different_fingerprint",
    "test_z1_checkpointing",
    "commit_restore_bounds",
    "fingerprint_is_different",
  ],
  "runtime.rs": [
    "storage_no_cleanup",
  ],
  "backend/tests.rs": [
    "sequential_1024",
    "sequential_random",
    "empty",
    "test_backend",
    "fsync_dir_helper",
    "delete_1024",
  ],
  "dirlock/test.rs": [
    "lock and relock",
    "three directories",
  ],
  "feldera-types/checkpoint.rs": [
    "writer round trip",
    "V1 and V2 are read",
    "response without incarnation_uuid",
    "host prefix",
  ],
  "fbuf/slab.rs": [
    "reuse",
  ],
  "histogram.rs": [
    "value to bucket",
  ],
  "file/test.rs": [
    "golden files",
  ],
  "controller": [
    "ft_with_checkpoints",
    "ft_without_checkpoints",
    "ft_immediate_checkpoint",
    "suspend",
    "suspend_barrier",
    "test_checkpoint_activity",
    "test_permanent_suspend_errors_without_storage",
    "test_output_endpoint_reports_totals_at_the_checkpoint",
  ],
  "server": [
    "test_checkpoint_status_detects_restart",
  ],
  "test_checkpoint_suspend.py": [
    "a failed suspend is recorded",
  ],
  "adapters": [
    "journal test_create",
    "checkpoint.rs error list",
  ],
  "test_checkpoint_sync.py": [
    "",
  ],
};
const WEAK_POINTS = 37;

const rows = readRows(new URL("COUNTERPARTS.md", import.meta.url));

describe("COUNTERPARTS.md", () => {
  test("has a row for every test of the source", () => {
    const named = new Set(rows.map(([reference]) => reference));
    const wanted = Object.entries(REFERENCE).flatMap(([file, tests]) =>
      tests.map((name) => `${file} ${name}`.trimEnd())
    );
    assert.deepEqual(wanted.filter((name) => !named.has(name)), []);
  });

  test("has a row for every weak point", () => {
    const named = new Set(rows.map(([reference]) => /^row (\d+) /.exec(reference)?.[1]));
    const wanted = Array.from({ length: WEAK_POINTS }, (_, at) => String(at + 1));
    assert.deepEqual(wanted.filter((number) => !named.has(number)), []);
  });

  test("names tests that there are, and a mutation for each, or a reason", () => {
    for (const row of rows) {
      if (row.length === 2) assert.ok(row[1].length > 20, `${row[0]} gives no reason`);
      else checkRow(row, new URL("../../", import.meta.url));
    }
  });

  test("has a row for every test that is named after a weak point", () => {
    const named = new Set(rows.map(([, ours]) => ours));
    for (const file of ["weak_points_test.ts", "weak_points_disk_test.ts"]) {
      const names = readTests(new URL(file, import.meta.url)).filter((name) => /^row /.test(name));
      assert.ok(names.length > 5);
      const wanted = names.map((name) => `\`engine/checkpoint/${file}\` > ${name}`);
      assert.deepEqual(wanted.filter((ours) => !named.has(ours)), []);
    }
  });
});
