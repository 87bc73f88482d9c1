import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { changeFiles, rejectsWith } from "../_engine.ts";
import { end, endsOf, set, TailBench, uuidOf } from "./_tail_bench.ts";

describe("scanTail", () => {
  test("finds nothing where nothing is", async () => {
    const tail = await new TailBench().scan();
    assert.deepEqual(endsOf(tail), {});
    assert.deepEqual([tail.files, tail.unproven, tail.torn, tail.sets], [[], [], [], 0]);
  });

  test("takes every set of every file, and tells where each writer ends", async () => {
    const bench = new TailBench();
    const first = await bench.file({
      batches: [[set(0, 0, ["a", "b"])], [set(1, 2, ["c"]), set(0, 0, ["z"], { writer: "v" })]],
      sealed: true,
    });
    const second = await bench.file({
      number: 2,
      batches: [[set(2, 3, ["d"])]],
      predecessors: [[first, first.batches[1].end]],
      sealed: true,
    });
    const tail = await bench.scan();
    assert.deepEqual(endsOf(tail), { w: [3, 4], v: [1, 1] });
    assert.deepEqual(tail.files, [first.upTo(1), second.upTo(0)]);
    assert.deepEqual(tail.unproven, []);
    assert.deepEqual([tail.sets, tail.changes], [4, 5]);
    assert.deepEqual(tail.writers.get("w")?.keyGroups, [0, 127]);
  });

  test("takes what is contiguous, writer by writer, and leaves the rest", async () => {
    const bench = new TailBench();
    const file = await bench.file({
      batches: [[set(0, 0, ["a"]), set(2, 2, ["c"])], [set(1, 0, ["x"], { writer: "v" })]],
      sealed: true,
    });
    const tail = await bench.scan();
    assert.deepEqual(endsOf(tail), { w: [1, 1] });
    assert.deepEqual(tail.files, [file.upTo(0)]);
  });

  test("tells from where on nothing proves that a writer's sets are on disk", async () => {
    const bench = new TailBench();
    const file = await bench.file({
      batches: [
        [set(0, 0, ["a", "b"]), set(0, 0, ["x"], { writer: "v" })],
        [set(1, 2, ["c"]), set(2, 3, ["d"])],
      ],
    });
    const tail = await bench.scan();
    assert.deepEqual([...tail.proven], [["w", 2], ["v", 1]]);
    assert.deepEqual(tail.files, [file.upTo(0)]);
    assert.deepEqual(tail.unproven.map(({ end }) => end), [file.batches[1].end]);
    assert.deepEqual(endsOf(tail), { w: [3, 4], v: [1, 1] });
  });

  test("joins sets that came out of order", async () => {
    const bench = new TailBench();
    await bench.file({ batches: [[set(1, 1, ["b"])], [set(0, 0, ["a"])]], sealed: true });
    assert.deepEqual(endsOf(await bench.scan()), { w: [2, 2] });
  });

  test("goes on from the head, whose own sets don't count", async () => {
    const bench = new TailBench();
    const file = await bench.file({
      batches: [[set(0, 0, ["a"])], [set(1, 1, ["b"])]],
      sealed: true,
    });
    const head = bench.head([file.upTo(0)], [end(1, 1), end(4, 9, "idle")]);
    const tail = await bench.scan({ head });
    assert.deepEqual(endsOf(tail), { w: [2, 2], idle: [4, 9] });
    assert.equal(tail.sets, 1);
  });

  test("passes over what is before tailFrom, of a later owner, doomed or no change file", async () => {
    const bench = new TailBench();
    const before = await bench.file({ number: 1, batches: [[set(0, 0, ["a"])]], sealed: true });
    const doomed = await bench.file({ number: 3, batches: [[set(0, 0, ["b"])]], sealed: true });
    await bench.file({
      number: 4,
      batches: [[set(0, 0, ["c"])]],
      predecessors: [[before, 999_999], [doomed, 999_999]],
      sealed: true,
    });
    await bench.file({ epoch: 5, batches: [[set(0, 0, ["d", "e"], { epoch: 5 })]], sealed: true });
    await bench.backend.put(`${bench.keys.changelogPrefix}main/notes.txt`, new Uint8Array(3));
    const tail = await bench.scan({
      tailFrom: { epoch: 1, number: 2 },
      doomed: [doomed.key],
      beforeEpoch: 5,
    });
    assert.deepEqual(endsOf(tail), { w: [1, 1] });
    assert.deepEqual(tail.files.map(({ name }) => name.number), [4]);
  });

  test("refuses a set that does not go on where the one before ended", async () => {
    const bench = new TailBench();
    const file = await bench.file({
      batches: [[set(0, 0, ["a"])], [set(1, 2, ["c"])]],
      sealed: true,
    });
    const error = await rejectsWith(bench.scan(), "corrupt");
    assert.equal(error.details.key, file.key);
    assert.match(error.message, /offset 2, not 1/);
  });

  for (const what of ["store", "job", "epoch", "number", "uuid"] as const) {
    test(`refuses a file whose header is of another ${what}`, async () => {
      const bench = new TailBench();
      const header = { store: uuidOf(7), job: "other", epoch: 3, number: 9, uuid: uuidOf(7) };
      const file = await bench.file({
        batches: [[set(0, 0, ["a"])]],
        header: { [what]: header[what] },
        sealed: true,
      });
      const error = await rejectsWith(bench.scan(), "corrupt");
      assert.deepEqual([error.details.key, error.details.what], [file.key, what]);
    });
  }
});

