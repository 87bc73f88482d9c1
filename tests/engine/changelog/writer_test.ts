import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { encodeChanges } from "../../../src/engine/format/change_input.ts";
import { bytesOf, changesOf, hasSettled, throwsWith } from "../_engine.ts";
import type { PersistResult } from "../../../src/engine/types.ts";
import { textsOf, WriterBench } from "./_writer_bench.ts";

function marksOf({ from, next, durableOffset }: PersistResult): number[] {
  return [from, next, durableOffset];
}

describe("ChangelogWriter numbers", () => {
  test("begin at 0", () => {
    const { writer } = new WriterBench();
    const { keyGroups, nextOffset, durableOffset, sequenceNumber } = writer.position;
    assert.deepEqual(keyGroups, [0, 127]);
    assert.deepEqual([nextOffset, durableOffset, sequenceNumber], [0, 0, 0]);
    assert.equal(writer.nextSequenceNumber(), 0);
  });

  test("go on from where the writer starts", () => {
    const { writer } = new WriterBench({ start: { sequenceNumber: 7, nextOffset: 40 } });
    assert.equal(writer.nextSequenceNumber(), 7);
    assert.equal(writer.append(0, bytesOf("a")), 40);
    assert.equal(writer.nextSequenceNumber(), 8);
    assert.equal(writer.durableOffset, 40);
    assert.equal(writer.durableSequenceNumber, 7);
  });

  test("are not moved by an append", () => {
    const { writer } = new WriterBench();
    assert.equal(writer.append(0, bytesOf("a")), 0);
    assert.equal(writer.appendMeta(bytesOf("b")), 1);
    assert.equal(writer.appendEncoded(changesOf("c", "d")), 2);
    assert.equal(writer.nextOffset, 4);
    assert.equal(writer.position.sequenceNumber, 0);
  });

  test("move by one with each roll-over of something, and stay without", () => {
    const bench = new WriterBench();
    bench.append("a", "b");
    assert.equal(bench.writer.nextSequenceNumber(), 1);
    assert.equal(bench.writer.nextSequenceNumber(), 1);
    bench.append("c");
    assert.equal(bench.writer.nextSequenceNumber(), 2);
    assert.deepEqual(bench.scheduler.tasks, [], "a roll-over is no upload");
  });

  test("stand in the change sets, with epoch, offsets and counts", async () => {
    const bench = new WriterBench();
    bench.append("a", "b");
    bench.writer.nextSequenceNumber();
    bench.append("c");
    const persisted = bench.writer.persist();
    const sets = bench.scheduler.tasks[0].changeSets;
    const facts = sets.map((
      { writer, epoch, sequenceNumber, firstOffset, count },
    ) => [writer, epoch, sequenceNumber, firstOffset, count]);
    assert.deepEqual(facts, [["totals", 4, 0, 0, 2], ["totals", 4, 1, 2, 1]]);
    assert.deepEqual(sets.map(textsOf), [["a", "b"], ["c"]]);
    bench.scheduler.complete(0);
    await persisted;
  });
});

describe("ChangelogWriter.append", () => {
  test("takes key groups of the writer's range and metadata, and no other", () => {
    const { writer } = new WriterBench();
    for (const keyGroup of [-1, 0, 127]) writer.append(keyGroup, bytesOf("a"));
    for (const keyGroup of [-2, 128, 0.5, Number.NaN]) {
      assert.throws(() => writer.append(keyGroup, bytesOf("a")), RangeError);
    }
    assert.equal(writer.nextOffset, 3);
  });

  test("takes encoded changes of the writer's range alone", () => {
    const { writer } = new WriterBench();
    const encoded = (...keyGroups: number[]) =>
      encodeChanges(keyGroups.map((keyGroup) => ({ keyGroup, data: bytesOf("a") })));
    writer.appendEncoded(encoded(-1, 5, 127));
    assert.throws(() => writer.appendEncoded(encoded(-1, 5, 128)), RangeError);
    assert.equal(writer.nextOffset, 3);
  });

  test("takes empty changes, and nothing of an empty list", () => {
    const { writer } = new WriterBench();
    writer.append(0, new Uint8Array(0));
    assert.equal(writer.appendEncoded(changesOf()), 1);
    assert.equal(writer.nextOffset, 1);
  });

  test("takes many changes as one unit, copied once", async () => {
    const bench = new WriterBench();
    const { writer } = bench;
    const data = bytesOf("a");
    function* changes() {
      yield { keyGroup: 1, data };
      yield { keyGroup: -1, data: bytesOf("meta") };
    }
    assert.equal(writer.appendBatch(changes()), 0);
    data[0] = 0;
    assert.equal(writer.appendBatch([]), 2);
    for (const keyGroup of [128, 0.5]) {
      assert.throws(
        () => writer.appendBatch([{ keyGroup: 0, data }, { keyGroup, data }]),
        RangeError,
      );
    }
    const tooLarge = [{ keyGroup: 0, data }, { keyGroup: 0, data: new Uint8Array(301) }];
    throwsWith(() => writer.appendBatch(tooLarge), "change-too-large");
    assert.equal(writer.nextOffset, 2, "nothing of what was refused is there");
    const persisted = writer.persist();
    const [set] = bench.scheduler.tasks[0].changeSets;
    assert.deepEqual(textsOf(set), ["a", "meta"]);
    assert.deepEqual([set.keyGroupMin, set.keyGroupMax], [-1, 1]);
    // No more is held than is counted.
    assert.deepEqual(set.chunks.map(({ buffer }) => buffer.byteLength), [set.byteLength]);
    bench.scheduler.complete(0);
    await persisted;
  });

  test("refuses a change above the cap, and takes one at it", () => {
    const { writer } = new WriterBench({ preemptivePersistBytes: 1000 });
    const error = throwsWith(() => writer.append(0, new Uint8Array(301)), "change-too-large");
    assert.deepEqual(error.details, { writer: "totals", bytes: 301, bytesMax: 300 });
    assert.equal(writer.nextOffset, 0);
    writer.append(0, new Uint8Array(300));
  });

  test("says why when the run is over", () => {
    const bench = new WriterBench();
    bench.usableError = new Error("closed");
    assert.throws(() => bench.append("a"), bench.usableError);
    assert.throws(() => bench.writer.appendEncoded(changesOf("a")), bench.usableError);
    assert.throws(() => bench.writer.appendBatch([]), bench.usableError);
    assert.throws(() => bench.writer.nextSequenceNumber(), bench.usableError);
    assert.equal(bench.writer.nextOffset, 0);
  });
});

