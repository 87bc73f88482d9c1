/** Every cut, every flipped bit and every misplaced batch of a small file. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { HeaderFrame } from "../../../src/engine/format/change_file.ts";
import {
  batchesBackwards,
  type ByteSource,
  readHeader,
} from "../../../src/engine/format/change_file_reader.ts";
import { TidemarkError } from "../../../src/engine/errors.ts";
import {
  contentOf,
  encodeFile,
  HEADER,
  join,
  MemorySource,
  randomBytes,
  scanAll,
  type SmallFile,
  smallSets,
  uuid,
} from "./_files.ts";
import { LZ4_HEADER_BYTES, LZ4_TAIL_BYTES } from "../../../src/engine/format/_lz4_frame.ts";
import { withAllocationsBelow } from "./_allocations.ts";
import { SeededRandom } from "../../doubles/seeded_random.ts";

const FILE = encodeFile(HEADER, smallSets());
/** Where header, batches and end frame end. */
const BOUNDS = FILE.parts.map((_, i) => join(FILE.parts.slice(0, i + 1)).length);
const CONTENT = await Promise.all(
  FILE.batches.map((batch) => contentOf(new MemorySource(FILE.bytes), batch)),
);
const SEED = 20_240_117;
/** Far below any cap, far above what the small file needs. */
const ALLOCATION_BYTES_MAX = 64 * 1024;

/** Checks that a scan gives just the batches before `whole`, with the right content, and ends there. */
async function checkScan(source: MemorySource, whole: number, label: string): Promise<void> {
  const { batches, end } = await scanAll(source);
  assert.equal(batches.length, whole, label);
  for (const batch of batches) {
    assert.deepEqual(batch, FILE.batches[batch.number], label);
    assert.deepEqual(await contentOf(source, batch), CONTENT[batch.number], label);
  }
  if (end.kind === "torn") {
    const at = whole === 0 && batches.length === 0 && end.at === 0 ? 0 : BOUNDS[whole];
    assert.equal(end.at, at, label);
    assert.ok(
      end.reason?.includes(` at bytes ${end.at} to ${source.size} `),
      `${label}: ${end.reason}`,
    );
  }
}

/** Reads everything backwards from a length that was once known to be good. */
async function readBackwards(source: ByteSource, end: number): Promise<string[][]> {
  const file: HeaderFrame = await readHeader(source);
  const content: string[][] = [];
  for await (const batch of batchesBackwards(source, end, file)) {
    content.unshift(await contentOf(source, batch));
  }
  return content;
}

/** Checks that reading backwards gives what was written, or `corrupt` with object and place. */
async function checkBackwards(
  source: MemorySource,
  end: number,
  label: string,
): Promise<"same" | "corrupt"> {
  try {
    assert.deepEqual(await readBackwards(source, end), CONTENT, label);
    return "same";
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    assert.equal(error.code, "corrupt", label);
    assert.equal(error.details.key, source.key, label);
    const { from, to } = error.details as { from: number; to: number };
    assert.ok(from >= 0 && to >= from && error.message.includes(`bytes ${from} to ${to}`), label);
    return "corrupt";
  }
}

/** Whether a restore reads byte `at`: not the ends of LZ4 frames, which only a walk through the file checks. */
function isRead(at: number): boolean {
  if (at >= BOUNDS[3]) return false;
  const batch = FILE.batches.find(({ position, indexPosition }) =>
    at >= position && at < indexPosition
  );
  if (batch === undefined) return true;
  return at >= batch.position + LZ4_HEADER_BYTES && at < batch.indexPosition - LZ4_TAIL_BYTES;
}

/** How many whole batches lie before byte `at`, and -1 within the header. */
function batchesBefore(at: number): number {
  return BOUNDS.findIndex((bound) => at < bound) - 1;
}

