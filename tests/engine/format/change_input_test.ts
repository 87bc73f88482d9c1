import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { hasCode, type TidemarkError } from "../../../src/engine/errors.ts";
import {
  changesFromCborArray,
  changesFromCborSequence,
  changesFromJson,
  changesFromLines,
  changesFromNdjson,
  encodeChanges,
} from "../../../src/engine/format/change_input.ts";
import { scanChanges } from "../../../src/engine/format/change_scan.ts";
import type { Change } from "../../../src/engine/types.ts";
import { withAllocationsBelow } from "./_allocations.ts";
import { anyChange, anyEncoding, encodeAs, head, readSlowly } from "./_changes.ts";
import { hex, join, text } from "./_files.ts";

const anyEncoded = fc.array(fc.tuple(anyChange, anyEncoding), { maxLength: 6 });

/** What `read` refuses, with its place. */
function refusal(read: () => unknown): TidemarkError {
  try {
    read();
  } catch (error) {
    if (hasCode(error, "invalid-change") || hasCode(error, "change-too-large")) return error;
    throw error;
  }
  throw new assert.AssertionError({ message: "It was taken" });
}

describe("changesFromCborSequence", () => {
  test("keeps preferred bytes without a copy", () => {
    const { bytes } = encodeChanges([{ keyGroup: 5, data: text("a") }, {
      keyGroup: -1,
      data: text(""),
    }]);
    const read = changesFromCborSequence(bytes);
    assert.equal(read.bytes, bytes);
    assert.deepEqual([read.count, read.keyGroupMin, read.keyGroupMax], [2, -1, 5]);
    assert.deepEqual(changesFromCborSequence(new Uint8Array(0)), encodeChanges([]));
  });

  test("rewrites every other valid encoding", () => {
    fc.assert(fc.property(anyEncoded, (items) => {
      const bytes = join(items.map(([change, encoding]) => encodeAs(change, encoding)));
      const before = hex(bytes);
      assert.deepEqual(
        changesFromCborSequence(bytes),
        encodeChanges(items.map(([change]) => change)),
      );
      assert.equal(hex(bytes), before, "the input stays as it is");
    }));
  });

  test("takes just what a slow and simple reader takes, whatever the bytes", () => {
    const damaged = fc.tuple(
      anyEncoded,
      fc.nat(),
      fc.nat({ max: 255 }),
      fc.constantFrom("set", "cut", "insert"),
    );
    fc.assert(
      fc.property(damaged, ([items, place, byte, how]) => {
        const bytes = join(items.map(([change, encoding]) => encodeAs(change, encoding)));
        const at = place % (bytes.length + 1);
        const rest = bytes.subarray(how === "set" ? at + 1 : at);
        const parts = [bytes.subarray(0, at), Uint8Array.of(byte), rest];
        checkAgainstSlowReader(how === "cut" ? bytes.slice(0, at) : join(parts));
      }),
      { numRuns: 1000 },
    );
  });

  test("names the change and the byte where the trouble is", () => {
    const good = encodeChanges([{ keyGroup: 0, data: text("x") }]).bytes;
    const cases: [number[], number, RegExp][] = [
      [[0x83, 0, 0x40, 0], 4, /array of 2 items.*found one of 3/],
      [[0x01], 4, /wants an array, found 1;/],
      [[0x82, 0x3a, 0, 0, 0, 1, 0x40], 5, /key group.*found -2;/],
      [[0x82, 0, 0x61, 0x61], 6, /byte string, found a text string/],
      [
        [0x82, 0, 0xd8, 0x40, 0x40],
        6,
        /found a tag; a typed array must be sent as a plain byte string/,
      ],
      [[0x82, 0, 0x5f, 0x61, 0x61, 0xff], 7, /chunk.*found a text string/],
      [[0x82, 0, 0x5f, 0x5f, 0xff, 0xff], 7, /chunk.*definite/],
      [[0x9f, 0, 0x40, 0x00, 0xff], 7, /end of an array of 2 items, found more items/],
      [[0x9f, 0, 0xff], 6, /byte string, found a break/],
      [[0x82, 0x1c], 5, /0x1c, which means nothing/],
      [[0x82, 0], 6, /found the end of the bytes/],
      [[0x82, 0, 0x45, 1, 2], 6, /byte string of 5 bytes, found only 2/],
    ];
    for (const [bad, position, reason] of cases) {
      const error = refusal(() => changesFromCborSequence(join([good, Uint8Array.from(bad)])));
      assert.deepEqual([error.code, error.details.index], ["invalid-change", 1], error.message);
      assert.equal(error.details.position, position, error.message);
      assert.match(error.message, reason);
    }
  });

  test("never believes a length", async () => {
    await withAllocationsBelow(100_000, () => {
      for (const value of [2 ** 28, 2 ** 28 + 1, 2 ** 32 - 1, 2 ** 40, 2 ** 63]) {
        const string = join([head(2, value, 0), new Uint8Array(100)]);
        for (const front of [[0x82, 0], [0x9f, 0], [0x82, 0, 0x5f], [0x82, 0, 0x5f, 0x41, 7]]) {
          const error = refusal(() =>
            changesFromCborSequence(join([Uint8Array.from(front), string]))
          );
          const isLarge = value + (front.length === 5 ? 1 : 0) > 2 ** 28;
          assert.equal(
            error.code,
            isLarge ? "change-too-large" : "invalid-change",
            `${front} ${value}`,
          );
        }
        refusal(() => changesFromCborArray(join([head(4, value, 0), new Uint8Array(100)])));
        refusal(() => changesFromCborSequence(head(4, value, 0)));
      }
      return Promise.resolve();
    });
  });

  test("does not go deep", () => {
    for (const byte of [0x81, 0x82, 0x9f, 0x5f, 0xc1, 0xa1, 0xbf]) {
      const deep = new Uint8Array(1_000_000).fill(byte);
      for (const read of [changesFromCborSequence, changesFromCborArray, changesFromNdjson]) {
        assert.equal(refusal(() => read(deep)).code, "invalid-change");
      }
    }
  });
});

