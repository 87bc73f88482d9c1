/** State objects: what goes in comes out, in bounded memory, and no damage gets through. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { xxh64 } from "../../../wasm/mod.ts";
import { hasCode, TidemarkError } from "../../../src/engine/errors.ts";
import { sameBytes } from "../../../src/engine/format/_bytes.ts";
import { encodeCbor } from "../../../src/engine/format/_cbor.ts";
import { HEADER_FRAME, sealFrame } from "../../../src/engine/format/_frame.ts";
import { encodeStateIndex } from "../../../src/engine/format/_state_frames.ts";
import { readStateContent } from "../../../src/engine/format/state_reader.ts";
import { SeededRandom } from "../../doubles/seeded_random.ts";
import { withAllocationsBelow } from "./_allocations.ts";
import { join, MemorySource, randomBytes, text, uuid } from "./_files.ts";
import { encodeState, readState, STATE_HEADER } from "./_states.ts";

const KIB = 1024;
const BLOCKS = { compression: "lz4", blockBytes: 64 * KIB } as const;

/** Bytes that shrink, after some that do not. */
function someContent(length: number, seed = 1): Uint8Array {
  const random = randomBytes(new SeededRandom(seed), Math.floor(length / 2));
  return join([random, new Uint8Array(length - random.length).fill(7)]);
}

/** Cuts bytes into parts of random lengths, some of them empty. */
function cut(bytes: Uint8Array, random: SeededRandom, lengthMax: number): Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = random.below(lengthMax);
    parts.push(bytes.subarray(at, at + length));
    at += length;
  }
  return parts;
}

const SMALL = encodeState([text("ebb ebb ebb ebb ebb ebb ebb ebb and flow")]);

/** Reads a damaged object, which must be refused, with key and place. */
async function refuses(bytes: Uint8Array, label: string, size?: number): Promise<void> {
  const source = new MemorySource(bytes, size);
  try {
    await readState(source);
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    assert.equal(error.code, "corrupt", label);
    const { key, from, to } = error.details as { key: string; from: number; to: number };
    assert.equal(key, source.key, label);
    assert.ok(from >= 0 && to >= from && error.message.includes(`bytes ${from} to ${to}`), label);
    return;
  }
  assert.fail(`${label}: was read`);
}