describe("a change file with damage", () => {
  test("gives back what is in it when there is none", async () => {
    const source = new MemorySource(FILE.bytes);
    await checkScan(source, 3, "no damage");
    assert.deepEqual((await scanAll(source)).end, { kind: "end-frame", at: FILE.bytes.length });
    assert.deepEqual(await readBackwards(source, BOUNDS[3]), CONTENT);
  });

  test("cut at any byte gives whole batches and the exact torn range", async () => {
    for (let cut = 0; cut < FILE.bytes.length; cut++) {
      const source = new MemorySource(FILE.bytes.slice(0, cut));
      const whole = Math.min(3, Math.max(0, batchesBefore(cut)));
      await withAllocationsBelow(ALLOCATION_BYTES_MAX, async () => {
        await checkScan(source, whole, `cut at ${cut}`);
        const { end } = await scanAll(source);
        assert.equal(end.kind, BOUNDS.includes(cut) ? "length" : "torn", `cut at ${cut}`);
        const backwards = await checkBackwards(source, BOUNDS[3], `cut at ${cut}`);
        assert.equal(backwards, cut < BOUNDS[3] ? "corrupt" : "same", `cut at ${cut}`);
      });
    }
  });

  for (let bit = 0; bit < 8; bit++) {
    test(`with bit ${bit} of any byte flipped gives the whole batches before it`, async () => {
      for (let at = 0; at < FILE.bytes.length; at++) await checkFlip(at, bit);
    });
  }

  test("with a batch that was moved, repeated or taken from elsewhere ends before it", async () => {
    const others: SmallFile[] = [
      FILE,
      encodeFile({ ...HEADER, uuid: uuid(9) }, smallSets()),
      encodeFile({ ...HEADER, job: "word-sums" }, smallSets()),
      encodeFile({ ...HEADER, epoch: 4 }, smallSets()),
    ];
    for (const [from, other] of others.entries()) {
      for (let place = 1; place <= 4; place++) {
        for (let taken = 1; taken <= 3; taken++) {
          if (other === FILE && taken === place) continue;
          for (const replace of [0, 1]) {
            const parts: Uint8Array[] = [...FILE.parts];
            parts.splice(place, replace, other.parts[taken]);
            const label = `batch ${taken} of file ${from} at ${place}, replaces ${replace}`;
            await checkMisplaced(parts, place - 1, label);
          }
        }
      }
    }
  });

  test("with another file's header has no batch at all", async () => {
    const { parts } = encodeFile({ ...HEADER, uuid: uuid(9) }, smallSets());
    await checkMisplaced([parts[0], ...FILE.parts.slice(1)], 0, "another header");
  });

  test("with another file's end frame is torn there", async () => {
    const { parts } = encodeFile({ ...HEADER, uuid: uuid(9) }, smallSets());
    const source = new MemorySource(join([...FILE.parts.slice(0, 4), parts[4]]));
    const { batches, end } = await scanAll(source);
    assert.deepEqual([batches.length, end.kind, end.at], [3, "torn", BOUNDS[3]]);
  });

  test("with anything after its end frame is torn there", async () => {
    for (const more of [Uint8Array.of(0), FILE.parts[3], FILE.parts[4]]) {
      const { batches, end } = await scanAll(new MemorySource(join([FILE.bytes, more])));
      assert.deepEqual([batches.length, end.kind, end.at], [3, "torn", BOUNDS[4]]);
    }
  });

  test("shorter than the length it is read to is torn where it ends", async () => {
    for (const [i, bound] of BOUNDS.slice(0, 4).entries()) {
      const { batches, end } = await scanAll(
        new MemorySource(FILE.bytes.slice(0, bound)),
        BOUNDS[3] + 1,
      );
      assert.deepEqual([batches.length, end.kind, end.at], [i, "torn", bound]);
    }
  });

  test("overwritten, shortened or stretched at random gives whole batches", async () => {
    const random = new SeededRandom(SEED);
    for (let round = 0; round < 3000; round++) {
      const from = random.below(FILE.bytes.length);
      const to = from + random.below(40);
      const middle = random.pick([
        randomBytes(random, random.below(40)),
        new Uint8Array(to - from),
        FILE.bytes.slice(random.below(FILE.bytes.length)).slice(0, random.below(400)),
      ]);
      const bytes = join([FILE.bytes.subarray(0, from), middle, FILE.bytes.subarray(to)]);
      const label = `seed ${random.seed}, round ${round}`;
      const same = sameUpTo(bytes, FILE.bytes);
      if (same === FILE.bytes.length) continue;
      const source = new MemorySource(bytes);
      await withAllocationsBelow(ALLOCATION_BYTES_MAX, async () => {
        await checkScan(source, Math.min(3, Math.max(0, batchesBefore(same))), label);
      });
    }
  });
});

async function checkFlip(at: number, bit: number): Promise<void> {
  const label = `byte ${at}, bit ${bit}`;
  const bytes = FILE.bytes.slice();
  bytes[at] ^= 1 << bit;
  const source = new MemorySource(bytes);
  const before = batchesBefore(at);
  await withAllocationsBelow(ALLOCATION_BYTES_MAX, async () => {
    await checkScan(source, Math.max(0, before), label);
    const { end } = await scanAll(source);
    assert.equal(end.kind, "torn", label);
    assert.equal(end.at, before < 0 ? 0 : BOUNDS[before], label);
    const backwards = await checkBackwards(source, BOUNDS[3], label);
    assert.equal(backwards, isRead(at) ? "corrupt" : "same", label);
  });
}

async function checkMisplaced(
  parts: readonly Uint8Array[],
  whole: number,
  label: string,
): Promise<void> {
  const source = new MemorySource(join(parts));
  await checkScan(source, whole, label);
  const { end } = await scanAll(source);
  assert.deepEqual([end.kind, end.at], ["torn", BOUNDS[whole]], label);
  const sealed = parts[parts.length - 1] === FILE.parts[4];
  const last = join(sealed ? parts.slice(0, -1) : parts).length;
  assert.equal(await checkBackwards(source, last, label), "corrupt", label);
}

function sameUpTo(a: Uint8Array, b: Uint8Array): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return at;
}
