/** Files whose checksums hold, but which say what can't be: nothing is believed for its checksum's sake. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../../../src/engine/errors.ts";
import { encodeCbor } from "../../../src/engine/format/_cbor.ts";
import {
  END_FRAME,
  type FrameKind,
  HEADER_FRAME,
  INDEX_FRAME,
  openFrame,
  sealFrame,
} from "../../../src/engine/format/_frame.ts";
import { encodeIndex } from "../../../src/engine/format/_index.ts";
import { LZ4_TAIL_BYTES } from "../../../src/engine/format/_lz4_frame.ts";
import type { Batch } from "../../../src/engine/format/change_file.ts";
import {
  ChangeFileScan,
  readBatchEndingAt,
  readHeader,
  readSets,
  verifyBatchContent,
} from "../../../src/engine/format/change_file_reader.ts";
import { Decoder } from "cbor-x/index-no-eval";
import { xxh64 } from "../../../wasm/mod.ts";
import { withAllocationsBelow } from "./_allocations.ts";
import { head } from "./_changes.ts";
import {
  encodeFile,
  HEADER,
  hex,
  join,
  MemorySource,
  OPTIONS,
  scanAll,
  smallSets,
  uuid,
} from "./_files.ts";

const SETS = smallSets().slice(1, 2);
const FILE = encodeFile(HEADER, SETS);
const [BATCH] = FILE.batches;
const decoder = new Decoder({ useRecords: false, tagUint8Array: false, mapsAsObjects: true });

function decodeItem(kind: FrameKind, frame: Uint8Array): unknown {
  return decoder.decode(openFrame(kind, frame).item);
}

const HEADER_FIELDS = decodeItem(HEADER_FRAME, FILE.parts[0]) as Record<string, unknown>;
const INDEX_FIELDS = decodeItem(
  INDEX_FRAME,
  FILE.bytes.subarray(BATCH.indexPosition, BATCH.end),
) as unknown[];

const isCorrupt = (error: unknown): boolean => hasCode(error, "corrupt");

function withHeaderItem(item: Uint8Array): MemorySource {
  return new MemorySource(join([sealFrame(HEADER_FRAME, item).bytes, ...FILE.parts.slice(1)]));
}

function withIndexItem(item: Uint8Array): { source: MemorySource; end: number } {
  const bytes = join([
    FILE.bytes.subarray(0, BATCH.indexPosition),
    sealFrame(INDEX_FRAME, item).bytes,
  ]);
  return { source: new MemorySource(bytes), end: bytes.length };
}

/** Checks that an index that says this is taken by nobody. */
async function checkIndexRefused(item: Uint8Array, label: string): Promise<void> {
  const { source, end } = withIndexItem(item);
  const found = await scanAll(source);
  assert.deepEqual([found.batches.length, found.end.kind], [0, "torn"], label);
  assert.equal(found.end.at, FILE.parts[0].length, label);
  await assert.rejects(readBatchEndingAt(source, end), isCorrupt, label);
}

function isU64(value: unknown): boolean {
  return typeof value === "bigint" || Number.isInteger(value) && Number(value) >= 0;
}

/** Values that are wrong in place of any other. */
const WRONG: readonly unknown[] = [
  null,
  true,
  "",
  "x",
  -1,
  1.5,
  [],
  [1],
  {},
  new Uint8Array(3),
  2n ** 53n,
  2n ** 64n - 1n,
];

describe("a forged header", () => {
  test("of a newer format is refused as such", async () => {
    const item = encodeCbor({ kind: "change-file", version: 2, more: [1] });
    const source = withHeaderItem(item);
    const isNewer = (error: unknown): boolean => hasCode(error, "unsupported-format");
    await assert.rejects(readHeader(source), isNewer);
    await assert.rejects(new ChangeFileScan(source).batches().next(), isNewer);
  });

  test("with any field wrong, missing or one too many is corrupt", async () => {
    const cases: Record<string, unknown>[] = [{ ...HEADER_FIELDS, more: 1 }];
    for (const field of Object.keys(HEADER_FIELDS)) {
      const rest = { ...HEADER_FIELDS };
      delete rest[field];
      cases.push(rest);
      for (const wrong of WRONG) {
        const isFine = field === "predecessors" && hex(encodeCbor(wrong)) === "80" ||
          field === "job" && wrong === "x" || field === "log" && wrong === "x";
        if (!isFine) cases.push({ ...HEADER_FIELDS, [field]: wrong });
      }
    }
    cases.push({ ...HEADER_FIELDS, predecessors: [[1, uuid(1)]] });
    cases.push({ ...HEADER_FIELDS, predecessors: [[2, uuid(1), 5]] });
    cases.push({ ...HEADER_FIELDS, version: 0 });
    for (const fields of cases) {
      const source = withHeaderItem(encodeCbor(fields));
      const label = hex(encodeCbor(fields));
      await assert.rejects(readHeader(source), isCorrupt, label);
      const { batches, end } = await scanAll(source);
      assert.deepEqual([batches.length, end.kind, end.at], [0, "torn", 0], label);
    }
  });

  test("of many predecessors is read whole", async () => {
    const predecessors = Array.from(
      { length: 300 },
      (_, i) => ({ number: i, uuid: uuid(i), syncedLength: i }),
    );
    const header = { ...HEADER, number: 1000, predecessors };
    const { bytes } = encodeFile(header, SETS);
    assert.deepEqual((await readHeader(new MemorySource(bytes))).header, header);
    assert.equal((await scanAll(new MemorySource(bytes))).batches.length, 1);
  });
});

