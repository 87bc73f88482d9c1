import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TidemarkError } from "../../../src/engine/errors.ts";
import { resolveSettings, type StoreSettings } from "../../../src/engine/settings.ts";
import {
  retryPolicyOf,
  schedulerFromConfig,
} from "../../../src/engine/upload/scheduler_from_config.ts";
import { UploadThrottle } from "../../../src/engine/upload/upload_throttle.ts";
import { ManualClock } from "../../doubles/manual_clock.ts";
import { RecordingLogger } from "../../doubles/recording_logger.ts";
import { RecordingMetrics } from "../../doubles/recording_metrics.ts";
import { SeededRandom } from "../../doubles/seeded_random.ts";
import { turn } from "../_engine.ts";
import { ManualUploader } from "./_scheduler.ts";
import { RecordedTask, setOfBytes } from "./_sets.ts";

const AWAY = new TidemarkError("storage-unavailable", "away");

function schedule(
  settings: Partial<StoreSettings>,
  components: { readonly canOverlap?: boolean; readonly throttle?: UploadThrottle } = {},
) {
  const clock = new ManualClock();
  const metrics = new RecordingMetrics();
  const uploader = new ManualUploader(components);
  const scheduler = schedulerFromConfig("orders", resolveSettings(settings), {
    clock,
    metrics,
    uploader,
    logger: new RecordingLogger(),
    random: new SeededRandom(1),
    throttle: components.throttle,
  });
  const upload = (number: number, size = 100): RecordedTask => {
    const recorded = new RecordedTask([setOfBytes(number, size)]);
    scheduler.upload(recorded.task);
    return recorded;
  };
  return { clock, metrics, uploader, scheduler, upload };
}

describe("schedulerFromConfig", () => {
  test("waits, retries and gives up by the defaults", async () => {
    const { clock, uploader, upload, metrics } = schedule({});
    const recorded = upload(0);
    await clock.advance(9);
    assert.equal(uploader.calls.length, 0);
    await clock.advance(1);
    await uploader.end(AWAY);
    await clock.advance(499);
    assert.equal(uploader.calls.length, 1);
    await clock.advance(1);
    await clock.advance(30_000);
    assert.equal(uploader.calls.length, 3);
    assert.equal(metrics.count("tidemark_upload_timeouts_total"), 1);
    await clock.advance(29_999);
    assert.equal(recorded.outcome, "none");
    await clock.advance(1);
    assert.equal(recorded.outcome, "failed");
  });

  test("takes delay, threshold, limit and bound from the settings", async () => {
    const settings = {
      persistDelayMs: 77,
      persistSizeThresholdBytes: 300,
      preemptivePersistBytes: 1,
      inFlightBytesMax: 1000,
      uploadConcurrencyMax: 2,
      uploadRetryPolicy: "none",
    } as const;
    const { clock, uploader, scheduler, upload } = schedule(settings, { canOverlap: true });
    upload(0);
    assert.equal(clock.nextDelayMs, 77);
    for (const number of [1, 2]) upload(number, 300);
    assert.equal(scheduler.availability.isAvailable(), true);
    upload(3, 300);
    assert.equal(scheduler.availability.isAvailable(), false);
    await turn();
    assert.deepEqual(uploader.uploads, [[0, 1], [2]]);
  });

  test("counts on the job's throttle where it is given one", async () => {
    const throttle = new UploadThrottle(10, 10);
    const { uploader, upload, scheduler } = schedule({ persistDelayMs: 0 }, { throttle });
    assert.equal(scheduler.availability, throttle);
    throttle.tryAdmit(10);
    upload(0);
    await turn();
    assert.deepEqual(uploader.uploads, []);
    throttle.uploadCompleted(10);
    await turn();
    assert.deepEqual(uploader.uploads, [[0]]);
  });

  test("refuses what does not go together", () => {
    const settings = { ...resolveSettings(), inFlightBytesMax: 10 };
    assert.throws(
      () =>
        schedulerFromConfig("orders", settings, {
          clock: new ManualClock(),
          metrics: new RecordingMetrics(),
          uploader: new ManualUploader(),
          logger: new RecordingLogger(),
          random: new SeededRandom(1),
        }),
      { name: "RangeError", message: /10485760.*10/ },
    );
  });
});

describe("retryPolicyOf", () => {
  const highest = { fill: (bytes: Uint8Array) => void bytes.fill(255) };

  test("makes the policy that is named, with its settings", () => {
    const settings = resolveSettings({
      uploadTimeoutMs: 70,
      uploadAttemptsMax: 7,
      uploadRetryDelayMs: 800,
      uploadDeadlineMs: 9000,
    });
    const none = retryPolicyOf({ ...settings, uploadRetryPolicy: "none" }, highest);
    assert.equal(none.name, "none");
    const fixed = retryPolicyOf({ ...settings, uploadRetryPolicy: "fixed" }, highest);
    assert.deepEqual([fixed.name, fixed.timeoutMs(1)], ["fixed", 70]);
    assert.equal(fixed.retryAfterMs(6, AWAY, 1e9), 800);
    assert.equal(fixed.retryAfterMs(7, AWAY, 0), undefined);
    const grown = retryPolicyOf({ ...settings, uploadRetryPolicy: "exponential" }, highest);
    assert.deepEqual([grown.name, grown.timeoutMs(1)], ["exponential", 70]);
    const waits = [1, 2, 6].map((attempt) => Math.round(grown.retryAfterMs(attempt, AWAY, -1e9)!));
    assert.deepEqual(waits, [800, 1600, 10_000]);
    assert.equal(grown.retryAfterMs(7, AWAY, 0), undefined);
    assert.equal(grown.retryAfterMs(1, AWAY, 8500), undefined);
  });

  test("lets an attempt take as long as it takes when the timeout is 0", () => {
    for (const uploadRetryPolicy of ["fixed", "exponential"] as const) {
      const settings = resolveSettings({ uploadTimeoutMs: 0, uploadRetryPolicy });
      assert.equal(retryPolicyOf(settings, highest).timeoutMs(1), undefined);
    }
  });

  test("never bounds a delay below the one that is set", () => {
    const settings = resolveSettings({
      uploadRetryPolicy: "exponential",
      uploadRetryDelayMs: 20_000,
    });
    assert.equal(Math.round(retryPolicyOf(settings, highest).retryAfterMs(2, AWAY, 0)!), 20_000);
  });
});