describe("a state object", () => {
  for (const compression of ["lz4", "none"] as const) {
    for (const length of [0, 1, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 300 * KIB]) {
      test(`of ${length} bytes, ${compression}, comes out as it went in`, async () => {
        const content = someContent(length);
        const encoded = encodeState([content], { compression, blockBytes: 64 * KIB });
        assert.equal(encoded.length, encoded.bytes.length);
        assert.equal(encoded.size, length);
        assert.equal(encoded.contentHash, xxh64(content));
        const read = await readState(new MemorySource(encoded.bytes));
        assert.ok(sameBytes(read.content, content));
        assert.deepEqual(read.header, STATE_HEADER);
        assert.equal(read.index.size, length);
        assert.equal(read.index.contentHash, xxh64(content));
      });
    }
  }

  test("is the same however its content is cut into parts", () => {
    const random = new SeededRandom(3);
    const content = someContent(400 * KIB);
    const whole = encodeState([content], BLOCKS).bytes;
    for (const lengthMax of [50_000, 200_000, 500_000]) {
      const parts = cut(content, random, lengthMax);
      assert.ok(sameBytes(encodeState(parts, BLOCKS).bytes, whole), `up to ${lengthMax} bytes`);
    }
  });

  test("is written in pieces of about 1 MiB, whatever its size", () => {
    const part = randomBytes(new SeededRandom(4), 700 * KIB);
    const { pieces, size } = encodeState(Array.from({ length: 12 }, () => part), BLOCKS);
    assert.equal(size, 12 * 700 * KIB);
    assert.ok(pieces.length > 6);
    assert.ok(pieces.every((length) => length <= 1280 * KIB), `pieces of ${pieces}`);
  });

  test("is read block by block: a bad block keeps those before it", async () => {
    const content = someContent(300 * KIB);
    const { bytes } = encodeState([content], { ...BLOCKS, compression: "none" });
    const { index } = await readState(new MemorySource(bytes));
    bytes[index.position + 7 + 2 * (64 * KIB + 4) + 100] ^= 1;
    const source = new MemorySource(bytes);
    const pieces: Uint8Array[] = [];
    await assert.rejects(
      async () => {
        for await (const piece of readStateContent(source, index)) pieces.push(piece);
      },
      (error) => hasCode(error, "corrupt") && error.message.includes("block 2"),
    );
    assert.ok(sameBytes(join(pieces), content.subarray(0, 128 * KIB)));
  });

  test("cut at any byte is refused", async () => {
    for (let at = 0; at < SMALL.bytes.length; at++) {
      await withAllocationsBelow(64 * KIB, async () => {
        await refuses(SMALL.bytes.slice(0, at), `cut at ${at}`);
        await refuses(SMALL.bytes.slice(0, at), `cut at ${at}, stated whole`, SMALL.length);
      });
    }
  });

  test("with any bit flipped is refused", async () => {
    for (let at = 0; at < SMALL.bytes.length; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const bytes = SMALL.bytes.slice();
        bytes[at] ^= 1 << bit;
        const label = `byte ${at}, bit ${bit}`;
        await withAllocationsBelow(64 * KIB, () => refuses(bytes, label));
      }
    }
  });

  test("with anything before or behind it is refused", async () => {
    for (const more of [Uint8Array.of(0), SMALL.bytes]) {
      await refuses(join([SMALL.bytes, more]), `${more.length} bytes more`);
      await refuses(join([more.subarray(0, 1), SMALL.bytes]), "a byte before it");
    }
  });

  test("with another object's header, frame or index is refused", async () => {
    const { index } = await readState(new MemorySource(SMALL.bytes));
    const other = encodeState([text("EBB ebb ebb ebb ebb ebb ebb ebb and flow")], BLOCKS, {
      ...STATE_HEADER,
      uuid: uuid(9),
    });
    const cutAt = (bytes: Uint8Array): Uint8Array[] => {
      const trailer = new DataView(bytes.buffer, bytes.byteOffset + bytes.length - 24);
      const end = bytes.length - Number(trailer.getBigUint64(0, true));
      const { position } = index;
      return [bytes.subarray(0, position), bytes.subarray(position, end), bytes.subarray(end)];
    };
    const [ours, theirs] = [cutAt(SMALL.bytes), cutAt(other.bytes)];
    for (let taken = 0; taken < 3; taken++) {
      const parts = ours.map((part, i) => i === taken ? theirs[i] : part);
      await refuses(join(parts), `part ${taken} is another's`);
    }
  });

  test("with a header that says something else is refused, though it names the same object", async () => {
    const { index } = await readState(new MemorySource(SMALL.bytes));
    const other = encodeState([text("x")], BLOCKS, { ...STATE_HEADER, name: "counts-1" });
    const header = other.bytes.subarray(0, index.position);
    await refuses(join([header, SMALL.bytes.subarray(index.position)]), "another name");
  });

  test("whose index claims more than is there is refused before memory is taken", async () => {
    const { index } = await readState(new MemorySource(SMALL.bytes));
    const end = SMALL.bytes.lastIndexOf(0x51, SMALL.bytes.length - 25);
    assert.ok(end > index.position);
    const front = SMALL.bytes.subarray(0, end);
    const forged = [
      { ...index, size: 2 ** 50 },
      { ...index, size: 2 ** 50, blocks: Array(4000).fill(index.blocks[0]) },
      { ...index, blockBytes: 2 ** 40 },
      { ...index, position: 0 },
      { ...index, blocks: [{ ...index.blocks[0], length: 2 ** 31 }] },
      { ...index, contentHash: 0n },
      { ...index, frameHash: 0n },
    ];
    for (const [i, one] of forged.entries()) {
      const bytes = join([front, encodeStateIndex(one).bytes]);
      await withAllocationsBelow(256 * KIB, () => refuses(bytes, `forgery ${i}`));
    }
  });

  test("takes no more blocks than its index may list", () => {
    const options = { ...BLOCKS, blocksMax: 2 };
    encodeState([new Uint8Array(128 * KIB)], options);
    assert.throws(
      () => encodeState([new Uint8Array(128 * KIB + 1)], options),
      (error) => hasCode(error, "invalid-request") && error.message.includes("counts-0"),
    );
  });

  test("of a newer format is refused as such", async () => {
    const bytes = encodeState([], BLOCKS).bytes;
    const { index } = await readState(new MemorySource(bytes));
    const header = sealFrame(HEADER_FRAME, encodeCbor({ kind: "state-object", version: 2 }));
    const newer = join([header.bytes, bytes.subarray(index.position)]);
    await assert.rejects(
      readState(new MemorySource(newer)),
      (error) => hasCode(error, "unsupported-format"),
    );
  });
});