describe("a forged index", () => {
  test("with any field wrong or missing is refused", async () => {
    for (let field = 0; field < INDEX_FIELDS.length; field++) {
      for (const wrong of [...WRONG, 0, 1, 65536]) {
        const fields = [...INDEX_FIELDS];
        fields[field] = wrong;
        if (hex(encodeCbor(fields)) === hex(encodeCbor(INDEX_FIELDS))) continue;
        const label = `field ${field}: ${String(wrong)}`;
        const { source, end } = withIndexItem(encodeCbor(fields));
        assert.equal((await scanAll(source)).batches.length, 0, label);
        // Epoch, number and hashes may be anything for all that the index alone can tell.
        if ([1, 2, 7, 8].includes(field) && isU64(wrong)) continue;
        await assert.rejects(readBatchEndingAt(source, end), isCorrupt, label);
      }
    }
    await checkIndexRefused(encodeCbor(INDEX_FIELDS.slice(1)), "one field less");
    await checkIndexRefused(encodeCbor([...INDEX_FIELDS, 1]), "one field more");
  });

  test("with any field of a change set wrong is refused, or found out when the set is read", async () => {
    const [first, second] = INDEX_FIELDS[9] as unknown[][];
    for (let field = 0; field < first.length; field++) {
      for (const wrong of [...WRONG, 0, 1, 4, 127]) {
        const set = [...first];
        if (set[field] === wrong) continue;
        set[field] = wrong;
        const fields = [...INDEX_FIELDS.slice(0, 9), [set, second]];
        const { source, end } = withIndexItem(encodeCbor(fields));
        const label = `field ${field}: ${String(wrong)}`;
        const batch = await readBatchEndingAt(source, end).catch((error) => {
          assert.ok(isCorrupt(error), `${label}: ${error}`);
          return undefined;
        });
        // The writer's own range stands nowhere else, so nothing can contradict it.
        if (batch === undefined || field === 1 || field === 2) continue;
        await assert.rejects(readAll(source, batch), isCorrupt, label);
      }
    }
  });

  test("of other change sets does not fit its body", async () => {
    const [first, second] = BATCH.sets;
    const forged: Batch["sets"][] = [
      [{ ...first, writer: "z" }, second],
      [{ ...first, sequenceNumber: 2 }, second],
      [{ ...first, count: first.count - 1 }, second],
      [{ ...first, keyGroupMin: 0 }, second],
      [{ ...first, keyGroupMax: 100 }, second],
    ];
    for (const sets of forged) {
      const { bytes } = encodeIndex({ ...BATCH, sets });
      const source = new MemorySource(join([FILE.bytes.subarray(0, BATCH.indexPosition), bytes]));
      const batch = await readBatchEndingAt(source, source.size);
      await assert.rejects(readAll(source, batch), isCorrupt);
      await assert.rejects(verifyBatchContent(source, batch), isCorrupt);
    }
  });

  test("with CBOR that is huge, deep, tagged, cut or followed by more is refused", async () => {
    const item = encodeCbor(INDEX_FIELDS).slice();
    const bad = [
      ...[2 ** 16, 2 ** 27, 2 ** 31, 2 ** 32 - 1, 2 ** 40, 2 ** 63].flatMap((value) =>
        [2, 3, 4, 5].map((major) => head(major, value, 0))
      ),
      new Uint8Array(100_000).fill(0x81),
      new Uint8Array(100_000).fill(0xc1),
      new Uint8Array(100_000).fill(0x9f),
      new Uint8Array(0),
      Uint8Array.of(0xf9, 0, 0),
      item.subarray(0, item.length - 1),
      join([item, Uint8Array.of(0)]),
      join([Uint8Array.of(0xd9, 0xd9, 0xf7), item]),
    ];
    for (const content of bad) {
      const { source, end } = withIndexItem(content);
      await withAllocationsBelow(256 * 1024, async () => {
        await assert.rejects(
          readBatchEndingAt(source, end),
          isCorrupt,
          hex(content.subarray(0, 20)),
        );
        assert.equal((await scanAll(source)).end.kind, "torn");
      });
    }
  });
});