describe("ChangelogWriter under pressure", () => {
  const kib = "x".repeat(96);

  test("persists by itself when it holds enough that was not handed to an upload", () => {
    const bench = new WriterBench();
    bench.append("x".repeat(80));
    assert.deepEqual(bench.scheduler.numbers, []);
    bench.append("x".repeat(20));
    assert.deepEqual(bench.scheduler.numbers, [[0]]);
    bench.append("x".repeat(80));
    assert.deepEqual(bench.scheduler.numbers, [[0]]);
  });

  test("counts rolled-over sets as well, so that many small ones go too", () => {
    const bench = new WriterBench();
    for (let i = 0; i < 4; i++) {
      bench.append("x".repeat(30));
      bench.writer.nextSequenceNumber();
    }
    assert.deepEqual(bench.scheduler.numbers, [[0, 1, 2]]);
  });

  test("asks for relief at the soft limit, and refuses at the hard one with nothing taken", () => {
    const bench = new WriterBench({ softBytes: 200, hardBytes: 300 });
    bench.append(kib, kib);
    assert.equal(bench.reliefs, 0);
    bench.append("x");
    assert.equal(bench.throttle.isAvailable(), false);
    assert.equal(bench.reliefs, 1);
    const held = bench.throttle.bytes;
    const error = throwsWith(() => bench.append(kib), "backpressure");
    assert.equal(error.outcome, "not-applied");
    assert.ok(error.retryable);
    assert.equal(error.details.heldBytes, held);
    throwsWith(() => bench.writer.appendEncoded(changesOf(kib)), "backpressure");
    assert.equal(bench.writer.nextOffset, 3);
    assert.equal(bench.throttle.bytes, held);
    assert.equal(bench.reliefs, 3, "each refusal asks for relief");
    void bench.writer.persist();
    const uploaded = bench.scheduler.tasks.flatMap(({ changeSets }) => changeSets);
    assert.deepEqual(uploaded.flatMap(textsOf), [kib, kib, "x"]);
  });

  test("lets capacity go before it tells the owner", async () => {
    const bench = new WriterBench();
    bench.append("a");
    let heldWhenTold = -1;
    const persisted = bench.writer.persist().then(() => heldWhenTold = bench.throttle.bytes);
    assert.ok(bench.throttle.bytes > 0);
    bench.scheduler.complete(0);
    await persisted;
    assert.equal(heldWhenTold, 0);
  });

  test("keeps the capacity of what failed", async () => {
    const bench = new WriterBench();
    bench.append("a");
    const { bytes } = bench.throttle;
    const persisted = bench.writer.persist();
    const error = bench.scheduler.fail(0);
    await assert.rejects(persisted, error);
    assert.equal(bench.throttle.bytes, bytes);
  });

  test("hands failed sets to the next upload that is due for its own sake", async () => {
    const bench = new WriterBench();
    bench.append("a");
    const persisted = bench.writer.persist();
    bench.scheduler.fail(0);
    await assert.rejects(persisted);
    bench.append("x".repeat(100));
    assert.deepEqual(bench.scheduler.numbers, [[0], [0, 1]]);
  });
});

