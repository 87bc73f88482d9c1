/** Files that an earlier program wrote: they are read for ever, and the program still writes the same. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { sameBytes } from "../../../src/engine/format/_bytes.ts";
import {
  batchesBackwards,
  readHeader,
  readSets,
  verifyBatchContent,
} from "../../../src/engine/format/change_file_reader.ts";
import { decodeFact, encodeFact } from "../../../src/engine/format/fact.ts";
import {
  BATCHES,
  changeSetOf,
  encodeGoldenFile,
  encodeGoldenState,
  FACT,
  HEADER,
  STATE_CONTENT,
  STATE_HEADER,
} from "./_golden.ts";
import { join, MemorySource, scanAll } from "./_files.ts";
import { readState } from "./_states.ts";

function golden(name: string): Uint8Array {
  return new Uint8Array(readFileSync(new URL(`../../golden/${name}`, import.meta.url)));
}

describe("golden files of format version 1", () => {
  for (const name of ["lz4", "none"] as const) {
    test(`a change file, ${name}, is read`, async () => {
      const source = new MemorySource(golden(`change_file_v1_${name}.cborseq.lz4`));
      const file = await readHeader(source);
      assert.deepEqual(file.header, HEADER);
      const { batches, end } = await scanAll(source);
      assert.deepEqual(end, { kind: "end-frame", at: source.size });
      const backwards = [];
      for await (const batch of batchesBackwards(source, batches[2].end, file)) {
        backwards.unshift(batch);
      }
      assert.deepEqual(backwards, batches);
      assert.equal(batches.length, BATCHES.length);
      for (const [i, batch] of batches.entries()) {
        await verifyBatchContent(source, batch);
        const wanted = BATCHES[i].map(changeSetOf);
        for await (const { entry, bytes } of readSets(source, batch, batch.sets)) {
          const { chunks, ...facts } = wanted[batch.sets.indexOf(entry)];
          const { bodyOffset: _offset, headerLength: _length, ...found } = entry;
          assert.deepEqual(found, facts);
          assert.ok(sameBytes(bytes, join(chunks)));
        }
      }
    });
  }

  test("a change file without compression is still written byte by byte the same", () => {
    assert.ok(sameBytes(encodeGoldenFile("none"), golden("change_file_v1_none.cborseq.lz4")));
  });

  for (const name of ["lz4", "none"] as const) {
    test(`a state object, ${name}, is read`, async () => {
      const read = await readState(new MemorySource(golden(`state_v1_${name}.lz4`)));
      assert.deepEqual(read.header, STATE_HEADER);
      assert.ok(sameBytes(read.content, STATE_CONTENT));
    });
  }

  test("a state object without compression is still written byte by byte the same", () => {
    assert.ok(sameBytes(encodeGoldenState("none"), golden("state_v1_none.lz4")));
  });

  test("a small fact is read, and still written the same", () => {
    const bytes = golden("fact_v1.json");
    assert.deepEqual(decodeFact("golden", "fact_v1.json", bytes), FACT);
    assert.ok(sameBytes(encodeFact("golden", FACT), bytes));
  });
});
