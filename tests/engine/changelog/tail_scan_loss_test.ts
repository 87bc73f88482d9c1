import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Tail } from "../../../src/engine/changelog/tail.ts";
import type { TailScanOptions } from "../../../src/engine/changelog/tail_scan.ts";
import type { TidemarkError } from "../../../src/engine/errors.ts";
import { end, endsOf, type MadeFile, set, TailBench } from "./_tail_bench.ts";

/** Scans and goes on without what is lost; answers what that is. */
async function scanLossy(
  bench: TailBench,
  options: Partial<TailScanOptions> = {},
): Promise<{ tail: Tail; losses: TidemarkError[] }> {
  const losses: TidemarkError[] = [];
  const tail = await bench.scan({ onLoss: (loss) => void losses.push(loss), ...options });
  return { tail, losses };
}

function keysOf(losses: readonly TidemarkError[]): unknown[] {
  return [...new Set(losses.map(({ details }) => details.key))];
}

/** A file of three batches, one change each, and a second one that goes on. */
async function twoFiles(bench: TailBench): Promise<[MadeFile, MadeFile]> {
  const batches = [[set(0, 0, ["a"])], [set(1, 1, ["b"])], [set(2, 2, ["c", "d"])]];
  const first = await bench.file({ batches });
  const second = await bench.file({
    number: 2,
    batches: [[set(3, 4, ["e"])], [set(0, 0, ["x"], { writer: "v" })]],
    predecessors: [[first, first.size]],
    sealed: true,
  });
  return [first, second];
}

describe("scanTail that goes on without what is lost", () => {
  test("takes what is before a bad batch, and tells how much there was", async () => {
    const bench = new TailBench();
    const [first] = await twoFiles(bench);
    await bench.flip(first, first.batches[1].position + 20);
    const { tail, losses } = await scanLossy(bench);
    assert.deepEqual(keysOf(losses), [first.key]);
    assert.deepEqual(endsOf(tail), { w: [1, 1], v: [1, 1] });
    assert.equal(tail.known.get("w"), 5);
    assert.deepEqual(tail.files.map(({ length }) => length)[0], first.batches[0].end);
    await assert.rejects(bench.scan(), { code: "corrupt" });
  });

  test("counts what lies behind the damage of the last file, too", async () => {
    const bench = new TailBench();
    const batches = [[set(0, 0, ["a"])], [set(1, 1, ["b"])], [set(2, 2, ["c", "d"])]];
    const file = await bench.file({ batches });
    await bench.flip(file, file.batches[0].position + 20);
    const { tail, losses } = await scanLossy(bench);
    assert.deepEqual(keysOf(losses), [file.key]);
    assert.deepEqual(endsOf(tail), {});
    assert.equal(tail.known.get("w"), 4);
  });

  test("goes on without a missing file, an adopted one and a foreign one", async () => {
    const bench = new TailBench();
    const [first, second] = await twoFiles(bench);
    await bench.backend.delete(first.key);
    const gone = await scanLossy(bench);
    assert.deepEqual(keysOf(gone.losses), [first.key]);
    assert.deepEqual(endsOf(gone.tail), { v: [1, 1] });
    assert.equal(gone.tail.known.get("w"), 5);

    const adopted = bench.adopted([first.upTo(2)], [end(3, 4)]);
    const tailFrom = { epoch: 2, number: 0 };
    const taken = await scanLossy(bench, { tailFrom, adopted });
    assert.ok(keysOf(taken.losses).includes(first.key));
    assert.deepEqual([taken.tail.sets, taken.tail.known.get("w")], [0, 4]);

    const foreign = await bench.file({
      number: 3,
      batches: [[set(1, 1, ["y"], { writer: "v" })]],
      header: { job: "others" },
    });
    const strange = await scanLossy(bench);
    assert.deepEqual(keysOf(strange.losses), [foreign.key, first.key]);
    assert.deepEqual(endsOf(strange.tail), { v: [1, 1] });
    assert.equal(second.name.number, 2);
  });

  test("stops a writer before sets that contradict each other", async () => {
    for (const other of [["B"], ["b", "b"]]) {
      const bench = new TailBench();
      const first = await bench.file({ batches: [[set(0, 0, ["a"])], [set(1, 1, ["b"])]] });
      await bench.file({
        number: 2,
        batches: [[set(1, 1, other)], [set(0, 0, ["x"], { writer: "v" })]],
        predecessors: [[first, first.size]],
      });
      const { tail, losses } = await scanLossy(bench);
      assert.equal(losses.length, 1);
      assert.deepEqual(endsOf(tail), { w: [1, 1], v: [1, 1] });
      assert.equal(tail.known.get("w"), 1 + other.length);
    }
  });

  test("stops a writer where offsets do not follow, and where an adopted end is not reached", async () => {
    const bench = new TailBench();
    await bench.file({ batches: [[set(0, 0, ["a"])], [set(1, 2, ["c"])]] });
    const { tail, losses } = await scanLossy(bench);
    assert.deepEqual([losses.length, endsOf(tail)], [1, { w: [1, 1] }]);
    const adopted = bench.adopted([], [end(9, 9)]);
    const wanted = await scanLossy(bench, { tailFrom: { epoch: 2, number: 0 }, adopted });
    assert.equal(wanted.losses[0].code, "changes-lost");
    assert.equal(wanted.tail.known.get("w"), 9);
  });

  test("takes nothing of an older epoch behind what a newer one appended, and misses nothing of it", async () => {
    const bench = new TailBench();
    await bench.file({ batches: [[set(0, 0, ["a"])], [set(1, 1, ["B"])], [set(2, 2, ["C"])]] });
    await bench.file({ epoch: 2, batches: [[set(1, 1, ["b"], { epoch: 2 })]] });
    const { tail, losses } = await scanLossy(bench);
    assert.deepEqual([losses, endsOf(tail)], [[], { w: [2, 2] }]);
    assert.equal(tail.known.get("w"), 2);
  });

  test("still drops a torn end without a word of loss", async () => {
    const bench = new TailBench();
    const file = await bench.file({ batches: [[set(0, 0, ["a"])], [set(1, 1, ["b"])]] });
    await bench.cut(file, file.size - 3);
    const { tail, losses } = await scanLossy(bench);
    assert.deepEqual([losses, tail.torn.length], [[], 1]);
    assert.deepEqual(endsOf(tail), { w: [1, 1] });
  });
});
