import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { xxh64 } from "../../../wasm/mod.ts";
import {
  ChangelogRestore,
  type RestoreFilter,
} from "../../../src/engine/changelog/restore_stream.ts";
import type { NeededFile, WriterEnd } from "../../../src/engine/changelog/tail.ts";
import { encodeChanges } from "../../../src/engine/format/change_input.ts";
import type { ChangeSet } from "../../../src/engine/format/change_set.ts";
import type { RestoreStream, RestoreTrailer } from "../../../src/engine/types.ts";
import { bytesOf, changesOf, JOB, rejectsWith, textOf } from "../_engine.ts";
import { end, set, STORE, TailBench } from "./_tail_bench.ts";

/** What is to be read back of a bench. */
interface Source {
  readonly files: readonly NeededFile[];
  readonly writers: readonly WriterEnd[];
  readonly confirmed?: readonly (readonly [string, number])[];
}

function restoreOf(bench: TailBench, source: Source, filter: RestoreFilter = {}): RestoreStream {
  const { files, writers, confirmed = [] } = source;
  const open = () =>
    Promise.resolve({
      files,
      writers: new Map(writers.map((one) => [one.writer, one])),
      confirmed: new Map(confirmed),
      neededBy: "the tail",
      store: STORE,
      job: JOB,
    });
  return new ChangelogRestore({ backend: bench.backend }, open, filter);
}

/** Reads to the end: `writer offset keyGroup text` of each change. */
async function read(stream: RestoreStream): Promise<[string[], RestoreTrailer]> {
  const changes: string[] = [];
  for await (const { writer, offset, keyGroup, data } of stream) {
    changes.push(`${writer} ${offset} ${keyGroup} ${textOf(data)}`);
  }
  return [changes, await stream.trailer];
}

/** Writer `w` with a, b, c in two sets, writer `v` with x, y in one. */
async function twoWriters(bench: TailBench): Promise<Source> {
  const file = await bench.file({
    batches: [
      [set(0, 0, ["a", "b"]), set(0, 0, ["x", "y"], { writer: "v" })],
      [set(1, 2, ["c"])],
    ],
  });
  return { files: [file.upTo(1)], writers: [end(2, 3), end(1, 2, "v")] };
}

/** A set whose changes have these key groups, and their numbers as texts. */
function grouped(...keyGroups: number[]): ChangeSet {
  const changes = keyGroups.map((keyGroup, i) => ({ keyGroup, data: bytesOf(`${i}`) }));
  const { bytes, ...counts } = encodeChanges(changes);
  return { ...set(0, 0, ["a"]), ...counts, byteLength: bytes.length, chunks: [bytes] };
}

