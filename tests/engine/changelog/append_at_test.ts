import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { changesOf, hasSettled, rejectsWith } from "../_engine.ts";
import { WriterBench } from "./_writer_bench.ts";

/** A writer that begins at offset 4 after a reopen, with what is stored. */
function reopened(): WriterBench {
  const bench = new WriterBench({ start: { sequenceNumber: 2, nextOffset: 4 } });
  bench.stored = ["a", "b", "c", "d"].map((text) => changesOf(text).bytes);
  return bench;
}

describe("ChangelogWriter.appendAt", () => {
  test("appends at the expected offset, and answers when it is durable", async () => {
    const bench = new WriterBench();
    const appended = bench.writer.appendAt(0, changesOf("a", "b"));
    assert.equal(await hasSettled(appended), false);
    bench.scheduler.complete(0);
    const { offset, nextOffset, sequenceNumber, ack } = await appended;
    assert.deepEqual([offset, nextOffset, sequenceNumber, ack], [0, 2, 0, "durable"]);
  });

  test("appends at the end when no offset is expected", async () => {
    const bench = new WriterBench();
    bench.append("a");
    const { offset, nextOffset } = await bench.writer.appendAt(undefined, changesOf("b"), {
      ack: "buffered",
    });
    assert.deepEqual([offset, nextOffset], [1, 2]);
  });

  test("answers at once when buffered is enough", async () => {
    const bench = new WriterBench();
    const result = await bench.writer.appendAt(0, changesOf("a"), { ack: "buffered" });
    assert.equal(result.ack, "buffered");
    assert.deepEqual(bench.scheduler.tasks, []);
  });

  test("takes a repeated append once, and answers only when it is durable", async () => {
    const bench = new WriterBench();
    const first = bench.writer.appendAt(0, changesOf("a", "b"));
    const again = bench.writer.appendAt(0, changesOf("a", "b"));
    assert.equal(bench.writer.nextOffset, 2);
    assert.equal(await hasSettled(again), false);
    bench.scheduler.complete(0);
    const { offset, nextOffset } = await again;
    assert.deepEqual([offset, nextOffset], [0, 2]);
    await first;
    assert.deepEqual(bench.scheduler.numbers, [[0]]);
  });

  test("compares a large append that is repeated with what is stored, once that is durable", async () => {
    const texts = (letter: string) => Array.from({ length: 3000 }, () => letter.repeat(100));
    const bench = new WriterBench({ softBytes: 1_000_000, hardBytes: 1_000_000 });
    const first = bench.writer.appendAt(0, changesOf(...texts("a")));
    const again = bench.writer.appendAt(0, changesOf(...texts("a")));
    const other = bench.writer.appendAt(0, changesOf(...texts("b")));
    assert.equal(await hasSettled(again), false);
    bench.stored = texts("a").map((text) => changesOf(text).bytes);
    bench.scheduler.complete(0);
    assert.equal((await again).nextOffset, 3000);
    await rejectsWith(other, "offset-conflict");
    await first;
    assert.deepEqual(bench.scheduler.numbers, [[0]]);
  });

  test("uploads a repeated append again when its upload failed", async () => {
    const bench = new WriterBench();
    const first = bench.writer.appendAt(0, changesOf("a"));
    const error = bench.scheduler.fail(0);
    await assert.rejects(first, error);
    const again = bench.writer.appendAt(0, changesOf("a"));
    await hasSettled(again);
    bench.scheduler.complete(1);
    assert.equal((await again).nextOffset, 1);
    assert.equal(bench.writer.nextOffset, 1);
  });

  test("acknowledges a repeated append only as the owner", async () => {
    const bench = new WriterBench();
    const first = bench.writer.appendAt(0, changesOf("a"));
    bench.scheduler.complete(0);
    await first;
    bench.ownerError = new Error("fenced");
    await assert.rejects(bench.writer.appendAt(0, changesOf("a")), bench.ownerError);
  });

  test("refuses other changes where some are, by their hash", async () => {
    const bench = new WriterBench();
    await bench.writer.appendAt(0, changesOf("a"), { ack: "buffered" });
    const error = await rejectsWith(bench.writer.appendAt(0, changesOf("b")), "offset-conflict");
    assert.deepEqual(error.details, { writer: "totals", offset: 0, count: 1 });
    assert.equal(bench.writer.nextOffset, 1);
  });

  test("compares with what is stored when it does not know the hash", async () => {
    const bench = reopened();
    for (const [offset, ...texts] of [[0, "a", "b"], [1, "b", "c", "d"], [3, "d"]] as const) {
      const result = await bench.writer.appendAt(offset, changesOf(...texts));
      assert.deepEqual([result.offset, result.nextOffset], [offset, offset + texts.length]);
    }
    const others = [[0, "a", "x"], [1, "bb", "c"], [2, "c", ""], [0, "", "b"]] as const;
    for (const [offset, ...texts] of others) {
      await rejectsWith(bench.writer.appendAt(offset, changesOf(...texts)), "offset-conflict");
    }
    assert.equal(bench.writer.nextOffset, 4);
  });

  test("compares with what is stored once it is durable", async () => {
    const bench = new WriterBench();
    bench.append("a", "b");
    const again = bench.writer.appendAt(0, changesOf("a"));
    assert.equal(await hasSettled(again), false);
    bench.stored = ["a", "b"].map((text) => changesOf(text).bytes);
    bench.scheduler.complete(0);
    assert.equal((await again).nextOffset, 1);
  });

  test("refuses what begins ahead, or only overlaps, and says what is expected", async () => {
    const bench = reopened();
    for (const [offset, ...texts] of [[5, "e"], [3, "d", "e"], [2, "x", "y", "z"]] as const) {
      const error = await rejectsWith(
        bench.writer.appendAt(offset, changesOf(...texts)),
        "offset-mismatch",
      );
      assert.equal(error.details.expectedOffset, 4);
      assert.equal(error.outcome, "not-applied");
    }
    assert.equal(bench.writer.nextOffset, 4);
  });

  test("requires the run with an offset, and not without", async () => {
    const bench = new WriterBench();
    await bench.writer.appendAt(0, changesOf("a"), { ack: "buffered", run: 3 });
    await bench.writer.appendAt(undefined, changesOf("b"), { ack: "buffered" });
    assert.deepEqual(bench.runChecks, [
      { run: 3, required: true },
      { run: undefined, required: false },
    ]);
  });

  test("takes nothing when it is refused for memory, and can be repeated", async () => {
    const bench = new WriterBench({ softBytes: 50, hardBytes: 60, preemptivePersistBytes: 50 });
    await bench.writer.appendAt(0, changesOf("x".repeat(40)), { ack: "buffered" });
    const more = changesOf("y".repeat(40));
    await rejectsWith(bench.writer.appendAt(1, more), "backpressure");
    assert.equal(bench.writer.nextOffset, 1);
    const persisted = bench.writer.persist();
    bench.scheduler.complete(0);
    await persisted;
    assert.equal((await bench.writer.appendAt(1, more, { ack: "buffered" })).nextOffset, 2);
  });

  test("stops waiting at a signal; the changes stay appended", async () => {
    const bench = new WriterBench();
    const controller = new AbortController();
    const { signal } = controller;
    const appended = bench.writer.appendAt(0, changesOf("a"), { signal });
    controller.abort(new Error("enough"));
    await assert.rejects(appended, { message: "enough" });
    assert.equal(bench.writer.nextOffset, 1);
    bench.scheduler.complete(0);
    assert.equal(bench.writer.durableOffset, 1);
    await assert.rejects(bench.writer.appendAt(1, changesOf("b"), { signal }), {
      message: "enough",
    });
  });
});