function checkAgainstSlowReader(bytes: Uint8Array): void {
  const wanted: Change[] = [];
  for (let at = 0; at < bytes.length;) {
    const read = readSlowly(bytes, at);
    if (read === undefined) {
      const error = refusal(() => changesFromCborSequence(bytes));
      assert.equal(error.details.index, wanted.length, `${hex(bytes)}: ${error.message}`);
      assert.ok(error.details.position as number >= at, hex(bytes));
      return;
    }
    wanted.push(read.change);
    at = read.end;
  }
  assert.deepEqual(changesFromCborSequence(bytes), encodeChanges(wanted), hex(bytes));
}

describe("changesFromCborArray", () => {
  test("reads arrays of every valid encoding", () => {
    fc.assert(
      fc.property(
        anyEncoded,
        fc.constantFrom(0, 1, 2, 4, 8),
        fc.boolean(),
        (items, width, indefinite) => {
          const bytes = join([
            indefinite ? Uint8Array.of(0x9f) : head(4, items.length, width),
            ...items.map(([change, encoding]) => encodeAs(change, encoding)),
            Uint8Array.from(indefinite ? [0xff] : []),
          ]);
          assert.deepEqual(
            changesFromCborArray(bytes),
            encodeChanges(items.map(([change]) => change)),
          );
          refusal(() => changesFromCborArray(bytes.subarray(0, bytes.length - 1)));
          refusal(() => changesFromCborArray(join([bytes, Uint8Array.of(0)])));
        },
      ),
    );
  });

  test("keeps preferred bytes without a copy", () => {
    const { bytes } = encodeChanges([{ keyGroup: 5, data: text("a") }]);
    for (
      const array of [
        join([Uint8Array.of(0x81), bytes]),
        join([Uint8Array.of(0x9f), bytes, Uint8Array.of(0xff)]),
      ]
    ) {
      const read = changesFromCborArray(array);
      assert.equal(read.bytes.buffer, array.buffer);
      assert.equal(hex(read.bytes), hex(bytes));
    }
  });

  test("refuses a count that does not fit", () => {
    const { bytes } = encodeChanges([{ keyGroup: 5, data: text("a") }, {
      keyGroup: 5,
      data: text("b"),
    }]);
    for (const count of [0, 1]) {
      const error = refusal(() => changesFromCborArray(join([head(4, count, 0), bytes])));
      assert.match(error.message, /nothing after the array/);
    }
    assert.match(
      refusal(() => changesFromCborArray(join([head(4, 3, 0), bytes]))).message,
      /of 3 changes/,
    );
    assert.match(
      refusal(() => changesFromCborArray(Uint8Array.of(0xa0))).message,
      /wants an array of changes/,
    );
    assert.match(
      refusal(() => changesFromCborArray(new Uint8Array(0))).message,
      /end of the bytes/,
    );
  });
});

