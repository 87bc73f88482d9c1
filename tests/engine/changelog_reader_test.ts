import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { scanChanges } from "../../src/engine/format/change_scan.ts";
import { MIB } from "../../src/engine/limits.ts";
import type { StoreSettings } from "../../src/engine/settings.ts";
import type { Job, JobReader, RestoredSlice } from "../../src/engine/types.ts";
import { FaultyBackend } from "../doubles/faulty_backend.ts";
import { SeededRandom } from "../doubles/seeded_random.ts";
import {
  appendDurably,
  bytesOf,
  flip,
  JOB,
  keysBelow,
  newMemory,
  openEngine,
  openJobOn,
  rejectsWith,
  restoreWriter,
  rewrite,
  textOf,
} from "./_engine.ts";

/** A file for every batch. */
const SMALL: Partial<StoreSettings> = { changeFileBytesMax: 1 };

/** Texts of slices, in order: `writer offset text`. */
async function texts(slices: AsyncIterable<RestoredSlice>): Promise<string[]> {
  const found: string[] = [];
  for await (const { writer, firstOffset, count, bytes } of slices) {
    const scan = scanChanges(bytes);
    assert.equal(scan.count, count);
    for (let i = 0; i < count; i++) {
      found.push(`${writer} ${firstOffset + i} ${textOf(scan.data(i))}`);
    }
  }
  return found;
}

/** Writes change sets of two writers, two batches in each of two files, and persists each writer from the begin. */
async function twoWriters(job: Job) {
  const [left, right] = [job.writer("left"), job.writer("right")];
  for (const text of ["a", "b", "c", "d"]) {
    left.append(0, bytesOf(text));
    left.nextSequenceNumber();
    right.append(1, bytesOf(text.toUpperCase()));
    right.append(2, bytesOf("-"));
    await Promise.all([left.persist(), right.persist()]);
  }
  const segments = {
    left: (await left.persist(0)).segments,
    right: (await right.persist(0)).segments,
  };
  assert.deepEqual([segments.left.length, segments.right.length], [4, 4]);
  return segments;
}

describe("ChangelogReader.segments", () => {
  test("reads back what was persisted, several sets to a file, per key group in order", async () => {
    for (const compression of ["lz4", "none"] as const) {
      const { job } = await openJobOn(newMemory(), { compression });
      const random = new SeededRandom(3);
      const writer = job.writer("w");
      const wanted: string[][] = [];
      for (let keyGroup = 0; keyGroup < 6; keyGroup++) {
        wanted.push([]);
        for (let i = 0; i < 20; i++) {
          const data = new Uint8Array(405);
          random.fill(data);
          writer.append(keyGroup, data);
          wanted[keyGroup].push(String(data));
        }
        writer.nextSequenceNumber();
      }
      const { segments } = await writer.persist(0);
      assert.equal(segments.length, 6);
      assert.equal(new Set(segments.map(({ key }) => key)).size, 1);
      const found: string[][] = wanted.map(() => []);
      await using reader = job.changelogReader();
      for await (const { bytes } of reader.segments(segments)) {
        const scan = scanChanges(bytes);
        for (let i = 0; i < scan.count; i++) found[scan.keyGroup(i)].push(String(scan.data(i)));
      }
      assert.deepEqual(found, wanted, compression);
    }
  });

  test("reads one writer's sets out of batches that it shares, wherever they stand", async () => {
    const { job } = await openJobOn();
    const { left, right } = await twoWriters(job);
    await using reader = job.changelogReader();
    assert.deepEqual(await texts(reader.segments(left)), [
      "left 0 a",
      "left 1 b",
      "left 2 c",
      "left 3 d",
    ]);
    assert.deepEqual(await texts(reader.segments(right.slice(2, 3))), ["right 4 C", "right 5 -"]);
    assert.deepEqual(await texts(reader.segments([])), []);
  });

  test("reads in the order of the segments, repeated ones again", async () => {
    const { job } = await openJobOn();
    const { left, right } = await twoWriters(job);
    await using reader = job.changelogReader();
    const wanted = [left[3], right[0], left[0], left[0], left[1]];
    assert.deepEqual(await texts(reader.segments(wanted)), [
      "left 3 d",
      "right 0 A",
      "right 1 -",
      "left 0 a",
      "left 0 a",
      "left 1 b",
    ]);
  });

  test("reads over many files, each asked for once", async () => {
    const { job, backend } = await openJobOn(newMemory(), SMALL);
    const { left } = await twoWriters(job);
    const before = backend.log.length;
    await using reader = job.changelogReader();
    assert.deepEqual(await texts(reader.segments(left)), [
      "left 0 a",
      "left 1 b",
      "left 2 c",
      "left 3 d",
    ]);
    const gets = backend.log.slice(before).filter(({ kind }) => kind === "get");
    assert.deepEqual(gets.map(({ key }) => key), left.map(({ key }) => key));
  });

  test("says what is not there", async () => {
    const { job } = await openJobOn();
    const { left: [segment] } = await twoWriters(job);
    await using reader = job.changelogReader();
    const wrong = [
      { key: segment.key.replace(JOB, "other") },
      { batch: 99 },
      { sequenceNumber: 99 },
      { writer: "nobody" },
    ];
    for (const part of wrong) {
      const reading = texts(reader.segments([{ ...segment, ...part }]));
      await rejectsWith(reading, "object-not-found");
    }
  });

  test("never gives what is bad", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects, { compression: "none" });
    const { left } = await twoWriters(job);
    const { length } = await objects.get(left[0].key);
    await using reader = job.changelogReader();
    const wanted = await texts(reader.segments(left));
    for (let at = 0; at < length; at += 7) {
      await rewrite(objects, left[0].key, flip(at));
      const found = await texts(reader.segments(left)).catch((error) =>
        assert.equal(error.code, "corrupt")
      );
      if (found !== undefined) assert.deepEqual(found, wanted, `byte ${at}`);
      await rewrite(objects, left[0].key, flip(at));
    }
  });
});