describe("ChangelogRestore", () => {
  test("gives every change with writer, offset and key group, then the trailer", async () => {
    const bench = new TailBench();
    const [changes, trailer] = await read(restoreOf(bench, await twoWriters(bench)));
    assert.deepEqual(changes.filter((one) => one.startsWith("w")), [
      "w 0 0 a",
      "w 1 0 b",
      "w 2 0 c",
    ]);
    assert.deepEqual(changes.filter((one) => one.startsWith("v")), ["v 0 0 x", "v 1 0 y"]);
    assert.equal(trailer.count, 5);
    assert.equal(trailer.confirmed, 5);
  });

  test("hashes the bytes of all encoded changes, in the order that it gave them", async () => {
    const bench = new TailBench();
    const { trailer } = await readSlices(restoreOf(bench, await twoWriters(bench), {
      writers: ["w"],
    }));
    const hash = xxh64(changesOf("a", "b", "c").bytes).toString(16).padStart(16, "0");
    assert.equal(trailer.hash, hash);
    const [, empty] = await read(restoreOf(bench, { files: [], writers: [] }));
    assert.deepEqual(empty, { count: 0, hash: "ef46db3751d8e999", confirmed: 0 });
  });

  test("gives slices that are CBOR sequences of the same changes", async () => {
    const bench = new TailBench();
    const { bytes } = await readSlices(restoreOf(bench, await twoWriters(bench), {
      writers: ["v"],
    }));
    assert.deepEqual(bytes, [...changesOf("x", "y").bytes]);
  });

  test("gives the writers that are wanted, and refuses unknown ones by name", async () => {
    const bench = new TailBench();
    const source = await twoWriters(bench);
    const [changes, trailer] = await read(restoreOf(bench, source, { writers: ["v"] }));
    assert.deepEqual(changes, ["v 0 0 x", "v 1 0 y"]);
    assert.equal(trailer.count, 2);
    const stream = restoreOf(bench, source, { writers: ["v", "nobody"] });
    const error = await rejectsWith(read(stream), "writer-not-found");
    assert.deepEqual(error.details, { writer: "nobody" });
    assert.match(error.message, /w, v/);
    await rejectsWith(stream.trailer, "writer-not-found");
  });

  test("gives the key groups that are wanted, metadata only within the range", async () => {
    const bench = new TailBench();
    const file = await bench.file({ batches: [[grouped(5, -1, 6, 5, 900, 7)]] });
    const source = { files: [file.upTo(0)], writers: [end(1, 6)] };
    const texts = async (keyGroups: [number, number]) =>
      (await read(restoreOf(bench, source, { keyGroups })))[0];
    assert.deepEqual(await texts([5, 6]), ["w 0 5 0", "w 2 6 2", "w 3 5 3"]);
    assert.deepEqual(await texts([-1, 5]), ["w 0 5 0", "w 1 -1 1", "w 3 5 3"]);
    assert.deepEqual(await texts([8, 899]), []);
  });

  test("begins at `from`, in each writer, wherever that lies in a set", async () => {
    const bench = new TailBench();
    const source = await twoWriters(bench);
    const from = async (from: number) => (await read(restoreOf(bench, source, { from })))[0].sort();
    assert.deepEqual(await from(1), ["v 1 0 y", "w 1 0 b", "w 2 0 c"]);
    assert.deepEqual(await from(2), ["w 2 0 c"]);
    assert.deepEqual(await from(99), []);
  });

  test("gives sets in order, wherever they lie", async () => {
    const bench = new TailBench();
    const later = await bench.file({ batches: [[set(2, 2, ["c"]), set(1, 1, ["b"])]] });
    const last = await bench.file({
      number: 2,
      batches: [[set(4, 4, ["e"])], [set(0, 0, ["a"])], [set(3, 3, ["d"])]],
    });
    const source = { files: [last.upTo(2), later.upTo(0)], writers: [end(5, 5)] };
    const [changes] = await read(restoreOf(bench, source));
    assert.deepEqual(changes, ["w 0 0 a", "w 1 0 b", "w 2 0 c", "w 3 0 d", "w 4 0 e"]);
  });

  test("takes the set of the highest epoch in each place, and each copy once", async () => {
    const bench = new TailBench();
    const old = await bench.file({ batches: [[set(0, 0, ["a"])], [set(1, 1, ["lost"])]] });
    const copies = await bench.file({ epoch: 2, batches: [[set(0, 0, ["a"])]] });
    const newer = await bench.file({ epoch: 3, batches: [[set(1, 1, ["b", "c"], { epoch: 3 })]] });
    const files = [old.upTo(1), copies.upTo(0), newer.upTo(0)];
    const [changes] = await read(restoreOf(bench, { files, writers: [end(2, 3)] }));
    assert.deepEqual(changes, ["w 0 0 a", "w 1 0 b", "w 2 0 c"]);
  });

  test("ends where the writer ends, although the files go on", async () => {
    const bench = new TailBench();
    const source = await twoWriters(bench);
    const [changes] = await read(restoreOf(bench, { ...source, writers: [end(1, 2)] }));
    assert.deepEqual(changes, ["w 0 0 a", "w 1 0 b"]);
  });

  test("counts exactly what is known to be acknowledged, whatever is filtered", async () => {
    const bench = new TailBench();
    const file = await bench.file({ batches: [[grouped(5, 6, 5, 6)]] });
    const source: Source = {
      files: [file.upTo(0)],
      writers: [end(1, 4)],
      confirmed: [["w", 3]],
    };
    const confirmed = async (filter: RestoreFilter) =>
      (await read(restoreOf(bench, source, filter)))[1].confirmed;
    assert.equal(await confirmed({}), 3);
    assert.equal(await confirmed({ from: 2 }), 1);
    assert.equal(await confirmed({ from: 3 }), 0);
    assert.equal(await confirmed({ keyGroups: [5, 5] }), 2);
    assert.equal(await confirmed({ keyGroups: [6, 6] }), 1);
  });
});

