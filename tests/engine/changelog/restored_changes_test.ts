import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { RestoredChanges } from "../../../src/engine/changelog/restored_changes.ts";
import { encodeChanges } from "../../../src/engine/format/change_input.ts";
import type { Change, RestoredChange, RestoredSlice } from "../../../src/engine/types.ts";
import { SeededRandom } from "../../doubles/seeded_random.ts";

/** Changes of these sizes, no two alike. */
function changesOf(sizes: readonly number[]): Change[] {
  const random = new SeededRandom(5);
  return sizes.map((size, keyGroup) => {
    const data = new Uint8Array(size);
    random.fill(data);
    return { keyGroup, data };
  });
}

/** Slices as a restore gives them: all in the same memory, which the next one overwrites. */
async function* slicesOf(...parts: (readonly Change[])[]): AsyncGenerator<RestoredSlice> {
  const memory = new Uint8Array(1 << 22);
  let firstOffset = 3;
  for (const changes of parts) {
    const { bytes } = encodeChanges(changes);
    memory.fill(0xff);
    memory.set(bytes);
    yield {
      writer: "w",
      firstOffset,
      count: changes.length,
      bytes: memory.subarray(0, bytes.length),
    };
    firstOffset += changes.length;
  }
}

/** Takes them one after another. */
async function all(iterator: AsyncIterator<RestoredChange>): Promise<RestoredChange[]> {
  const found: RestoredChange[] = [];
  for (let step = await iterator.next(); step.done !== true; step = await iterator.next()) {
    found.push(step.value);
  }
  return found;
}

describe("RestoredChanges", () => {
  test("are the slices' changes, and stay when the memory of the slices goes on", async () => {
    const random = new SeededRandom(11);
    const sizes = () =>
      Array.from({ length: 300 }, () => random.pick([0, 1, 200, 4000, 4096, 8191, 9000]));
    const parts = [changesOf(sizes()), changesOf([1]), changesOf(sizes())];
    const wanted = parts.flat().map(({ keyGroup, data }, i) => (
      { writer: "w", offset: 3 + i, keyGroup, data }
    ));
    assert.deepEqual(await all(new RestoredChanges(slicesOf(...parts))), wanted);
  });

  test("of which one is kept keep little memory", async () => {
    const changes = changesOf([...Array.from({ length: 500 }, () => 200), 100_000]);
    for (const { data } of await all(new RestoredChanges(slicesOf(changes)))) {
      assert.ok(data.buffer.byteLength <= Math.max(8192, data.length), `${data.length} bytes`);
    }
  });

  test("come in order to those who ask before they are there", async () => {
    const parts = [changesOf([1, 2]), changesOf([3]), changesOf([4, 5])];
    const changes = new RestoredChanges(slicesOf(...parts));
    const steps = await Promise.all(Array.from({ length: 8 }, () => changes.next()));
    const lengths = steps.map(({ value }) => value?.data.length);
    assert.deepEqual(lengths, [1, 2, 3, 4, 5, undefined, undefined, undefined]);
    assert.deepEqual(steps.map(({ done }) => done), [...Array(5).fill(false), true, true, true]);
  });

  test("end with the error of the slices, once", async () => {
    async function* failing(): AsyncGenerator<RestoredSlice> {
      yield* slicesOf(changesOf([1]));
      throw new TypeError("bad");
    }
    const changes = new RestoredChanges(failing());
    assert.equal((await changes.next()).done, false);
    const steps = await Promise.allSettled([changes.next(), changes.next()]);
    assert.deepEqual(steps.map(({ status }) => status), ["rejected", "fulfilled"]);
    assert.deepEqual(await changes.next(), { done: true, value: undefined });
  });

  test("that are left let go of the slices, and give nothing more", async () => {
    let isLeft = false;
    async function* watched(): AsyncGenerator<RestoredSlice> {
      try {
        yield* slicesOf(changesOf([1, 2, 3]));
      } finally {
        isLeft = true;
      }
    }
    const changes = new RestoredChanges(watched());
    await changes.next();
    await changes.return();
    assert.equal(isLeft, true);
    assert.deepEqual(await changes.next(), { done: true, value: undefined });
  });
});