describe("ChangelogReader.file", () => {
  test("reads a file as it stands, and what of it is wanted", async () => {
    const { job } = await openJobOn();
    const { left: [{ key }] } = await twoWriters(job);
    await using reader = job.changelogReader();
    const all = await texts(reader.file(key));
    assert.equal(all.length, 12);
    assert.deepEqual(all.filter((one) => one.startsWith("left")), [
      "left 0 a",
      "left 1 b",
      "left 2 c",
      "left 3 d",
    ]);
    const some = { writers: ["right"], keyGroups: [1, 1], from: 2, to: 5 } as const;
    assert.deepEqual(await texts(reader.file(key, some)), ["right 2 B", "right 4 C"]);
  });

  test("reads up to where a checkpoint needs the file", async () => {
    const { job } = await openJobOn();
    await appendDurably(job, "w", "a");
    await job.checkpoint();
    const [{ key }] = (await job.checkpointDetails("latest")).files;
    await appendDurably(job, "w", "b");
    await using reader = job.changelogReader();
    assert.deepEqual(await texts(reader.file(key, { at: "latest" })), ["w 0 a"]);
    assert.deepEqual(await texts(reader.file(key)), ["w 0 a", "w 1 b"]);
    await rejectsWith(texts(reader.file("elsewhere")), "object-not-found");
  });
});

describe("ChangelogReader.ranges", () => {
  test("gives to each range what is its own, overlapping ones too", async () => {
    const { job } = await openJobOn();
    await twoWriters(job);
    await using reader = job.changelogReader();
    const found: string[][] = [[], [], [], []];
    const ranges = [
      { keyGroups: [0, 1] as const },
      { keyGroups: [2, 2] as const, from: 2, to: 6 },
      { writers: ["left"], from: 2 },
      { keyGroups: [7, 9] as const },
    ];
    for await (const { range, writer, firstOffset, bytes } of reader.ranges(ranges)) {
      const scan = scanChanges(bytes);
      for (let i = 0; i < scan.count; i++) {
        found[range].push(`${writer} ${firstOffset + i} ${textOf(scan.data(i))}`);
      }
    }
    assert.equal(found[0].length, 8);
    assert.deepEqual(found.slice(1), [
      ["right 3 -", "right 5 -"],
      ["left 2 c", "left 3 d"],
      [],
    ]);
    assert.deepEqual(await texts(reader.ranges([])), []);
  });

  test("reads every block once, however many ranges want it", async () => {
    const { job, backend } = await openJobOn(newMemory(), { compression: "none" });
    const writer = job.writer("w");
    const random = new SeededRandom(1);
    const data = new Uint8Array(MIB / 4);
    random.fill(data);
    for (let batch = 0; batch < 8; batch++) {
      for (let keyGroup = 0; keyGroup < 4; keyGroup++) writer.append(keyGroup, data);
      await writer.persist();
    }
    const bytesRead = async (ranges: number): Promise<number> => {
      const noting = new NotingBackend(backend);
      const { job: reading } = await openJobOn(noting);
      await using reader = reading.changelogReader();
      noting.bytesRead = 0;
      const wanted = Array.from({ length: ranges }, (_, i) => ({ keyGroups: [i % 4, 3] as const }));
      let count = 0;
      for await (const slice of reader.ranges(wanted)) count += slice.count;
      assert.ok(count >= 32);
      return noting.bytesRead;
    };
    const once = await bytesRead(1);
    assert.equal(await bytesRead(16), once);
  });

  test("does not read what no range can hold", async () => {
    const { job, backend } = await openJobOn(newMemory(), { compression: "none" });
    const writer = job.writer("w");
    for (let keyGroup = 0; keyGroup < 4; keyGroup++) {
      writer.append(keyGroup, new Uint8Array(3 * MIB));
      writer.nextSequenceNumber();
    }
    await writer.persist();
    const noting = new NotingBackend(backend);
    const { job: reading } = await openJobOn(noting);
    await using reader = reading.changelogReader();
    noting.bytesRead = 0;
    let count = 0;
    for await (const slice of reader.ranges([{ keyGroups: [2, 2] }])) count += slice.count;
    assert.equal(count, 1);
    assert.ok(noting.bytesRead < 8 * MIB, `${noting.bytesRead} of 12 MiB were read`);
  });

  test("is what a restore gives, at a checkpoint, too", async () => {
    const { job } = await openJobOn(newMemory(), SMALL);
    await appendDurably(job, "w", "a", "b");
    const { uuid } = await job.checkpoint();
    await appendDurably(job, "w", "c");
    await using reader = job.changelogReader();
    for (const at of ["tail", "latest", uuid]) {
      const wanted = (await restoreWriter(job, "w", at)).map((text, i) => `w ${i} ${text}`);
      assert.deepEqual(await texts(reader.ranges([{}], { at })), wanted, at);
    }
    await rejectsWith(texts(reader.ranges([{ writers: ["x"] }])), "writer-not-found");
  });

  test("refuses a first offset that was truncated", async () => {
    const { job } = await openJobOn();
    const writer = job.writer("w");
    await appendDurably(job, "w", "a", "b");
    writer.truncate(writer.nextSequenceNumber());
    await appendDurably(job, "w", "c");
    await job.checkpoint();
    await using reader = job.changelogReader();
    await rejectsWith(texts(reader.ranges([{ from: 1 }])), "truncated");
    assert.deepEqual(await texts(reader.ranges([{ from: 2 }])), ["w 2 c"]);
    assert.deepEqual(await texts(reader.ranges([{}])), ["w 2 c"]);
  });
});