describe("scanTail over several epochs", () => {
  test("takes the set of the highest epoch in each place", async () => {
    const bench = new TailBench();
    await bench.file({ batches: [[set(0, 0, ["a"])], [set(1, 1, ["lost"])]], sealed: true });
    await bench.file({
      epoch: 2,
      batches: [[set(1, 1, ["b", "c"], { epoch: 2 })]],
      sealed: true,
    });
    assert.deepEqual(endsOf(await bench.scan()), { w: [2, 3] });
  });

  test("takes of older epochs only what was adopted, whichever file holds it", async () => {
    const bench = new TailBench();
    const old = await bench.file({ batches: [[set(0, 0, ["a"])], [set(1, 1, ["b"])]] });
    const copies = await bench.file({
      epoch: 2,
      batches: [[set(1, 1, ["b"]), set(2, 2, ["late"])]],
      sealed: true,
    });
    const adopted = bench.adopted([old.upTo(0), copies.upTo(0)], [end(2, 2)]);
    const tail = await bench.scan({ tailFrom: { epoch: 2, number: 0 }, adopted });
    assert.deepEqual(endsOf(tail), { w: [2, 2] });
    assert.deepEqual(tail.files, [old.upTo(0), copies.upTo(0)]);
    assert.deepEqual(tail.unproven, [], "what is adopted is on disk");
  });

  test("takes nothing of older epochs for a writer that was not adopted", async () => {
    const bench = new TailBench();
    await bench.file({
      epoch: 2,
      batches: [[set(3, 5, ["late"]), set(0, 0, ["late"], { writer: "v" })]],
      sealed: true,
    });
    const head = bench.head([], [end(3, 5)]);
    const tail = await bench.scan({ tailFrom: { epoch: 2, number: 0 }, head });
    assert.deepEqual(endsOf(tail), { w: [3, 5] });
  });

  test("does not look at sets that a fenced owner's write lands late", async () => {
    const bench = new TailBench();
    const old = await bench.file({ batches: [[set(0, 0, ["a"])], [set(1, 1, ["late"])]] });
    const adopted = bench.adopted([old.upTo(0)], [end(1, 1)]);
    const late = await bench.file({ number: 2, batches: [[set(1, 1, ["late"])]] });
    const tail = await bench.scan({ tailFrom: { epoch: 2, number: 0 }, adopted });
    assert.deepEqual(endsOf(tail), { w: [1, 1] });
    assert.ok((await changeFiles(bench.backend)).includes(late.key));
  });

  test("refuses copies of one epoch that differ", async () => {
    const bench = new TailBench();
    await bench.file({ batches: [[set(0, 0, ["left!"])]], sealed: true });
    await bench.file({ epoch: 2, batches: [[set(0, 0, ["right"])]], sealed: true });
    await rejectsWith(bench.scan(), "corrupt");
  });
});

describe("scanTail on what is adopted", () => {
  test("refuses when an adopted file is missing, cut or bad", async () => {
    for (const damage of ["missing", "cut", "bad"] as const) {
      const bench = new TailBench();
      const old = await bench.file({ batches: [[set(0, 0, ["a"])], [set(1, 1, ["b"])]] });
      const adopted = bench.adopted([old.upTo(1)], [end(2, 2)]);
      if (damage === "missing") await bench.backend.delete(old.key);
      if (damage === "cut") await bench.cut(old, old.size - 1);
      if (damage === "bad") await bench.flip(old, old.headerLength + 5);
      const scan = bench.scan({ tailFrom: { epoch: 2, number: 0 }, adopted });
      const error = await rejectsWith(scan, damage === "bad" ? "corrupt" : "changes-lost");
      assert.equal(error.details.key, old.key);
    }
  });

  test("refuses when the copies that a recovery adopted are bad, whatever else is", async () => {
    for (const damage of ["cut", "bad", "missing"] as const) {
      const bench = new TailBench();
      const copies = await bench.file({ epoch: 2, batches: [[set(0, 0, ["a"])]] });
      const adopted = bench.adopted([copies.upTo(0)], [end(1, 1)]);
      if (damage === "cut") await bench.cut(copies, copies.size - 1);
      if (damage === "bad") await bench.flip(copies, copies.headerLength + 5);
      if (damage === "missing") await bench.backend.delete(copies.key);
      await assert.rejects(bench.scan({ tailFrom: { epoch: 2, number: 0 }, adopted }), {
        kind: "corrupt",
      });
    }
  });

  test("refuses when something adopted is in none of the files", async () => {
    const bench = new TailBench();
    const old = await bench.file({ batches: [[set(0, 0, ["a"])]] });
    const adopted = bench.adopted([old.upTo(0)], [end(2, 2)]);
    const scan = bench.scan({ tailFrom: { epoch: 2, number: 0 }, adopted });
    const error = await rejectsWith(scan, "changes-lost");
    assert.deepEqual(error.details.writer, "w");
  });

  test("refuses an adopted file that is another than the one that was adopted", async () => {
    const bench = new TailBench();
    const old = await bench.file({ batches: [[set(0, 0, ["a"])]] });
    const adopted = bench.adopted([old.upTo(0)], [end(1, 1)]);
    const again = await bench.file({ batches: [[set(0, 0, ["z"])]] });
    assert.equal(again.size, old.size);
    await rejectsWith(bench.scan({ tailFrom: { epoch: 2, number: 0 }, adopted }), "corrupt");
  });
});
