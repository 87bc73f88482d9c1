import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ChangeFileSource } from "../../../src/engine/changelog/change_file_source.ts";
import { xxh64 } from "../../../wasm/mod.ts";
import { MIB } from "../../../src/engine/limits.ts";
import type { GetOptions } from "../../../src/engine/storage/backend.ts";
import { FaultyBackend } from "../../doubles/faulty_backend.ts";
import { SeededRandom } from "../../doubles/seeded_random.ts";
import { hasSettled, newMemory, turn } from "../_engine.ts";

const KEY = "file";

/** A backend that notes which parts are asked for, in MiB, and what memory is offered for them. */
class NotingBackend extends FaultyBackend {
  readonly asked: (readonly [number, number])[] = [];
  readonly offered: (Uint8Array | undefined)[] = [];

  override get(key: string, options: GetOptions = {}): Promise<Uint8Array> {
    this.asked.push([options.from! / MIB, options.to! / MIB]);
    this.offered.push(options.into);
    return super.get(key, options);
  }
}

/** An object of so many MiB, in which no two places look the same. */
async function newFile(mebibytes: number): Promise<{ backend: NotingBackend; bytes: Uint8Array }> {
  const bytes = new Uint8Array(mebibytes * MIB);
  const words = new Uint32Array(bytes.buffer);
  for (let i = 0; i < words.length; i++) words[i] = i * 2654435761;
  const backend = new NotingBackend(newMemory());
  await backend.put(KEY, bytes);
  return { backend, bytes };
}