describe("changesFromNdjson", () => {
  test("reads text and base64, key group 0 by default, and passes over blank lines", () => {
    const lines =
      '{"keyGroup":7,"data":"é\\n"}\r\n\n{"data":""}\n  \n{"base64":"AP/+","keyGroup":-1}';
    assert.deepEqual(
      changesFromNdjson(text(lines)),
      encodeChanges([
        { keyGroup: 7, data: text("é\n") },
        { keyGroup: 0, data: text("") },
        { keyGroup: -1, data: Uint8Array.of(0, 255, 254) },
      ]),
    );
  });

  test("refuses all else, with the line's place", () => {
    const first = '{"data":"a"}\n';
    const bad = [
      "[]",
      "1",
      "null",
      "{",
      "{}",
      '{"data":1}',
      '{"data":"a","base64":""}',
      '{"data":"a","more":1}',
      '{"end":{"count":1}}',
      '{"keyGroup":1.5,"data":""}',
      '{"keyGroup":"1","data":""}',
      '{"keyGroup":null,"data":""}',
      '{"keyGroup":-2,"data":""}',
      '{"keyGroup":2147483648,"data":""}',
      '{"data":"\\ud800"}',
      '{"base64":"A"}',
      '{"base64":"AA"}',
      '{"base64":"AB=="}',
      '{"base64":"AAB="}',
      '{"base64":"A==="}',
      '{"base64":"AA==AA=="}',
      '{"base64":"A A="}',
      '{"base64":"A-_A"}',
      '{"base64":"ÄÄÄÄ"}',
      '\ufeff{"data":"a"}',
    ];
    for (const line of bad) {
      const error = refusal(() => changesFromNdjson(text(first + line)));
      assert.deepEqual([error.code, error.details.index], ["invalid-change", 1], line);
      assert.equal(error.details.position, first.length, line);
    }
    refusal(() => changesFromNdjson(Uint8Array.of(0x22, 0xff, 0x22)));
  });
});

describe("changesFromJson", () => {
  test("reads one array of what lines may be, wherever blanks stand", () => {
    const array =
      ' [\n{"keyGroup":7,"data":"é],[\\"\\n"} ,{"data":""}\r\n,{"base64":"AP/+","keyGroup":-1}]\t';
    assert.deepEqual(
      changesFromJson(text(array)),
      encodeChanges([
        { keyGroup: 7, data: text('é],["\n') },
        { keyGroup: 0, data: text("") },
        { keyGroup: -1, data: Uint8Array.of(0, 255, 254) },
      ]),
    );
    assert.equal(changesFromJson(text(" [ ] ")).count, 0);
  });

  test("refuses all else, with the change's place", () => {
    const bad = ["", "{}", "[", "[,]", "]", '[{"data":"a"}', '[{"data":"a"}}', "[[]]", "[1]", '["'];
    for (const array of bad) {
      const error = refusal(() => changesFromJson(text(array)));
      assert.deepEqual([error.code, error.details.index], ["invalid-change", 0], array);
    }
    const later = [
      '[{"data":"a"},]',
      '[{"data":"a"}, {"data":1}]',
      '[{"data":"a"}] x',
      '[{"data":"a"},',
    ];
    for (const array of later) {
      const error = refusal(() => changesFromJson(text(array)));
      assert.deepEqual([error.code, error.details.index], ["invalid-change", 1], array);
      assert.ok(Number(error.details.position) >= 14, array);
    }
  });
});

describe("changesFromLines", () => {
  test("makes each line a change", () => {
    const of = (...lines: string[]) =>
      encodeChanges(lines.map((line) => ({ keyGroup: 0, data: text(line) })));
    assert.deepEqual(changesFromLines(text("a\r\n\nbc")), of("a\r", "", "bc"));
    assert.deepEqual(changesFromLines(text("a\n")), of("a"));
    assert.deepEqual(changesFromLines(text("\n")), of(""));
    assert.deepEqual(changesFromLines(text("")), of());
  });

  test("takes any bytes", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      const scan = scanChanges(changesFromLines(bytes).bytes);
      const lines = Array.from({ length: scan.count }, (_, i) => [...scan.data(i), 10]).flat();
      if (bytes.length > 0 && bytes[bytes.length - 1] !== 10) lines.pop();
      assert.deepEqual(lines, [...bytes]);
    }));
  });
});

describe("encodeChanges", () => {
  test("refuses key groups out of range as misuse", () => {
    for (const keyGroup of [-2, 0.5, 2 ** 31, NaN]) {
      assert.throws(() => encodeChanges([{ keyGroup, data: text("") }]), RangeError);
    }
  });

  test("refuses a change above the cap", () => {
    const data = { length: 256 * 1024 * 1024 + 1 } as Uint8Array;
    assert.equal(refusal(() => encodeChanges([{ keyGroup: 0, data }])).code, "change-too-large");
  });
});
