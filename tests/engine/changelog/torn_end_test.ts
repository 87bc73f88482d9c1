import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Tail } from "../../../src/engine/changelog/tail.ts";
import { imageOf, rejectsWith } from "../_engine.ts";
import { end, endsOf, type MadeFile, set, TailBench } from "./_tail_bench.ts";

const BATCHES = [[set(0, 0, ["a"])], [set(1, 1, ["b"])], [set(2, 2, ["c"])]];

/** Scans, and checks that the scan left everything as it was. */
async function scanUntouched(
  bench: TailBench,
  options: Parameters<TailBench["scan"]>[0] = {},
): Promise<Tail> {
  const before = await imageOf(bench.backend);
  try {
    return await bench.scan(options);
  } finally {
    assert.deepEqual(await imageOf(bench.backend), before);
  }
}

describe("a torn end", () => {
  test("is dropped and reported with its range, wherever the file is cut", async () => {
    const whole = await new TailBench().file({ batches: BATCHES });
    for (let length = 0; length < whole.size; length++) {
      const bench = new TailBench();
      const file = await bench.file({ batches: BATCHES });
      await bench.cut(file, length);
      const tail = await scanUntouched(bench);
      const kept = file.batches.filter((batch) => batch.end <= length).length;
      assert.deepEqual(endsOf(tail), kept === 0 ? {} : { w: [kept, kept] }, `cut at ${length}`);
      const good = kept === 0
        ? (length >= file.headerLength ? file.headerLength : 0)
        : file.batches[kept - 1].end;
      const torn = tail.torn.map(({ key, from, to }) => ({ key, from, to }));
      const wanted = good === length && length > 0
        ? []
        : [{ key: file.key, from: good, to: length }];
      assert.deepEqual(torn, wanted, `cut at ${length}`);
      if (wanted.length > 0) assert.ok(tail.torn[0].reason.length > 0);
    }
  });

  test("may be full of zeros", async () => {
    const bench = new TailBench();
    const file = await bench.file({ batches: BATCHES });
    await bench.zero(file, file.batches[2].position + 3);
    const tail = await scanUntouched(bench);
    assert.deepEqual(endsOf(tail), { w: [2, 2] });
    const [{ key, from, to }] = tail.torn;
    assert.deepEqual({ key, from, to }, {
      key: file.key,
      from: file.batches[1].end,
      to: file.size,
    });
  });

  test("may have lost its beginning alone", async () => {
    const bench = new TailBench();
    const file = await bench.file({ batches: BATCHES });
    await bench.flip(file, file.batches[2].position + 5);
    assert.deepEqual(endsOf(await scanUntouched(bench)), { w: [2, 2] });
  });

  test("may be a whole file of one batch, when its header is bad", async () => {
    const bench = new TailBench();
    const file = await bench.file({ batches: BATCHES.slice(0, 1) });
    await bench.flip(file, 9);
    const tail = await scanUntouched(bench);
    assert.deepEqual(endsOf(tail), {});
    const [{ from, to }] = tail.torn;
    assert.deepEqual([from, to], [0, file.size]);
  });

  test("is only the last batch: a bad one before a whole one is corruption", async () => {
    for (const batch of [0, 1]) {
      const bench = new TailBench();
      const file = await bench.file({ batches: BATCHES });
      await bench.flip(file, file.batches[batch].position + 5);
      const error = await rejectsWith(scanUntouched(bench), "corrupt");
      assert.deepEqual([error.details.key, error.details.from], [
        file.key,
        file.batches[batch].position,
      ]);
    }
  });

  test("is no bad header before two whole batches, nor anything before a whole end frame", async () => {
    const bench = new TailBench();
    const header = await bench.file({ batches: BATCHES.slice(0, 2) });
    await bench.flip(header, 9);
    await rejectsWith(scanUntouched(bench), "corrupt");
    const sealed = new TailBench();
    const file = await sealed.file({ batches: BATCHES.slice(0, 1), sealed: true });
    await sealed.flip(file, file.batches[0].position + 5);
    await rejectsWith(scanUntouched(sealed), "corrupt");
  });

  test("is found before a torn batch that follows it as well", async () => {
    const bench = new TailBench();
    const file = await bench.file({ batches: BATCHES });
    await bench.flip(file, file.batches[0].position + 5);
    await bench.cut(file, file.size - 3);
    await rejectsWith(scanUntouched(bench), "corrupt");
  });

  test("of the end frame costs nothing", async () => {
    const bench = new TailBench();
    const file = await bench.file({ batches: BATCHES, sealed: true });
    await bench.cut(file, file.size - 1);
    const tail = await scanUntouched(bench);
    assert.deepEqual(endsOf(tail), { w: [3, 3] });
    assert.equal(tail.torn.length, 1);
  });

  for (const known of ["head", "adopted"] as const) {
    test(`is no excuse below what is known to be there (${known}), nor is a clean cut`, async () => {
      for (const cut of ["torn", "clean", "missing"] as const) {
        const bench = new TailBench();
        const file = await bench.file({ batches: BATCHES.slice(0, 2) });
        if (cut === "torn") await bench.cut(file, file.batches[1].end - 1);
        if (cut === "clean") await bench.cut(file, file.batches[0].end);
        if (cut === "missing") await bench.backend.delete(file.key);
        const needed = [file.upTo(1)];
        const ends = [end(2, 2)];
        const options = known === "head"
          ? { head: bench.head(needed, ends) }
          : { adopted: bench.adopted(needed, ends) };
        const code = cut === "missing" ? "changes-lost" : "corrupt";
        const error = await rejectsWith(scanUntouched(bench, options), code);
        assert.equal(error.details.key, file.key);
      }
    });
  }

  test("does not matter below what a checkpoint needs before the tail", async () => {
    const bench = new TailBench();
    const file = await bench.file({ batches: BATCHES.slice(0, 2) });
    const head = bench.head([file.upTo(1)], [end(2, 2)]);
    await bench.backend.delete(file.key);
    const tail = await bench.scan({ head, tailFrom: { epoch: 1, number: 2 } });
    assert.deepEqual(endsOf(tail), { w: [2, 2] });
  });
});