describe("ChangeFileSource", () => {
  test("gives the bytes of any range, in any order", async () => {
    const { backend, bytes } = await newFile(6);
    const source = new ChangeFileSource(backend, KEY, bytes.length);
    const random = new SeededRandom(7);
    for (let i = 0; i < 200; i++) {
      const from = random.below(bytes.length);
      const to = Math.min(bytes.length, from + random.below(random.pick([100, MIB, 5 * MIB])));
      const found = await source.read(from, to);
      assert.equal(xxh64(found), xxh64(bytes.subarray(from, to)), `read ${i}: ${from} to ${to}`);
    }
  });

  test("reads beyond 4 GiB", async () => {
    const backend = new NotingBackend(newMemory());
    const asked: number[][] = [];
    backend.get = (_key, { from = 0, to = 0 } = {}) => {
      asked.push([from, to]);
      return Promise.resolve(new Uint8Array(to - from));
    };
    const source = new ChangeFileSource(backend, KEY, 6 * 1024 * MIB);
    const from = 5 * 1024 * MIB;
    assert.equal((await source.read(from + 3, from + 10)).length, 7);
    assert.deepEqual(asked, [[from, from + MIB]]);
  });

  test("asks once for what many small reads want", async () => {
    const { backend, bytes } = await newFile(1);
    const source = new ChangeFileSource(backend, KEY, bytes.length);
    await Promise.all([source.read(0, 10), source.read(5, 20)]);
    for (let at = bytes.length - 10; at > 0; at -= 100_000) await source.read(at, at + 10);
    assert.deepEqual(backend.asked, [[0, 1]]);
  });

  test("reads the next chunk ahead while it is read forwards, once", async () => {
    const { backend, bytes } = await newFile(4);
    const source = new ChangeFileSource(backend, KEY, bytes.length);
    await source.read(0, 10);
    assert.deepEqual(backend.asked, [[0, 1]]);
    await source.read(10, 20);
    assert.deepEqual(backend.asked, [[0, 1], [1, 2]]);
    await source.read(20, MIB + 5);
    assert.deepEqual(backend.asked, [[0, 1], [1, 2], [2, 3]]);
    for (let at = 0; at < 4; at++) await source.read(at * MIB, (at + 1) * MIB);
    assert.deepEqual(backend.asked, [[0, 1], [1, 2], [2, 3], [3, 4]]);
  });

  test("does not read ahead backwards", async () => {
    const { backend, bytes } = await newFile(4);
    const source = new ChangeFileSource(backend, KEY, bytes.length);
    for (let at = 3; at >= 0; at--) await source.read(at * MIB, at * MIB + 10);
    assert.deepEqual(backend.asked, [[3, 4], [2, 3], [1, 2], [0, 1]]);
  });

  test("never waits for what it reads ahead", async () => {
    const { backend, bytes } = await newFile(3);
    const source = new ChangeFileSource(backend, KEY, bytes.length);
    await source.read(0, 10);
    const held = backend.hold({ kind: "get" });
    await source.read(10, 20);
    await held.reached;
    const next = source.read(MIB, MIB + 10);
    assert.equal(await hasSettled(next), false);
    held.release();
    assert.deepEqual(await next, bytes.slice(MIB, MIB + 10));
  });

  test("forgets a chunk that could not be read, ahead or not", async () => {
    const { backend, bytes } = await newFile(3);
    const source = new ChangeFileSource(backend, KEY, bytes.length);
    await source.read(0, 10);
    backend.fail({ kind: "get", times: 2 });
    await source.read(10, 20);
    await turn();
    await assert.rejects(source.read(2 * MIB, 2 * MIB + 10));
    assert.deepEqual(await source.read(MIB, MIB + 10), bytes.slice(MIB, MIB + 10));
  });

  test("holds four chunks at most, and none at rest", async () => {
    const { backend, bytes } = await newFile(8);
    const source = new ChangeFileSource(backend, KEY, bytes.length);
    for (let at = 7; at >= 0; at--) await source.read(at * MIB, at * MIB + 10);
    const before = backend.asked.length;
    for (let at = 3; at >= 0; at--) await source.read(at * MIB, at * MIB + 10);
    assert.equal(backend.asked.length, before);
    await source.read(7 * MIB, 7 * MIB + 10);
    await source.read(3 * MIB, 3 * MIB + 10);
    assert.equal(backend.asked.length, before + 2);
    source.rest();
    await source.read(3 * MIB, 3 * MIB + 10);
    assert.equal(backend.asked.length, before + 3);
  });

  test("asks for a long range in one go", async () => {
    const { backend, bytes } = await newFile(6);
    const source = new ChangeFileSource(backend, KEY, bytes.length);
    const found = await source.read(MIB / 2, 5 * MIB);
    assert.equal(found.length, 4.5 * MIB);
    assert.deepEqual(backend.asked, [[0.5, 5]]);
  });

  test("reads into the same memory again and again", async () => {
    const { backend, bytes } = await newFile(16);
    const source = new ChangeFileSource(backend, KEY, bytes.length);
    const target = new Uint8Array(MIB);
    for (let at = MIB / 2; at + MIB <= bytes.length; at += MIB) {
      assert.equal(await source.readInto(target, at), MIB);
      assert.equal(xxh64(target), xxh64(bytes.subarray(at, at + MIB)), `at ${at}`);
    }
    assert.equal(backend.offered.length, 16);
    assert.ok(new Set(backend.offered).size <= 6, `${new Set(backend.offered).size} memories`);
  });

  test("overwrites no chunk that a read still waits for another to copy with", async () => {
    const { backend, bytes } = await newFile(12);
    const source = new ChangeFileSource(backend, KEY, bytes.length);
    await source.read(11 * MIB, 11 * MIB + 1);
    const held = backend.hold({ kind: "get", skip: 1 });
    const both = source.read(MIB - 10, MIB + 10);
    await held.reached;
    for (let at = 2; at < 11; at++) await source.read(at * MIB, at * MIB + 10);
    held.release();
    assert.deepEqual(await both, bytes.slice(MIB - 10, MIB + 10));
  });

  test("never uses memory again whose read runs or has failed", async () => {
    const { backend, bytes } = await newFile(24);
    const source = new ChangeFileSource(backend, KEY, bytes.length);
    await source.read(0, 10);
    const held = backend.hold({ kind: "get" });
    await source.read(10, 20);
    await held.reached;
    const running = backend.offered.at(-1);
    for (let at = 23; at >= 12; at--) await source.read(at * MIB, at * MIB + 10);
    backend.fail({ kind: "get" });
    held.release();
    await turn();
    for (let at = 11; at >= 1; at--) await source.read(at * MIB, at * MIB + 10);
    assert.equal(backend.offered.filter((memory) => memory === running).length, 1);
  });

  test("gives what is there when the object is shorter than it was", async () => {
    const { backend, bytes } = await newFile(3);
    const source = new ChangeFileSource(backend, KEY, bytes.length);
    await backend.put(KEY, bytes.subarray(0, MIB + 7));
    assert.equal((await source.read(MIB - 3, 2 * MIB + 9)).length, 10);
    assert.equal((await source.read(2 * MIB, 2 * MIB + 9)).length, 0);
  });
});