describe("a forged frame", () => {
  /** The file with other bytes as its LZ4 frame, and an index that agrees with them. */
  function withFrame(frame: Uint8Array, changed: Partial<Batch> = {}): MemorySource {
    const { bytes } = encodeIndex({ ...BATCH, frameHash: xxh64(frame), ...changed });
    return new MemorySource(join([FILE.parts[0], frame, bytes]));
  }

  test("with another content checksum is found by verifyBatchContent", async () => {
    const frame = FILE.bytes.slice(BATCH.position, BATCH.indexPosition);
    frame[frame.length - 1] ^= 1;
    const source = withFrame(frame);
    const [batch] = (await scanAll(source)).batches;
    await readAll(source, batch);
    await assert.rejects(verifyBatchContent(source, batch), (error) => {
      assert.ok(hasCode(error, "corrupt"));
      assert.match(error.message, /checksum of its content/);
      return true;
    });
  });

  test("with a block that does not decompress to what it must is corrupt", async () => {
    const frame = FILE.bytes.slice(BATCH.position, BATCH.indexPosition);
    const blockAt = frame.length - LZ4_TAIL_BYTES - BATCH.blocks[0].length;
    for (let at = blockAt; at < frame.length - LZ4_TAIL_BYTES; at++) {
      const forged = frame.slice();
      forged[at] ^= 0xff;
      const hash = xxh64(forged.subarray(blockAt - 4, forged.length - LZ4_TAIL_BYTES));
      const source = withFrame(forged, { blocks: [{ ...BATCH.blocks[0], hash }] });
      const [batch] = (await scanAll(source)).batches;
      await assert.rejects(verifyBatchContent(source, batch), isCorrupt, `byte ${at}`);
    }
  });

  test("with other flags than this format's is torn", async () => {
    const { parts } = encodeFile(HEADER, SETS, { ...OPTIONS, blockBytes: 256 * 1024 });
    const frame = parts[1].slice(0, BATCH.frameLength);
    const found = await scanAll(withFrame(frame));
    assert.deepEqual([found.batches.length, found.end.kind], [0, "torn"]);
  });
});

test("a forged file index is torn", async () => {
  const [id, epoch, hash, places] = decodeItem(END_FRAME, FILE.parts[2]) as [
    string,
    number,
    bigint,
    Uint8Array,
  ];
  const bad: unknown[][] = [
    [uuid(5), epoch, hash, places],
    [id, 2, hash, places],
    [id, epoch, 1n, places],
    [id, epoch, hash, []],
    [id, epoch, hash, places.subarray(1)],
    [id, epoch, hash, join([places, places])],
    [id, epoch, hash, places.map((byte, i) => byte ^ (i === 0 ? 1 : 0))],
    [id, epoch, hash, places.map((byte, i) => byte ^ (i === 11 ? 1 : 0))],
    [id, epoch, hash],
  ];
  for (const fields of bad) {
    const end = sealFrame(END_FRAME, encodeCbor(fields)).bytes;
    const found = await scanAll(new MemorySource(join([...FILE.parts.slice(0, 2), end])));
    assert.deepEqual([found.batches.length, found.end.kind, found.end.at], [1, "torn", BATCH.end]);
  }
});

test("a source that gives fewer bytes than it has is corrupt", async () => {
  const source = new MemorySource(FILE.bytes, FILE.bytes.length + 10);
  const batches = new ChangeFileScan(source).batches();
  await assert.rejects(batches.next(), isCorrupt);
  await assert.rejects(readBatchEndingAt(source, source.size), isCorrupt);
  await assert.rejects(readBatchEndingAt(source, source.size + 1), isCorrupt);
});

async function readAll(source: MemorySource, batch: Batch): Promise<void> {
  for await (const _slice of readSets(source, batch, batch.sets));
}