describe("a file that a later header names", () => {
  async function named(
    bench: TailBench,
    syncedBatches: number,
  ): Promise<{ first: MadeFile; second: MadeFile }> {
    const first = await bench.file({ batches: BATCHES });
    const syncedLength = syncedBatches === 0 ? 0 : first.batches[syncedBatches - 1].end;
    const second = await bench.file({
      number: 2,
      batches: [[set(3, 3, ["d"])]],
      predecessors: [[first, syncedLength]],
      sealed: true,
    });
    return { first, second };
  }

  test("is read to just that length: what comes after it does not exist", async () => {
    const bench = new TailBench();
    const { first } = await named(bench, 2);
    const tail = await scanUntouched(bench);
    assert.deepEqual(endsOf(tail), { w: [2, 2] });
    assert.deepEqual(tail.files, [first.upTo(1)]);
    assert.deepEqual(tail.unproven, []);
    await bench.flip(first, first.batches[2].position + 5);
    await bench.cut(first, first.size - 1);
    assert.deepEqual(endsOf(await scanUntouched(bench)), { w: [2, 2] });
  });

  test("is corrupt when bytes below that length are bad, and nothing is changed", async () => {
    for (const batch of [0, 2]) {
      const bench = new TailBench();
      const { first } = await named(bench, 3);
      await bench.flip(first, first.batches[batch].position + 5);
      const error = await rejectsWith(scanUntouched(bench), "corrupt");
      const { key, from } = error.details;
      assert.deepEqual([key, from], [first.key, first.batches[batch].position]);
    }
  });

  test("is corrupt when it is shorter", async () => {
    const bench = new TailBench();
    const { first } = await named(bench, 3);
    await bench.cut(first, first.size - 1);
    const error = await rejectsWith(scanUntouched(bench), "corrupt");
    assert.equal(error.details.key, first.key);
  });

  test("is lost when it is missing, and the one that names it is told", async () => {
    const bench = new TailBench();
    const { first, second } = await named(bench, 1);
    await bench.backend.delete(first.key);
    const error = await rejectsWith(scanUntouched(bench), "changes-lost");
    assert.deepEqual([error.details.key, error.details.namedBy], [first.key, second.key]);
    for (const options of [{ doomed: [first.key] }, { tailFrom: { epoch: 1, number: 2 } }]) {
      await scanUntouched(bench, options);
    }
  });

  test("is not read at all with length 0, and may be missing", async () => {
    const bench = new TailBench();
    const { first } = await named(bench, 0);
    await bench.flip(first, 9);
    assert.deepEqual(endsOf(await scanUntouched(bench)), {});
    await bench.backend.delete(first.key);
    assert.deepEqual(endsOf(await scanUntouched(bench)), {});
  });

  test("may have a torn end only if no later file of its epoch is whole", async () => {
    const bench = new TailBench();
    const first = await bench.file({ batches: BATCHES });
    const second = await bench.file({ number: 2, batches: [[set(3, 3, ["d"])]] });
    await bench.cut(first, first.size - 1);
    await rejectsWith(scanUntouched(bench), "corrupt");
    await bench.cut(second, 20);
    const tail = await scanUntouched(bench);
    assert.deepEqual(endsOf(tail), { w: [2, 2] });
    assert.equal(tail.torn.length, 2);
  });

  test("does not matter to files of other epochs", async () => {
    const bench = new TailBench();
    const first = await bench.file({ batches: BATCHES });
    await bench.file({ epoch: 2, batches: [[set(2, 2, ["d"], { epoch: 2 })]], sealed: true });
    await bench.cut(first, first.size - 1);
    assert.deepEqual(endsOf(await scanUntouched(bench)), { w: [3, 3] });
  });

  test("may have grown since it was listed", async () => {
    const bench = new TailBench();
    const { first } = await named(bench, 3);
    const whole = await bench.backend.get(first.key);
    const list = bench.backend.list.bind(bench.backend);
    await bench.cut(first, first.batches[0].end);
    const backend = Object.assign(Object.create(bench.backend), {
      async *list(prefix: string) {
        yield* list(prefix);
        await bench.backend.put(first.key, whole);
      },
      get: bench.backend.get.bind(bench.backend),
      head: bench.backend.head.bind(bench.backend),
    });
    assert.deepEqual(endsOf(await bench.scan({ backend })), { w: [4, 4] });
  });
});

