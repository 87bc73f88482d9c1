import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../../../src/engine/errors.ts";
import { decodeFact, encodeFact } from "../../../src/engine/format/fact.ts";
import { xxh64 } from "../../../wasm/mod.ts";
import { text } from "./_files.ts";

const BODY = { job: "word-count", epoch: 3, text: "é", list: [1, null] };
const KEY = "jobs/word-count/owners/x.json";

describe("a small fact", () => {
  test("is two lines of JSON", () => {
    const bytes = encodeFact("owner", BODY);
    const [first, second, rest] = new TextDecoder().decode(bytes).split("\n");
    const envelope = JSON.parse(first);
    assert.deepEqual(JSON.parse(second), BODY);
    assert.equal(rest, "");
    assert.deepEqual(Object.keys(envelope), ["kind", "version", "length", "xxh64"]);
    assert.equal(envelope.length, bytes.length - first.length - 1);
    assert.deepEqual(decodeFact("owner", KEY, bytes), BODY);
  });

  test("cut at any byte, or with any bit flipped, is corrupt", () => {
    const bytes = encodeFact("owner", BODY);
    for (let cut = 0; cut < bytes.length; cut++) checkCorrupt(bytes.slice(0, cut));
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = bytes.slice();
      flipped[bit >> 3] ^= 1 << (bit & 7);
      checkCorrupt(flipped);
    }
    checkCorrupt(text(new TextDecoder().decode(bytes) + "\n"));
  });

  test("of another kind is corrupt", () => {
    assert.throws(() => decodeFact("catalog", KEY, encodeFact("owner", BODY)), (error) => {
      assert.ok(hasCode(error, "corrupt"));
      assert.match(error.message, /Cannot read the catalog "jobs.*kind owner/);
      return true;
    });
  });

  test("of a newer format is refused, if it is whole", () => {
    const front = '{"kind":"owner","version":2,"length":3,"xxh64":"';
    const hash = xxh64(text(front), text("{}\n")).toString(16).padStart(16, "0");
    const newer = text(`${front}${hash}"}\n{}\n`);
    assert.throws(
      () => decodeFact("owner", KEY, newer),
      (error) => hasCode(error, "unsupported-format"),
    );
    newer[newer.length - 3] ^= 1;
    checkCorrupt(newer);
  });

  test("refuses as misuse what is not JSON, and a kind that is no name", () => {
    assert.throws(() => encodeFact("owner", undefined), TypeError);
    assert.throws(() => encodeFact("owner", 1n), TypeError);
    assert.throws(() => encodeFact('"', {}), TypeError);
  });
});

function checkCorrupt(bytes: Uint8Array): void {
  assert.throws(() => decodeFact("owner", KEY, bytes), (error) => {
    assert.ok(hasCode(error, "corrupt"), String(error));
    assert.equal(error.details.key, KEY);
    assert.ok(Number.isInteger(error.details.from));
    return true;
  });
}
