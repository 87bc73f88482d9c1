import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ChangeSet } from "../../../src/engine/format/change_set.ts";
import { KIB, MIB } from "../../../src/engine/limits.ts";
import type { AppendBatchOptions } from "../../../src/engine/upload/batch_log.ts";
import { StateChangeFsUploader } from "../../../src/engine/upload/fs_uploader.ts";
import type { FaultyBackend } from "../../doubles/faulty_backend.ts";
import { rejectsWith, turn } from "../_engine.ts";
import { SchedulerBench } from "./_scheduler.ts";
import { type LogBench, newLog, newThreadLog, numbersOf, readFiles } from "./_log.ts";
import { largeSet, RecordedTask, setOf } from "./_sets.ts";

/** What waits for its upload, as a scheduler knows it. */
class Waiting {
  /** The batch that comes next, once it is known. */
  known: readonly ChangeSet[] | undefined;
  /** Milliseconds that the disk would work, each time it was asked what comes next. */
  readonly asked: number[] = [];
  /** Who is told of arrivals. */
  readonly listeners = new Set<(sets: readonly ChangeSet[]) => void>();
  readonly options: AppendBatchOptions = {
    next: (diskMs) => {
      this.asked.push(diskMs);
      return this.known;
    },
    onArrival: (listener) => {
      this.listeners.add(listener);
      return () => void this.listeners.delete(listener);
    },
  };

  /** A set joins, and makes the next batch known. */
  arrive(set: ChangeSet): void {
    this.known = [set];
    for (const listener of this.listeners) listener(this.known);
  }
}

/** Has the disk take so long for a batch, and does something before it is done. */
async function appendIn(
  { log, backend, ports }: LogBench,
  set: ChangeSet,
  { options }: Waiting,
  meanwhile: () => Promise<void>,
): Promise<void> {
  const held = backend.hold({ kind: "sync" });
  const appended = log.appendBatch([set], options);
  await held.reached;
  await meanwhile();
  await ports.clock.advance(1);
  held.release();
  await appended;
}

/** Has a call of the next file take effect, and return when told: like one that waits in the kernel. */
function delayFirst(
  kind: "write" | "sync",
  backend: FaultyBackend,
): { reached: Promise<void>; release(): void } {
  let [reach, release] = [() => {}, () => {}];
  const reached = new Promise<void>((resolve) => reach = resolve);
  const gate = new Promise<void>((resolve) => release = resolve);
  const create = backend.createAppender.bind(backend);
  backend.createAppender = async (key) => {
    backend.createAppender = create;
    const appender = await create(key);
    const calls: Record<typeof kind, (bytes: Uint8Array) => Promise<void>> = appender;
    const call = calls[kind].bind(appender);
    calls[kind] = async (bytes) => {
      calls[kind] = call;
      await call(bytes);
      reach();
      await gate;
    };
    return appender;
  };
  return { reached, release };
}

