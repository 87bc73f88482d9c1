/** A local disk that hangs: everything goes on at the main place, a little later once. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { resolveSettings } from "../../src/engine/settings.ts";
import { OpenStore } from "../../src/engine/store.ts";
import { type BackendCallKind, FaultyBackend } from "../doubles/faulty_backend.ts";
import { RecordingMetrics } from "../doubles/recording_metrics.ts";
import {
  append,
  appendDurably,
  AT_ONCE,
  JOB,
  restoreWriter,
  Surroundings,
  turn,
} from "./_engine.ts";
import { type LocalEngine, newPlaces, openLocalJob, type Places } from "./_local_engine.ts";

const HANGS = "tidemark_local_disk_hangs_total";
const LIMIT_MS = 5000;

/** Lets the time pass that a call may take. */
async function passLimit(engine: Pick<LocalEngine, "ports">): Promise<void> {
  await turn();
  await engine.ports.clock.advance(LIMIT_MS);
}

/** Places of a job with one checkpoint, and a tail. */
async function usedPlaces(): Promise<Places> {
  const places = newPlaces();
  const { job, store } = await openLocalJob(places);
  await appendDurably(job, "w", "a");
  await job.checkpoint();
  await appendDurably(job, "w", "b");
  await store.close();
  return places;
}

/** Begins to open a store whose local disk hangs at this call. */
function openHanging(places: Places, kind: BackendCallKind) {
  const ports = Object.assign(new Surroundings(77), { metrics: new RecordingMetrics() });
  const local = new FaultyBackend(places.local);
  local.hold({ kind, times: Infinity });
  const opening = OpenStore.open(places.main, resolveSettings(AT_ONCE), ports, { local });
  return { opening, ports, local };
}

describe("a local disk that hangs", () => {
  for (const kind of ["prepare", "get", "list", "head"] as const) {
    test(`in ${kind} holds up an open and a restore once, for 5 s`, async () => {
      const { opening, ports, local } = openHanging(await usedPlaces(), kind);
      await passLimit({ ports });
      await using store = await opening;
      const opened = store.job(JOB);
      await passLimit({ ports });
      const job = await opened;
      const restoring = restoreWriter(job, "w");
      await passLimit({ ports });
      assert.deepEqual(await restoring, ["a", "b"]);
      assert.equal(ports.metrics.count(HANGS), 1);
      assert.equal(
        ports.logger.messages("error").filter((message) => /disk hangs/.test(message)).length,
        1,
      );
      // From now on nobody waits for it, nor asks it.
      const calls = local.log.length;
      assert.deepEqual(await restoreWriter(job, "w"), ["a", "b"]);
      await appendDurably(job, "w", "c");
      await job.checkpoint();
      await job.resume({ at: "tail" });
      assert.deepEqual(await restoreWriter(job, "w", "latest"), ["a", "b", "c"]);
      assert.equal(local.log.length, calls);
    });
  }

  test("in the middle of a restore: it goes on in the main file, counted once", async () => {
    const engine = await openLocalJob();
    const { job, local, fallbacks, ports } = engine;
    for (const text of ["a", "b"]) await appendDurably(job, "w", text);
    await turn();
    local.hold({ kind: "get", times: Infinity });
    const restoring = restoreWriter(job, "w");
    await passLimit(engine);
    assert.deepEqual(await restoring, ["a", "b"]);
    assert.deepEqual(await restoreWriter(job, "w"), ["a", "b"]);
    assert.deepEqual([fallbacks(), ports.metrics.count(HANGS)], [1, 1]);
  });

  for (const kind of ["createAppender", "write"] as const) {
    test(`in ${kind} holds up no upload, and is left alone after 5 s`, async () => {
      const engine = await openLocalJob(newPlaces(), { changeFileBytesMax: 1 });
      const { job, local, ports } = engine;
      local.hold({ kind, times: Infinity });
      append(job, "w", "a");
      const persisting = job.writer("w").persist();
      await turn();
      await ports.clock.advance(5);
      assert.equal((await persisting).isLocal, false);
      await passLimit(engine);
      assert.equal(ports.metrics.count(HANGS), 1);
      // What follows goes without a word, and the disk is not asked.
      const [told, counted, calls] = [
        ports.logger.records.length,
        ports.metrics.count("tidemark_local_copy_failures_total"),
        local.log.length,
      ];
      for (const text of ["b", "c"]) {
        await appendDurably(job, "w", text);
        const writer = job.writer("w");
        writer.truncate(writer.nextSequenceNumber());
        await job.checkpoint();
      }
      await appendDurably(job, "w", "d");
      assert.deepEqual(await restoreWriter(job, "w"), ["d"]);
      const later = ports.logger.records.slice(told).filter(({ level }) => level !== "debug");
      assert.deepEqual(later, []);
      assert.equal(ports.metrics.count("tidemark_local_copy_failures_total"), counted);
      assert.equal(ports.metrics.count("tidemark_discard_failures_total"), 0);
      assert.equal(local.log.length, calls);
      await engine.store.close();
      assert.equal(ports.clock.pendingCount, 0);
    });
  }
});