async function readSlices(
  stream: RestoreStream,
): Promise<{ bytes: number[]; trailer: RestoreTrailer }> {
  const bytes: number[] = [];
  for await (const slice of stream.slices()) bytes.push(...slice.bytes);
  return { bytes, trailer: await stream.trailer };
}

describe("ChangelogRestore that does not come to its end", () => {
  test("rejects the trailer when it is left", async () => {
    const bench = new TailBench();
    const stream = restoreOf(bench, await twoWriters(bench));
    for await (const _ of stream) break;
    await rejectsWith(stream.trailer, "aborted");
  });

  test("can't be iterated twice", async () => {
    const bench = new TailBench();
    const stream = restoreOf(bench, await twoWriters(bench));
    await read(stream);
    await assert.rejects(read(stream), TypeError);
    await stream.trailer;
  });

  test("stops at a signal, before and between batches", async () => {
    const bench = new TailBench();
    const source = await twoWriters(bench);
    const controller = new AbortController();
    const { signal } = controller;
    const stream = restoreOf(bench, source, { signal });
    const reading = (async () => {
      for await (const _ of stream) controller.abort(new Error("enough"));
    })();
    await assert.rejects(reading);
    await assert.rejects(stream.trailer);
    await assert.rejects(read(restoreOf(bench, source, { signal })));
  });

  test("fails with the trailer when what is needed is missing, cut or bad", async () => {
    for (const damage of ["missing", "cut", "bad", "header"] as const) {
      const bench = new TailBench();
      const file = await bench.file({ batches: [[set(0, 0, ["a"])], [set(1, 1, ["b"])]] });
      if (damage === "missing") await bench.backend.delete(file.key);
      if (damage === "cut") await bench.cut(file, file.size - 1);
      if (damage === "bad") await bench.flip(file, file.batches[0].position + 20);
      if (damage === "header") await bench.flip(file, 12);
      const stream = restoreOf(bench, { files: [file.upTo(1)], writers: [end(2, 2)] });
      const code = damage === "missing" || damage === "cut" ? "changes-lost" : "corrupt";
      const error = await rejectsWith(read(stream), code);
      assert.ok(error.message.includes(file.key), error.message);
      await rejectsWith(stream.trailer, code);
    }
  });

  test("fails when a set is in none of the files", async () => {
    const bench = new TailBench();
    const file = await bench.file({ batches: [[set(0, 0, ["a"]), set(2, 2, ["c"])]] });
    const stream = restoreOf(bench, { files: [file.upTo(0)], writers: [end(3, 3)] });
    const error = await rejectsWith(read(stream), "corrupt");
    assert.deepEqual(error.details, { writer: "w", sequenceNumber: 1, wanted: 3 });
  });

  test("fails when a set does not go on where the one before ended", async () => {
    for (const sets of [[set(0, 1, ["b"])], [set(0, 0, ["a"]), set(1, 2, ["c"])]]) {
      const bench = new TailBench();
      const file = await bench.file({ batches: [sets] });
      const source = { files: [file.upTo(0)], writers: [end(sets.length, sets.length)] };
      await rejectsWith(read(restoreOf(bench, source)), "corrupt");
    }
  });

  test("fails when the writer ends elsewhere than its last set", async () => {
    const bench = new TailBench();
    const file = await bench.file({ batches: [[set(0, 0, ["a"])]] });
    const source = { files: [file.upTo(0)], writers: [end(1, 2)] };
    await rejectsWith(read(restoreOf(bench, source)), "corrupt");
  });

  test("fails when a file is not the one that is needed", async () => {
    const bench = new TailBench();
    const file = await bench.file({ batches: [[set(0, 0, ["a"])]] });
    const needed = file.upTo(0);
    await bench.file({ batches: [[set(0, 0, ["z"])]] });
    const replaced = { files: [needed], writers: [end(1, 1)] };
    await rejectsWith(read(restoreOf(bench, replaced)), "corrupt");
    const other = await bench.file({ batches: [[set(0, 0, ["a"])]], header: { job: "other" } });
    const foreign = { files: [other.upTo(0)], writers: [end(1, 1)] };
    await rejectsWith(read(restoreOf(bench, foreign)), "corrupt");
  });
});
