import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { encodeChanges } from "../../../src/engine/format/change_input.ts";
import { type ChangeSet, setHeaderBytes } from "../../../src/engine/format/change_set.ts";
import { resolveSettings } from "../../../src/engine/settings.ts";
import { StateChangeFsUploader } from "../../../src/engine/upload/fs_uploader.ts";
import { schedulerFromConfig } from "../../../src/engine/upload/scheduler_from_config.ts";
import type { StateChangeUploadScheduler } from "../../../src/engine/upload/scheduler.ts";
import { UploadMetrics } from "../../../src/engine/upload/upload_metrics.ts";
import type { FaultyBackend } from "../../doubles/faulty_backend.ts";
import { ManualClock } from "../../doubles/manual_clock.ts";
import { RecordingMetrics } from "../../doubles/recording_metrics.ts";
import { newLog } from "./_log.ts";
import { RecordedTask, setOf } from "./_sets.ts";

/** A clock on which every look takes 10 ms. */
class TickingClock extends ManualClock {
  #looks = 0;

  override monotonicMs(): number {
    return super.monotonicMs() + 10 * this.#looks++;
  }
}

interface UploaderBench {
  readonly backend: FaultyBackend;
  readonly metrics: RecordingMetrics;
  readonly scheduler: StateChangeUploadScheduler;
  /** Uploads sets, as one task, and waits for what becomes of it. */
  upload(...sets: ChangeSet[]): Promise<RecordedTask>;
}

/** The uploader of change files behind a scheduler that neither waits nor tries again. */
function newBench(): UploaderBench {
  const { log, backend, ports } = newLog();
  const metrics = new RecordingMetrics();
  const clock = new TickingClock();
  const components = { clock, metrics: new UploadMetrics(metrics, "orders") };
  const settings = resolveSettings({ persistDelayMs: 0, uploadRetryPolicy: "none" });
  const uploader = new StateChangeFsUploader(log, () => {}, components);
  const scheduler = schedulerFromConfig("orders", settings, {
    ...ports,
    clock,
    metrics,
    uploader,
  });
  const upload = async (...sets: ChangeSet[]): Promise<RecordedTask> => {
    const recorded = new RecordedTask(sets);
    scheduler.upload(recorded.task);
    await scheduler.whenIdle();
    return recorded;
  };
  return { backend, metrics, scheduler, upload };
}

/** A set of one change of so many bytes, and the bytes of it that are not data. */
function sized(sequenceNumber: number, dataBytes: number): { set: ChangeSet; framing: number } {
  const changes = encodeChanges([{ keyGroup: 0, data: new Uint8Array(dataBytes) }]);
  const { bytes } = changes;
  const set = { ...setOf(sequenceNumber), byteLength: bytes.length, chunks: [bytes] };
  return { set, framing: setHeaderBytes(set) + bytes.length - dataBytes };
}

describe("StateChangeFsUploader counts", () => {
  test("each upload, and how long it took", async () => {
    const bench = newBench();
    for (let number = 0; number < 5; number++) {
      assert.equal((await bench.upload(setOf(number))).outcome, "complete");
    }
    assert.equal(bench.metrics.count("tidemark_upload_requests_total"), 5);
    const seconds = bench.metrics.values("tidemark_upload_latency_seconds");
    assert.equal(seconds.length, 5);
    assert.ok(Math.min(...seconds) > 0, `latencies ${seconds}`);
  });

  test("bytes before compression, framing included, and bytes that were written", async () => {
    const bench = newBench();
    const one = sized(0, 1);
    const large = sized(1, 3000);
    await bench.upload(one.set);
    await bench.upload(large.set);
    assert.deepEqual(bench.metrics.values("tidemark_upload_size_bytes"), [
      1 + one.framing,
      3000 + large.framing,
    ]);
    const [, stored] = bench.metrics.values("tidemark_upload_stored_size_bytes");
    assert.ok(stored > 0 && stored < 3000, `zeros are compressed, index included: ${stored}`);
  });

  test("all sets of a batch as one upload", async () => {
    const bench = newBench();
    const sets = [sized(0, 10), sized(1, 20)];
    await bench.upload(...sets.map(({ set }) => set));
    const framing = sets[0].framing + sets[1].framing;
    assert.deepEqual(bench.metrics.values("tidemark_upload_size_bytes"), [30 + framing]);
  });

  test("uploads that failed as such, and nothing of their size", async () => {
    const bench = newBench();
    for (let number = 0; number < 5; number++) {
      bench.backend.fail({ kind: "createAppender" });
      assert.equal((await bench.upload(setOf(number))).outcome, "failed");
    }
    assert.equal(bench.metrics.count("tidemark_upload_requests_total"), 5);
    assert.equal(bench.metrics.count("tidemark_upload_failures_total"), 5);
    assert.deepEqual(bench.metrics.values("tidemark_upload_size_bytes"), []);
    assert.deepEqual(bench.metrics.values("tidemark_upload_latency_seconds"), []);
  });
});
