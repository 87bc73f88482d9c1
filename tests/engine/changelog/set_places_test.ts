import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SetPlaces } from "../../../src/engine/changelog/set_places.ts";
import type { PlacedSet, SetPlace } from "../../../src/engine/changelog/tail.ts";
import type { ChangeSet, ChangeSetFacts } from "../../../src/engine/format/change_set.ts";
import { entryOf } from "../../../src/engine/format/change_set.ts";
import { JobKeys } from "../../../src/engine/paths.ts";
import { changesOf, JOB, rejectsWith, throwsWith } from "../_engine.ts";
import { SeededRandom } from "../../doubles/seeded_random.ts";
import { setOf } from "../upload/_sets.ts";
import { type LogBench, newLog } from "../upload/_log.ts";

const UUID = "01890a5d-ac96-774b-bcce-b302099a8057";

/** What is kept of a set. */
function placedSet(
  { writer, keyGroups, epoch, sequenceNumber, firstOffset, count, byteLength }: ChangeSetFacts,
): PlacedSet {
  return { writer, keyGroups, epoch, sequenceNumber, firstOffset, count, byteLength };
}

/** Adds a set that is in a batch of its own. */
function add(places: SetPlaces, { entry, ...batch }: SetPlace): void {
  places.add(entry, batch);
}

/** A place that nobody reads. */
function place(sequenceNumber: number, change: Partial<SetPlace["entry"]> = {}): SetPlace {
  const entry = { ...placedSet(entryOf(setOf(sequenceNumber), 0)), ...change };
  const name = { log: "main", epoch: entry.epoch, number: 1, uuid: UUID };
  const key = new JobKeys(JOB).changeFile(name);
  return {
    entry,
    file: { key, name },
    batchStart: 0,
    batchEnd: 1,
    indexHash: 0n,
    isUnproven: false,
  };
}

/** Writes sets as a batch of their own, and answers their places. */
async function write({ log }: LogBench, ...sets: ChangeSet[]): Promise<SetPlace[]> {
  await log.appendBatch(sets);
  await log.seal();
  const { key, name, syncedLength, indexHash } = log.files.at(-1)!;
  return sets.map((set) => ({
    entry: entryOf(set, 0),
    file: { key, name },
    batchStart: 0,
    batchEnd: syncedLength,
    indexHash,
    isUnproven: false,
  }));
}

describe("SetPlaces", () => {
  test("find each set by writer and number", () => {
    const places = new SetPlaces();
    const one = place(0);
    const other = place(0, { writer: "names" });
    add(places, one);
    add(places, other);
    assert.deepEqual(places.get("totals", 0), one);
    assert.deepEqual(places.get("names", 0), other);
    assert.equal(places.get("totals", 1), undefined);
    assert.equal(places.get("nobody", 0), undefined);
    assert.deepEqual([...places.writers].sort(), ["names", "totals"]);
  });

  test("keep what is known of each of many sets, in any order, and of none between them", () => {
    const random = new SeededRandom(3);
    for (const order of ["up", "down"]) {
      const places = new SetPlaces();
      const sets = Array.from({ length: 5000 }, (_, i) =>
        place(7 + i * 3 + random.below(3), {
          writer: `writer-${i % 3}`,
          keyGroups: [random.below(2), 7],
          epoch: 1 + random.below(3),
          firstOffset: i * 2 ** 40,
          count: random.nextUint32(),
          byteLength: random.nextUint32(),
        }));
      if (order === "down") sets.reverse();
      for (const set of sets) add(places, set);
      for (const set of sets) {
        const { writer, sequenceNumber } = set.entry;
        assert.deepEqual(places.get(writer, sequenceNumber), set);
        assert.equal(places.get("writer-9", sequenceNumber), undefined);
      }
      const taken = new Set(sets.map(({ entry }) => `${entry.writer} ${entry.sequenceNumber}`));
      for (let number = 0; number < 200; number++) {
        const isTaken = taken.has(`writer-0 ${number}`);
        assert.equal(places.get("writer-0", number) !== undefined, isTaken, String(number));
      }
    }
  });

  test("a set that is found once more in its batch is no copy", async () => {
    const bench = newLog();
    const places = new SetPlaces();
    for (let i = 0; i < 2; i++) add(places, place(0));
    // Nobody reads the file, which is not there.
    await places.checkCopies(bench.backend);
  });

  for (const order of ["older first", "newer first"]) {
    test(`choose the highest epoch, whatever differs (${order})`, async () => {
      const places = new SetPlaces();
      const older = place(0, { epoch: 1, firstOffset: 0 });
      const newer = place(0, { epoch: 3, firstOffset: 7, count: 9 });
      const added = order === "older first" ? [older, newer] : [newer, older];
      for (const one of added) add(places, one);
      assert.deepEqual(places.get("totals", 0), newer);
      await places.checkCopies(newLog().backend);
    });
  }

  for (const change of [{ firstOffset: 8 }, { count: 2 }, { byteLength: 99 }]) {
    test(`refuse sets of one epoch that differ in ${Object.keys(change)[0]}`, () => {
      const places = new SetPlaces();
      add(places, place(0));
      const error = throwsWith(() => add(places, place(0, change)), "corrupt");
      assert.match(error.message, /change set 0 of writer totals/);
    });
  }

  test("prefer what is proven to be on disk", () => {
    for (const isFirst of [true, false]) {
      const places = new SetPlaces();
      const proven = place(0);
      const unproven = { ...place(0), isUnproven: true };
      for (const one of isFirst ? [proven, unproven] : [unproven, proven]) add(places, one);
      assert.equal(places.get("totals", 0)?.isUnproven, false);
    }
  });

  test("take copies whose bytes are equal", async () => {
    const bench = newLog();
    const [one] = await write(bench, setOf(0));
    const [, other] = await write(bench, setOf(1), setOf(0));
    const places = new SetPlaces();
    add(places, one);
    add(places, other);
    await places.checkCopies(bench.backend);
  });

  test("refuse copies whose bytes differ, and name both files", async () => {
    const bench = newLog();
    const [one] = await write(bench, setOf(0, "left!"));
    const [other] = await write(bench, setOf(0, "right"));
    assert.equal(changesOf("left!").bytes.length, changesOf("right").bytes.length);
    const places = new SetPlaces();
    add(places, one);
    add(places, other);
    const error = await rejectsWith(places.checkCopies(bench.backend), "corrupt");
    assert.ok(error.message.includes(one.file.key) && error.message.includes(other.file.key));
    assert.match(error.message, /their bytes differ/);
  });
});
