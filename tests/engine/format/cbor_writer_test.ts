import { encode } from "cborg";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CborWriter } from "../../../src/engine/format/_cbor_writer.ts";

/** What a writer makes, as an array of its own. */
function written(write: (writer: CborWriter) => void, writer = new CborWriter()): number[] {
  writer.clear();
  write(writer);
  return [...writer.bytes];
}

describe("CborWriter makes what another library makes of", () => {
  const edges = [0, 23, 24, 0xff, 0x100, 0xffff, 0x10000, 0xffffffff, 0x100000000, 2 ** 53 - 1];

  test("whole numbers at every edge of a head, and -1", () => {
    for (const edge of [-1, ...edges]) {
      assert.deepEqual(written((writer) => writer.integer(edge)), [...encode(edge)], `${edge}`);
    }
  });

  test("texts and byte strings, longer than what it began with", () => {
    for (const length of [0, 23, 24, 128, 255, 256, 5000]) {
      const text = "a".repeat(length);
      const bytes = new Uint8Array(length).fill(7);
      assert.deepEqual(written((writer) => writer.text(text)), [...encode(text)]);
      assert.deepEqual(written((writer) => writer.byteString(bytes)), [...encode(bytes)]);
    }
  });

  test("u64s, which always take eight bytes", () => {
    const hash = 0xfedc_ba98_7654_3210n;
    assert.deepEqual(written((writer) => writer.hash(hash)), [...encode(hash)]);
    assert.deepEqual(written((writer) => writer.hash(1n)), [0x1b, 0, 0, 0, 0, 0, 0, 0, 1]);
  });

  test("arrays of them, again and again with the same writer", () => {
    const writer = new CborWriter();
    for (const length of [0, 3, 24, 300]) {
      const numbers = Array.from({ length }, (_, i) => i * 1000);
      const write = (): void => {
        writer.array(length);
        for (const number of numbers) writer.integer(number);
      };
      assert.deepEqual(written(write, writer), [...encode(numbers)]);
    }
  });
});
