import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { encode } from "cborg";
import { cborItemEnd } from "../../src/cli/_cbor_item.ts";
import { readChanges } from "../../src/cli/_input.ts";
import { suggest } from "../../src/cli/_suggest.ts";
import { parseAddress } from "../../src/cli/settings/address.ts";

const never = new Promise<void>(() => {});
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** An input that a test feeds by hand. */
class FedInput {
  #waiting: ((result: IteratorResult<Uint8Array>) => void) | undefined;

  feed(text: string): void {
    this.#waiting?.({ done: false, value: utf8(text) });
  }

  end(): void {
    this.#waiting?.({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return { next: () => new Promise((resolve) => this.#waiting = resolve) };
  }
}

describe("readChanges", () => {
  test("passes whole lines on when the input pauses, and keeps the cut one back", async () => {
    const input = new FedInput();
    const lull = () => Promise.resolve();
    const changes = readChanges(input, "lines", { lull, stopped: never });
    const first = changes.next();
    input.feed("one\ntwo\nthr");
    assert.equal((await first).value?.value.count, 2);
    const second = changes.next();
    input.feed("ee\n");
    const { value } = await second;
    assert.deepEqual(value?.value.bytes, Uint8Array.from([0x82, 0, 0x45, ...utf8("three")]));
    assert.equal(value?.inputEnd, 14);
    const last = changes.next();
    input.end();
    assert.equal((await last).done, true);
  });

  test("waits for more while no item is whole", async () => {
    const input = new FedInput();
    const changes = readChanges(input, "lines", { lull: () => Promise.resolve(), stopped: never });
    const first = changes.next();
    input.feed("on");
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    input.feed("e");
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    input.feed("\n");
    assert.equal((await first).value?.value.count, 1);
  });

  test("ends with what is whole when it is stopped, though the input goes on", async () => {
    const input = new FedInput();
    let stop = (): void => {};
    const stopped = new Promise<void>((resolve) => stop = resolve);
    const changes = readChanges(input, "lines", { lull: () => never, stopped });
    const first = changes.next();
    input.feed("one\ntw");
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    stop();
    assert.equal((await first).value?.value.count, 1);
    assert.equal((await changes.next()).done, true);
  });
});

describe("cborItemEnd", () => {
  const items: [string, Uint8Array][] = [
    ["a change", encode([3, utf8("abc")])],
    ["a change of key group -1", encode([-1, utf8("")])],
    ["a large change", encode([70_000, utf8("x".repeat(70_000))])],
    ["an indefinite byte string", Uint8Array.from([0x82, 0, 0x5f, 0x41, 1, 0x41, 2, 0xff])],
    ["an indefinite array", Uint8Array.from([0x9f, 0, 0x41, 1, 0xff])],
    ["a tagged item", Uint8Array.from([0xc1, 0x82, 0, 0x40])],
    ["a map", encode({ a: 1, b: [2] })],
  ];
  for (const [name, item] of items) {
    test(`finds the end of ${name}, and only of a whole one`, () => {
      const twice = Uint8Array.from([...item, ...item]);
      assert.equal(cborItemEnd(twice, 0), item.length);
      assert.equal(cborItemEnd(twice, item.length), twice.length);
      for (let cut = 0; cut < Math.min(item.length, 50); cut++) {
        assert.equal(cborItemEnd(item.subarray(0, cut), 0), undefined, `cut at ${cut}`);
      }
    });
  }

  test("ends for any bytes", () => {
    let seed = 0x2545f491;
    for (let round = 0; round < 20_000; round++) {
      const bytes = Uint8Array.from({ length: round % 24 }, () => {
        seed = Math.imul(seed ^ (seed >>> 15), 0x2c1b3c6d) + round;
        return seed >>> 24;
      });
      const end = cborItemEnd(bytes, 0);
      assert.equal(end === undefined || (end > 0 && end <= bytes.length), true, String(bytes));
    }
  });
});

test("suggest finds what was meant, and nothing where nothing is near", () => {
  const known = ["append", "checkpoint", "ls", "restore", "resume", "serve"];
  const meant: [string, string | undefined][] = [
    ["apend", "append"],
    ["aped", "append"],
    ["restroe", "restore"],
    ["sevre", "serve"],
    ["check", "checkpoint"],
    ["gc", undefined],
    ["x", undefined],
    ["frobnicate", undefined],
  ];
  for (const [word, expected] of meant) assert.equal(suggest(word, known), expected, word);
});

test("parseAddress reads each form", () => {
  const forms: [string, string, number][] = [
    ["127.0.0.1:7460", "127.0.0.1", 7460],
    ["0.0.0.0:0", "0.0.0.0", 0],
    ["localhost:80", "localhost", 80],
    ["[::1]:7460", "::1", 7460],
    [":8080", "127.0.0.1", 8080],
    ["8080", "127.0.0.1", 8080],
  ];
  for (const [text, hostname, port] of forms) {
    assert.deepEqual(parseAddress(text), { hostname, port });
  }
  for (const text of ["", "host", "host:", "::1:80", "a b:80", "host:99999", "http://host:80"]) {
    assert.equal(parseAddress(text), undefined);
  }
});