describe("ChangelogWriter.persist", () => {
  test("answers at once when everything is durable, after asking who owns the job", async () => {
    const bench = new WriterBench();
    assert.deepEqual(marksOf(await bench.writer.persist()), [0, 0, 0]);
    assert.equal(bench.ownerChecks, 1);
    bench.ownerError = new Error("fenced");
    await assert.rejects(bench.writer.persist(), bench.ownerError);
  });

  test("hands everything that was not handed over to one task, and waits for it", async () => {
    const bench = new WriterBench();
    bench.append("a");
    bench.writer.nextSequenceNumber();
    bench.append("b");
    const persisted = bench.writer.persist();
    assert.deepEqual(bench.scheduler.numbers, [[0, 1]]);
    assert.equal(await hasSettled(persisted), false);
    assert.equal(bench.writer.durableOffset, 0);
    bench.scheduler.complete(0);
    assert.deepEqual(marksOf(await persisted), [0, 2, 2]);
  });

  test("waits for sets in flight, and never hands one over twice", async () => {
    const bench = new WriterBench();
    bench.append("a");
    const first = bench.writer.persist();
    bench.append("b");
    const second = bench.writer.persist();
    const third = bench.writer.persist();
    assert.deepEqual(bench.scheduler.numbers, [[0], [1]]);
    bench.scheduler.complete(1);
    assert.equal(await hasSettled(second), false, "an earlier set is still in flight");
    assert.equal(bench.writer.durableOffset, 0);
    bench.scheduler.complete(0);
    assert.deepEqual((await Promise.all([first, second, third])).map(({ from }) => from), [
      0,
      0,
      0,
    ]);
    assert.deepEqual(bench.scheduler.numbers, [[0], [1]]);
  });

  test("acknowledges in order", async () => {
    const bench = new WriterBench();
    const order: number[] = [];
    for (let i = 0; i < 3; i++) {
      bench.append(`${i}`);
      void bench.writer.persist().then(() => order.push(i));
    }
    bench.scheduler.complete(2);
    bench.scheduler.complete(0);
    await hasSettled(Promise.resolve());
    assert.deepEqual(order, [0]);
    bench.scheduler.complete(1);
    await hasSettled(Promise.resolve());
    assert.deepEqual(order, [0, 1, 2]);
  });

  test("keeps failed sets, and tries them again at the next persist", async () => {
    const bench = new WriterBench();
    bench.append("a");
    const first = bench.writer.persist();
    const error = bench.scheduler.fail(0);
    await assert.rejects(first, error);
    assert.equal(bench.writer.durableOffset, 0);
    bench.append("b");
    const second = bench.writer.persist();
    assert.deepEqual(bench.scheduler.numbers, [[0], [0, 1]]);
    assert.deepEqual(bench.scheduler.tasks[1].changeSets.map(textsOf), [["a"], ["b"]]);
    bench.scheduler.complete(1);
    assert.equal((await second).durableOffset, 2);
  });

  test("does not acknowledge a later set before an earlier one that failed", async () => {
    const bench = new WriterBench();
    bench.append("a");
    const first = bench.writer.persist();
    bench.append("b");
    const second = bench.writer.persist();
    const error = bench.scheduler.fail(0);
    await assert.rejects(first, error);
    await assert.rejects(second, error, "what depends on the failed set can't wait for it");
    bench.scheduler.complete(1);
    assert.equal(bench.writer.durableOffset, 0);
    assert.equal(bench.writer.durableSequenceNumber, 0);
    const third = bench.writer.persist();
    assert.deepEqual(bench.scheduler.numbers, [[0], [1], [0]]);
    bench.scheduler.complete(2);
    assert.equal((await third).durableOffset, 2);
  });

  test("fails alone those who wait for a set that failed", async () => {
    const bench = new WriterBench();
    bench.append("a");
    const first = bench.writer.persist();
    bench.append("b");
    const second = bench.writer.persist();
    const error = bench.scheduler.fail(1);
    await assert.rejects(second, error);
    assert.equal(await hasSettled(first), false);
    bench.scheduler.complete(0);
    assert.equal((await first).durableOffset, 1);
  });

  test("tries failed sets below `from` as well", async () => {
    const bench = new WriterBench();
    bench.append("a");
    const failed = bench.writer.persist();
    bench.scheduler.fail(0);
    await assert.rejects(failed);
    bench.append("b");
    bench.writer.nextSequenceNumber();
    const persisted = bench.writer.persist(1);
    assert.deepEqual(bench.scheduler.numbers, [[0], [0, 1]]);
    bench.scheduler.complete(1);
    assert.deepEqual(marksOf(await persisted), [1, 2, 2]);
  });

  test("takes the active number as `from`, and refuses what is not yet appended", async () => {
    const bench = new WriterBench();
    assert.equal((await bench.writer.persist(0)).from, 0);
    for (const from of [1, -1, 0.5]) await assert.rejects(bench.writer.persist(from), RangeError);
  });

  test("rejects everything that waits when the run ends, and what comes later", async () => {
    const bench = new WriterBench();
    bench.append("a");
    const waiting = [bench.writer.persist(), bench.writer.persist()];
    const reason = new Error("fenced");
    bench.usableError = reason;
    bench.writer.end(reason);
    for (const one of waiting) await assert.rejects(one, reason);
    await assert.rejects(bench.writer.persist(), reason);
    bench.scheduler.complete(0);
  });
});
