/** What tools that know nothing of us make of a change file: `lz4` and another CBOR library. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join as joinPath } from "node:path";
import { describe, test } from "node:test";
import { decodeFirst } from "cborg";
import { sameBytes } from "../../../src/engine/format/_bytes.ts";
import type { ChangeSet } from "../../../src/engine/format/change_set.ts";
import { SeededRandom } from "../../doubles/seeded_random.ts";
import { encodeState } from "./_states.ts";
import { changeSet, encodeFile, HEADER, join, randomBytes, text } from "./_files.ts";

const lz4 = spawnSync("lz4", ["--version"]);
const needsLz4 = { skip: lz4.error === undefined ? false : "lz4 is not installed" };

const KIB = 1024;
const random = new SeededRandom(11);

/** Three batches; the second has several blocks of data that shrinks, and some that does not. */
const BATCHES: ChangeSet[][] = [
  [changeSet([{ keyGroup: -1, data: text("metadata") }], {
    writer: "a",
    sequenceNumber: 0,
    firstOffset: 0,
  })],
  [
    changeSet(manyRows(1500), { writer: "a", sequenceNumber: 1, firstOffset: 1 }),
    changeSet([{ keyGroup: 5, data: randomBytes(random, 300 * KIB) }], {
      writer: "b",
      sequenceNumber: 0,
      firstOffset: 2 ** 40,
    }),
  ],
  [changeSet([{ keyGroup: 2 ** 31 - 1, data: text("") }], {
    writer: "c",
    sequenceNumber: 9,
    firstOffset: 7,
  })],
];

function manyRows(count: number): { keyGroup: number; data: Uint8Array }[] {
  return Array.from({ length: count }, (_, i) => ({
    keyGroup: i % 128,
    data: text(
      JSON.stringify({ word: `word-${i % 97}`, count: i, of: "a row that repeats itself" }),
    ),
  }));
}

/** Runs `lz4` on a file of these bytes. */
function runLz4(bytes: Uint8Array, flags: string[]): { status: number | null; stdout: Uint8Array } {
  const folder = mkdtempSync(joinPath(tmpdir(), "tidemark-lz4-"));
  try {
    const path = joinPath(folder, "file.cborseq.lz4");
    writeFileSync(path, bytes);
    const { status, stdout } = spawnSync("lz4", [...flags, path], { maxBuffer: 64 * KIB * KIB });
    return { status, stdout: new Uint8Array(stdout) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The items of a CBOR sequence. */
function decodeSequence(bytes: Uint8Array): unknown[] {
  const items: unknown[] = [];
  for (let rest = bytes; rest.length > 0;) {
    const [item, left] = decodeFirst(rest);
    items.push(item);
    rest = left;
  }
  return items;
}

function checkSequence(bytes: Uint8Array): void {
  const items = decodeSequence(bytes);
  for (const set of BATCHES.flat()) {
    const { writer, epoch, sequenceNumber, firstOffset, count, byteLength } = set;
    const item = items.shift();
    assert.deepEqual(item, [writer, epoch, sequenceNumber, firstOffset, count, byteLength]);
    const changes = items.splice(0, count) as [number, Uint8Array][];
    const wanted = decodeSequence(join(set.chunks)) as [number, Uint8Array][];
    assert.equal(changes.length, wanted.length);
    changes.forEach(([keyGroup, data], i) => {
      assert.equal(keyGroup, wanted[i][0]);
      assert.ok(sameBytes(data, wanted[i][1]));
    });
  }
  assert.deepEqual(items, []);
}

describe("a state object", () => {
  const content = join([randomBytes(random, 300 * KIB), text("spring tide ".repeat(40_000))]);
  for (const compression of ["lz4", "none"] as const) {
    for (const blockBytes of [64 * KIB, 256 * KIB, 4 * KIB * KIB]) {
      for (const [size, state] of [["many bytes", content], ["none", text("")]] as const) {
        test(
          `of ${size}, ${compression}, blocks of ${blockBytes}, is read by lz4`,
          needsLz4,
          () => {
            const { bytes } = encodeState([state], { compression, blockBytes });
            assert.equal(runLz4(bytes, ["-t"]).status, 0);
            const { status, stdout } = runLz4(bytes, ["-dc"]);
            assert.equal(status, 0);
            assert.ok(sameBytes(stdout, state));
          },
        );
      }
    }
  }
});

describe("a change file", () => {
  for (const compression of ["lz4", "none"] as const) {
    for (const blockBytes of [64 * KIB, 256 * KIB, 4 * KIB * KIB]) {
      const { parts, bytes } = encodeFile(HEADER, BATCHES, { compression, blockBytes });
      const files = { sealed: bytes, unsealed: join(parts.slice(0, -1)) };
      for (const [state, file] of Object.entries(files)) {
        test(
          `${state}, ${compression}, blocks of ${blockBytes}, is read by lz4 and cborg`,
          needsLz4,
          () => {
            assert.equal(runLz4(file, ["-t"]).status, 0);
            const { status, stdout } = runLz4(file, ["-dc"]);
            assert.equal(status, 0);
            checkSequence(stdout);
          },
        );
      }
    }
  }

  test("with bad content is refused by lz4 -t", needsLz4, () => {
    const { bytes, batches } = encodeFile(HEADER, BATCHES, {
      compression: "none",
      blockBytes: 64 * KIB,
    });
    bytes[batches[1].position + 1000] ^= 1;
    assert.notEqual(runLz4(bytes, ["-t"]).status, 0);
  });
});
