import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findLaterFrame, laterFrames } from "../../../src/engine/format/later_frame.ts";
import { changeSet, encodeFile, HEADER, MemorySource, smallSets, text, uuid } from "./_files.ts";

const file = encodeFile(HEADER, smallSets());
const source = new MemorySource(file.bytes);
const ofFile = { from: 0, uuid: HEADER.uuid };

describe("findLaterFrame", () => {
  test("finds the index of the next batch but one, wherever it begins to look before it", async () => {
    const at = file.batches[1].indexPosition;
    const { sets } = file.batches[1];
    const wanted = { at, what: "the index of its batch 1", sets };
    for (const from of [0, 1, file.batches[0].end, at]) {
      assert.deepEqual(await findLaterFrame(source, { ...ofFile, from, batch: 0 }), wanted);
    }
  });

  test("does not take the batch's own index for a proof", async () => {
    const cut = new MemorySource(file.bytes, file.batches[2].end);
    assert.equal(await findLaterFrame(cut, { ...ofFile, batch: 2 }), undefined);
    assert.equal(
      (await findLaterFrame(cut, { ...ofFile, batch: 1 }))?.at,
      cut.size - (
        file.batches[2].end - file.batches[2].indexPosition
      ),
    );
  });

  test("finds the end frame", async () => {
    const found = await findLaterFrame(source, { ...ofFile, batch: 2 });
    assert.deepEqual(found, { at: file.batches[2].end, what: "its file index", sets: [] });
  });

  test("goes on to every frame where all are wanted", async () => {
    const places: number[] = [];
    for await (const { at } of laterFrames(source, { ...ofFile, batch: -1 })) places.push(at);
    const indexes = file.batches.map(({ indexPosition }) => indexPosition);
    assert.deepEqual(places.sort((a, b) => a - b), [...indexes, file.batches[2].end]);
  });

  test("passes over frames that are cut, bad or of another file", async () => {
    const cut = new MemorySource(file.bytes, file.bytes.length - 1);
    assert.equal(await findLaterFrame(cut, { ...ofFile, batch: 2 }), undefined);
    const bytes = file.bytes.slice();
    for (const { indexPosition } of file.batches) bytes[indexPosition + 12] ^= 1;
    const bad = new MemorySource(bytes, file.batches[2].end);
    assert.equal(await findLaterFrame(bad, { ...ofFile, batch: 0 }), undefined);
    assert.equal(await findLaterFrame(source, { from: 0, uuid: uuid(99), batch: 0 }), undefined);
  });

  test("passes over a file that is kept within a change", async () => {
    const data = file.bytes.slice();
    const set = changeSet([{ keyGroup: 0, data }], {
      writer: "files",
      sequenceNumber: 0,
      firstOffset: 0,
    });
    const outer = encodeFile({ ...HEADER, uuid: uuid(50) }, [[set]], {
      compression: "none",
      blockBytes: 65536,
    });
    const within = new MemorySource(outer.bytes, outer.batches[0].end);
    assert.equal(await findLaterFrame(within, { from: 0, uuid: uuid(50), batch: 0 }), undefined);
  });

  test("finds a frame across the edge of what it reads at once", async () => {
    const first = changeSet([{ keyGroup: 0, data: new Uint8Array(3 * 2 ** 20) }], {
      writer: "a",
      sequenceNumber: 0,
      firstOffset: 0,
    });
    const second = changeSet([{ keyGroup: 0, data: text("x") }], {
      writer: "a",
      sequenceNumber: 1,
      firstOffset: 1,
    });
    const large = encodeFile(HEADER, [[first], [second]], {
      compression: "none",
      blockBytes: 65536,
    });
    const { indexPosition } = large.batches[1];
    for (let shift = 0; shift < 6; shift++) {
      const from = indexPosition - 2 ** 20 + shift;
      const found = await findLaterFrame(new MemorySource(large.bytes), {
        ...ofFile,
        from,
        batch: 0,
      });
      assert.equal(found?.at, indexPosition, `begun at ${from}`);
    }
  });
});
