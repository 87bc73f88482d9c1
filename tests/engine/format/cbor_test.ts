import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import process from "node:process";
import { describe, test } from "node:test";
import { cborCount, decodeCbor, encodeCbor } from "../../../src/engine/format/_cbor.ts";
import { Malformed } from "../../../src/engine/format/_malformed.ts";
import { hex } from "./_files.ts";

describe("CBOR through cbor-x", () => {
  test("writes whole numbers as whole numbers, byte strings without a tag", () => {
    const counts = [0, 23, 24, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1].map(cborCount);
    assert.equal(
      hex(encodeCbor([...counts, Uint8Array.of(1, 2), "é", 2n ** 64n - 1n])),
      "89001718181affffffff1b00000001000000001b001fffffffffffff42010262c3a91bffffffffffffffff",
    );
  });

  test("reads what it writes", () => {
    const value = { a: [1, "b", 2n ** 60n, new Uint8Array(3)], c: [] };
    const read = decodeCbor(encodeCbor(value).slice()) as typeof value;
    assert.equal(hex(encodeCbor(read)), hex(encodeCbor(value)));
    assert.equal(read.a[2], 2n ** 60n);
  });

  test("refuses tags, floats, simple values, indefinite lengths and what does not end", () => {
    for (
      const bad of [
        "c100",
        "f93c00",
        "f6",
        "f4",
        "9fff",
        "5fff",
        "8100ff",
        "82",
        "8200",
        "42ff",
        "",
        "1c",
      ]
    ) {
      const bytes = Uint8Array.from(bad.match(/../g) ?? [], (byte) => parseInt(byte, 16));
      assert.throws(() => decodeCbor(bytes), Malformed, bad);
    }
  });

  test("comes by an entry that loads nothing else: no addon, no other module", () => {
    const path = createRequire(import.meta.url).resolve("cbor-x/index-no-eval");
    const source = readFileSync(path, "utf8");
    assert.match(path, /index-no-eval/);
    assert.doesNotMatch(source, /\brequire\s*\(|\bimport\s*\(|process\.dlopen|new Function/);
  });

  test("has loaded no native module", {
    skip: process.report?.getReport === undefined ? "this runtime has no process report" : false,
  }, () => {
    const report = process.report!.getReport() as { sharedObjects?: string[] };
    const addons = (report.sharedObjects ?? []).filter((path) => path.includes("cbor"));
    assert.deepEqual(addons, []);
  });
});
