import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { hasCode } from "../../../src/engine/errors.ts";
import { encodeChange, encodedChangeBytes } from "../../../src/engine/format/change.ts";
import { encodeChanges } from "../../../src/engine/format/change_input.ts";
import {
  type ChangeScan,
  scanChangePrefix,
  scanChanges,
} from "../../../src/engine/format/change_scan.ts";
import type { Change } from "../../../src/engine/types.ts";
import { withAllocationsBelow } from "./_allocations.ts";
import { anyChange, anyEncoding, encodeAs, head, readSlowly } from "./_changes.ts";
import { hex, join } from "./_files.ts";

const PREFERRED = { widths: [0, 0, 0], indefiniteArray: false, chunks: undefined } as const;

function changesOf(scan: ChangeScan): Change[] {
  return Array.from(
    { length: scan.count },
    (_, i) => ({ keyGroup: scan.keyGroup(i), data: scan.data(i) }),
  );
}

describe("encodeChange", () => {
  test("writes the preferred encoding, in as many bytes as it says", () => {
    fc.assert(fc.property(anyChange, ({ keyGroup, data }) => {
      const wanted = encodeAs({ keyGroup, data }, PREFERRED);
      const target = new Uint8Array(wanted.length + 10).fill(0xee);
      assert.equal(encodedChangeBytes(keyGroup, data.length), wanted.length);
      assert.equal(encodeChange(target, 3, keyGroup, data), 3 + wanted.length);
      assert.equal(hex(target), "eeeeee" + hex(wanted) + "ee".repeat(7));
    }));
  });

  test("writes changes of 64 KiB and more", () => {
    for (const length of [65535, 65536, 70000]) {
      const data = new Uint8Array(length).fill(7);
      const { bytes } = encodeChanges([{ keyGroup: 1, data }]);
      assert.equal(bytes.length, encodedChangeBytes(1, length));
      assert.deepEqual(changesOf(scanChanges(bytes)), [{ keyGroup: 1, data }]);
    }
  });
});

describe("scanChanges", () => {
  test("finds what was encoded", () => {
    fc.assert(fc.property(fc.array(anyChange), (changes) => {
      const { bytes, ...encoded } = encodeChanges(changes);
      const scan = scanChanges(bytes);
      assert.deepEqual(changesOf(scan), changes);
      const { count, keyGroupMin, keyGroupMax } = scan;
      assert.deepEqual({ count, keyGroupMin, keyGroupMax }, encoded);
      for (let i = 0; i < count; i++) {
        assert.equal(scan.itemStart(i), i === 0 ? 0 : scan.itemEnd(i - 1));
        assert.equal(scan.dataEnd(i), scan.itemEnd(i));
      }
    }));
  });

  test("finds more changes than it makes room for at first", () => {
    const { bytes } = encodeChanges(
      Array.from(
        { length: 5000 },
        (_, keyGroup) => ({ keyGroup, data: Uint8Array.of(keyGroup & 255) }),
      ),
    );
    const scan = scanChanges(bytes);
    assert.equal(scan.count, 5000);
    assert.deepEqual([scan.keyGroup(4999), ...scan.data(4999)], [4999, 4999 & 255]);
  });

  test("looks only at the bytes it is told to", () => {
    const { bytes } = encodeChanges([{ keyGroup: 1, data: new Uint8Array(5) }]);
    const whole = join([Uint8Array.of(0xff), bytes, Uint8Array.of(0xff)]);
    const scan = scanChanges(whole, { from: 1, to: 1 + bytes.length });
    assert.deepEqual([scan.count, scan.itemStart(0), scan.end], [1, 1, 1 + bytes.length]);
    assert.throws(() => scanChanges(whole, { from: 1, to: bytes.length }), isCorrupt);
    assert.throws(() => scanChanges(whole, { from: 2, to: 1 }), RangeError);
    assert.throws(() => scan.keyGroup(1), RangeError);
  });

  test("takes preferred encodings only", () => {
    fc.assert(fc.property(anyChange, anyEncoding, (change, encoding) => {
      const bytes = encodeAs(change, encoding);
      const read = readSlowly(bytes, 0);
      if (read?.preferred) assert.equal(scanChanges(bytes).count, 1);
      else assert.throws(() => scanChanges(bytes), isCorrupt);
    }));
  });

  test("cut at any byte finds the whole changes before", () => {
    fc.assert(fc.property(fc.array(anyChange, { minLength: 1, maxLength: 4 }), (changes) => {
      const { bytes } = encodeChanges(changes);
      const whole = scanChanges(bytes);
      for (let cut = 0; cut < bytes.length; cut++) {
        const count = changes.findIndex((_, i) => whole.itemEnd(i) > cut);
        const prefix = scanChangePrefix(bytes.slice(0, cut));
        assert.equal(prefix.count, count);
        assert.equal(prefix.end, count === 0 ? 0 : whole.itemEnd(count - 1));
        const isWhole = prefix.end === cut;
        if (isWhole) assert.equal(scanChanges(bytes.slice(0, cut)).count, count);
        else assert.throws(() => scanChanges(bytes.slice(0, cut)), isCorrupt);
        assert.equal(scanChangePrefix(bytes, { to: cut }).count, count);
      }
    }));
  });

  test("says what is wrong, and where", () => {
    const good = encodeChanges([{ keyGroup: 0, data: new Uint8Array(1) }]).bytes;
    const cases: [string, number, RegExp][] = [
      ["83000040", 4, /array of 2, found 3/],
      ["a0", 4, /array of a key group.*found a map/],
      ["820740ff", 7, /found a break|array of a key group/],
      ["82214100", 5, /key group from -1.*found a negative number/],
      ["821800400000", 5, /key group.*another encoding/],
      ["82006100", 6, /byte string.*found a text string/],
      ["8200580100", 6, /byte string.*another encoding/],
      ["82005a10000001", 6, /at most 268435456 bytes/],
      ["82005b0000000100000000", 6, /at most 268435456 bytes/],
      ["82005c", 6, /without meaning/],
      ["820042ff", 4, /needs 5 bytes, has 4/],
      ["8200", 4, /head needs more than the 2 bytes/],
    ];
    for (const [bad, position, reason] of cases) {
      const bytes = join([good, Uint8Array.from(bad.match(/../g)!, (byte) => parseInt(byte, 16))]);
      assert.throws(() => scanChanges(bytes, { what: "set 3", key: "a/b" }), (error: unknown) => {
        assert.ok(hasCode(error, "corrupt"), String(error));
        assert.match(error.message, reason);
        assert.match(error.message, /set 3 of "a\/b"/);
        assert.equal(error.details.position, bad === "820740ff" ? 7 : position, bad);
        assert.equal(error.details.key, "a/b");
        return true;
      });
    }
  });

  test("never believes a length", async () => {
    await withAllocationsBelow(100_000, () => {
      for (const value of [2 ** 16, 2 ** 28, 2 ** 31, 2 ** 32 - 1, 2 ** 40, 2 ** 63]) {
        const bytes = join([Uint8Array.of(0x82, 0), head(2, value, 0), new Uint8Array(100)]);
        assert.throws(() => scanChanges(bytes), isCorrupt);
      }
      return Promise.resolve();
    });
  });
});

function isCorrupt(error: unknown): boolean {
  return hasCode(error, "corrupt");
}