describe("a changelog reader", () => {
  test("may be closed twice, and ends every read; another one reads on", async () => {
    const { job } = await openJobOn(newMemory(), SMALL);
    const { left } = await twoWriters(job);
    const reader = job.changelogReader();
    const iterators = [reader.segments(left), reader.ranges([{}])].map((slices) =>
      slices[Symbol.asyncIterator]()
    );
    for (const iterator of iterators) assert.equal((await iterator.next()).done, false);
    await reader.close();
    await reader.close();
    for (const iterator of iterators) await rejectsWith(iterator.next(), "closed");
    await rejectsWith(texts(reader.file(left[0].key)), "closed");
    await using again = job.changelogReader();
    assert.equal((await texts(again.segments(left))).length, 4);
  });

  test("may leave an iteration early, twice, and read again", async () => {
    const { job } = await openJobOn();
    const { left } = await twoWriters(job);
    await using reader = job.changelogReader();
    const iterator = reader.segments(left)[Symbol.asyncIterator]();
    await iterator.next();
    await iterator.return!();
    await iterator.return!();
    assert.equal((await texts(reader.segments(left))).length, 4);
  });

  test("serves many reads at once", async () => {
    const { job } = await openJobOn(newMemory(), SMALL);
    const { left, right } = await twoWriters(job);
    await using reader = job.changelogReader();
    const one = [await texts(reader.segments(left)), await texts(reader.segments(right))];
    const many = await Promise.all(
      Array.from({ length: 10 }, (_, i) => texts(reader.segments([left, right][i % 2]))),
    );
    many.forEach((found, i) => assert.deepEqual(found, one[i % 2]));
  });

  test("stops at a signal, before and while it reads", async () => {
    const { job } = await openJobOn(newMemory(), SMALL);
    const { left } = await twoWriters(job);
    await using reader = job.changelogReader();
    await assert.rejects(
      texts(reader.segments(left, { signal: AbortSignal.abort(new Error("before")) })),
      /before/,
    );
    const abort = new AbortController();
    await assert.rejects(async () => {
      for await (const _slice of reader.segments(left, abort)) abort.abort(new Error("while"));
    }, /while/);
  });

  test("reads beside the owner, and holds a lease for each read", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects);
    const { left } = await twoWriters(job);
    const other = await openReader(objects);
    await using reader = other.changelogReader();
    const iterator = reader.segments(left)[Symbol.asyncIterator]();
    await iterator.next();
    assert.equal((await keysBelow(objects, `jobs/${JOB}/readers/`)).length, 1);
    await iterator.return!();
    assert.deepEqual(await keysBelow(objects, `jobs/${JOB}/readers/`), []);
    assert.equal((await texts(reader.ranges([{ writers: ["left"] }], { at: "tail" }))).length, 4);
  });
});

async function openReader(objects: ReturnType<typeof newMemory>): Promise<JobReader> {
  const { store } = await openEngine(objects, { mode: "read" });
  return await store.reader(JOB);
}

/** A backend that adds up what is read of change files. */
class NotingBackend extends FaultyBackend {
  bytesRead = 0;

  override async get(...call: Parameters<FaultyBackend["get"]>): Promise<Uint8Array> {
    const bytes = await super.get(...call);
    if (call[0].includes("/changelog/")) this.bytesRead += bytes.length;
    return bytes;
  }
}