describe("ChangeFileLog, told of what arrives", () => {
  test("has another thread begin with it while the disk works", async () => {
    const bench = newThreadLog();
    const { log, thread, backend } = bench;
    const waiting = new Waiting();
    const next = largeSet(1, MIB);
    await appendIn(bench, largeSet(0, MIB), waiting, async () => {
      thread.isHeld = true;
      assert.equal(thread.lent, 1);
      waiting.arrive(next);
      assert.deepEqual([thread.lent, thread.waitingCount], [2, 1]);
      const calls = backend.log.length;
      thread.run();
      await turn();
      assert.equal(backend.log.length, calls);
    });
    assert.equal(waiting.listeners.size, 0);
    await log.appendBatch([next]);
    assert.deepEqual((await readFiles(backend)).map(numbersOf), [[[0], [1]]]);
    assert.deepEqual([thread.lent, thread.released], [2, 2]);
  });

  test("asks for what comes next by how long the disk worked the last time", async () => {
    const bench = newThreadLog();
    const waiting = new Waiting();
    await appendIn(bench, setOf(0), waiting, () => bench.ports.clock.advance(9));
    await appendIn(bench, setOf(1), waiting, async () => {
      await bench.ports.clock.advance(4);
      waiting.arrive(largeSet(2, MIB));
      // It is known now: there is nothing to ask for.
      waiting.arrive(largeSet(3, MIB));
    });
    waiting.known = undefined;
    await appendIn(bench, setOf(4), waiting, async () => {
      await bench.ports.clock.advance(12);
      // It has taken 7 longer already, and may do so for as long again.
      waiting.listeners.forEach((listener) => listener([largeSet(5, MIB)]));
    });
    assert.deepEqual(waiting.asked, [Infinity, 10, 6, 5, 7]);
  });

  test("leaves what this thread would encode to the next batch", async () => {
    const small = newThreadLog();
    const without = newLog();
    for (
      const [bench, set] of [[small, largeSet(1, 200 * KIB)], [without, largeSet(1, MIB)]] as const
    ) {
      const waiting = new Waiting();
      await appendIn(bench, setOf(0), waiting, () => {
        waiting.arrive(set);
        return Promise.resolve();
      });
      assert.deepEqual(waiting.asked, [Infinity]);
    }
    assert.equal(small.thread.lent, 0);
  });

  test("begins with nothing while the batch before is still being encoded", async () => {
    const { log, thread, backend } = newThreadLog({}, { isHeld: true });
    const waiting = new Waiting();
    await log.appendBatch([setOf(0)]);
    const appended = log.appendBatch([largeSet(1, MIB)], waiting.options);
    await turn();
    waiting.arrive(largeSet(2, MIB));
    assert.deepEqual([thread.lent, waiting.asked.length], [1, 0]);
    thread.run();
    await turn();
    assert.equal(thread.lent, 2);
    thread.run();
    await appended;
    assert.deepEqual((await readFiles(backend)).map(numbersOf), [[[0], [1]]]);
  });

  test("leaves what comes to the next batch while no thread is free", async () => {
    const bench = newThreadLog();
    const { log, thread } = bench;
    const waiting = new Waiting();
    const large = largeSet(1, MIB);
    await appendIn(bench, setOf(0), waiting, () => {
      thread.isGone = true;
      waiting.arrive(large);
      thread.isGone = false;
      return Promise.resolve();
    });
    assert.deepEqual(waiting.asked, [Infinity]);
    await log.appendBatch([large]);
    assert.equal(thread.lent, 1);
  });

  for (const kind of ["write", "sync"] as const) {
    test(`hears of nothing more when the ${kind} has failed`, async () => {
      const { log, thread, backend } = newThreadLog();
      const waiting = new Waiting();
      await log.appendBatch([setOf(0)]);
      backend.fail({ kind });
      const failing = log.appendBatch([largeSet(1, MIB)], waiting.options);
      await rejectsWith(failing, "storage-unavailable");
      assert.equal(waiting.listeners.size, 0);
      assert.deepEqual([thread.lent, thread.released], [1, 1]);
    });
  }

  test("begins with nothing for a file that it has given up, whose sync hangs", async () => {
    const { log, thread, backend } = newThreadLog();
    const waiting = new Waiting();
    const held = backend.hold({ kind: "sync" });
    const given = new AbortController();
    const options = { ...waiting.options, signal: given.signal };
    const hanging = log.appendBatch([largeSet(0, MIB)], options);
    await held.reached;
    given.abort(new Error("too late"));
    await assert.rejects(hanging, /too late/);
    waiting.arrive(largeSet(1, MIB));
    assert.equal(thread.lent, 1);
    held.release();
    await turn();
    assert.equal(waiting.listeners.size, 0);
  });

  test("hears of nothing for a file that was given up when its first write returns late", async () => {
    const { log, backend, thread } = newThreadLog();
    const late = delayFirst("write", backend);
    const given = new AbortController();
    const waiting = new Waiting();
    const hanging = log.appendBatch([largeSet(0, MIB)], {
      ...waiting.options,
      signal: given.signal,
    });
    await late.reached;
    given.abort(new Error("too late"));
    await assert.rejects(hanging, /too late/);
    late.release();
    await turn();
    assert.deepEqual([thread.lent, waiting.listeners.size], [0, 0]);
    assert.equal(backend.log.filter(({ kind }) => kind === "sync").length, 0);
  });

  test("does not go by how long the disk took for a file that was given up", async () => {
    const bench = newThreadLog();
    const { log, backend, ports } = bench;
    const late = delayFirst("sync", backend);
    const given = new AbortController();
    const hanging = log.appendBatch([setOf(0)], { signal: given.signal });
    await late.reached;
    given.abort(new Error("too late"));
    await assert.rejects(hanging, /too late/);
    await ports.clock.advance(5000);
    late.release();
    await turn();
    const waiting = new Waiting();
    await appendIn(bench, setOf(0), waiting, () => Promise.resolve());
    assert.deepEqual(waiting.asked, [Infinity]);
  });

  test("is told by the uploader of the sets of tasks", async () => {
    const bench = newThreadLog();
    const uploader = new StateChangeFsUploader(bench.log, () => {});
    const task = new RecordedTask([largeSet(1, MIB)]).task;
    const held = bench.backend.hold({ kind: "sync" });
    let isKnown = false;
    const uploaded = uploader.upload([new RecordedTask([setOf(0)]).task], {
      next: () => isKnown ? [task] : undefined,
      onArrival: (listener) => {
        void held.reached.then(() => {
          isKnown = true;
          listener(task);
        });
        return () => {};
      },
    });
    await held.reached;
    await turn();
    assert.equal(bench.thread.lent, 1);
    held.release();
    await uploaded;
  });
});

describe("BatchingStateChangeUploadScheduler, while an upload runs", () => {
  test("tells it of each task that joins those which wait", async () => {
    const bench = new SchedulerBench();
    bench.upload(0);
    await turn();
    const told: number[] = [];
    const end = bench.uploader.calls[0].onArrival(([number]) => told.push(number));
    bench.upload(1);
    bench.upload(2);
    end();
    bench.upload(3);
    assert.deepEqual(told, [1, 2]);
    await bench.scheduler.close({ mode: "abort", reason: new Error("over") });
  });

  test("takes a task in, whatever an upload does about it", async () => {
    const bench = new SchedulerBench();
    bench.upload(0);
    await turn();
    bench.uploader.calls[0].onArrival(() => {
      throw new Error("not mine");
    });
    bench.upload(1);
    await bench.uploader.end();
    assert.deepEqual(bench.uploader.uploads, [[0], [1]]);
    assert.deepEqual(bench.logger.messages("warning"), ["An uploader can't hear of a task"]);
    await bench.scheduler.close({ mode: "abort", reason: new Error("over") });
  });

  test("goes on to tell an upload when one that was given up ends late", async () => {
    const bench = new SchedulerBench();
    bench.upload(0);
    await turn();
    const endFirst = bench.uploader.calls[0].onArrival(() => {});
    await bench.uploader.end();
    bench.upload(1);
    await turn();
    const told: number[] = [];
    bench.uploader.calls[1].onArrival(([number]) => told.push(number));
    endFirst();
    bench.upload(2);
    assert.deepEqual(told, [2]);
    await bench.scheduler.close({ mode: "abort", reason: new Error("over") });
  });
});