describe("the last batch of a file that nothing proves to be on disk", () => {
  test("must be copied, alone", async () => {
    const bench = new TailBench();
    const file = await bench.file({ batches: BATCHES });
    const tail = await bench.scan();
    assert.deepEqual(endsOf(tail), { w: [3, 3] });
    assert.deepEqual(tail.files, [file.upTo(1)]);
    const { key, name } = file;
    const { end, indexHash } = file.batches[2];
    assert.deepEqual(tail.unproven, [{ file: { key, name }, end, indexHash }]);
  });

  test("need not be copied when nothing of it counts", async () => {
    const bench = new TailBench();
    const file = await bench.file({ batches: [[set(0, 0, ["a"])], [set(5, 9, ["b"])]] });
    const tail = await bench.scan();
    assert.deepEqual([tail.files, tail.unproven], [[file.upTo(0)], []]);
  });

  test("need not be copied when the file is sealed, named or adopted so far", async () => {
    const sealed = new TailBench();
    await sealed.file({ batches: BATCHES, sealed: true });
    assert.deepEqual((await sealed.scan()).unproven, []);
    const adopting = new TailBench();
    const file = await adopting.file({ batches: BATCHES });
    const adopted = adopting.adopted([file.upTo(2)], [end(3, 3)]);
    assert.deepEqual((await adopting.scan({ adopted })).unproven, []);
    const less = adopting.adopted([file.upTo(1)], [end(2, 2)]);
    assert.equal((await adopting.scan({ adopted: less })).unproven.length, 1);
  });

  test("need not be copied where a proven copy of it is", async () => {
    const bench = new TailBench();
    const file = await bench.file({ batches: BATCHES.slice(0, 1) });
    const copy = await bench.file({ epoch: 2, batches: BATCHES.slice(0, 1), sealed: true });
    const tail = await bench.scan();
    assert.deepEqual(tail.unproven, []);
    assert.deepEqual(tail.files, [copy.upTo(0)]);
    assert.notEqual(copy.key, file.key);
  });
});
