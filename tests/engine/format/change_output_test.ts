import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { hasCode } from "../../../src/engine/errors.ts";
import {
  changesFromLines,
  changesFromNdjson,
  encodeChanges,
} from "../../../src/engine/format/change_input.ts";
import { toLines, toNdjson } from "../../../src/engine/format/change_output.ts";
import { anyChange } from "./_changes.ts";
import { hex, text } from "./_files.ts";

const decoder = new TextDecoder();

test("toNdjson writes text where the data is UTF-8, and base64 where it is not", () => {
  const { bytes } = encodeChanges([
    { keyGroup: 0, data: text('"é\n\u2028') },
    { keyGroup: -1, data: Uint8Array.of(0xff) },
    { keyGroup: 3, data: Uint8Array.of(0xef, 0xbb, 0xbf) },
  ]);
  assert.deepEqual(decoder.decode(toNdjson(bytes)).split("\n"), [
    '{"keyGroup":0,"data":"\\"é\\n\u2028"}',
    '{"keyGroup":-1,"base64":"/w=="}',
    '{"keyGroup":3,"data":"\ufeff"}',
    "",
  ]);
});

test("toNdjson writes what changesFromNdjson reads", () => {
  fc.assert(fc.property(fc.array(anyChange), (changes) => {
    const { bytes } = encodeChanges(changes);
    assert.equal(hex(changesFromNdjson(toNdjson(bytes)).bytes), hex(bytes));
  }));
});

test("toLines writes each change's data and a newline", () => {
  const lines = text("a\r\n\nbc\n");
  assert.equal(hex(toLines(changesFromLines(lines).bytes)), hex(lines));
});

test("toNdjson and toLines refuse what is not encoded changes", () => {
  for (const write of [toNdjson, toLines]) {
    assert.throws(() => write(Uint8Array.of(1)), (error) => hasCode(error, "corrupt"));
  }
});
