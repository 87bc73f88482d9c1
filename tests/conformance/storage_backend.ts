/**
 * What every storage backend keeps, whatever is below it. A function of a factory: one suite per backend,
 * decorator and file system.
 * @module
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode, type TidemarkError } from "../../src/engine/errors.ts";
import type { ErrorCode } from "../../src/engine/errors.ts";
import type { ObjectInfo, StorageBackend } from "../../src/engine/storage/backend.ts";
import { deleteAll } from "../../src/engine/storage/delete_all.ts";

/** A backend to try, over an empty place. */
export interface BackendUnderTest {
  readonly backend: StorageBackend;
  /** Ends it and removes what it left. */
  release(): Promise<void>;
}

/** What differs between backends. */
export interface BackendConformanceOptions {
  /** Reason to skip everything. @default not skipped */
  skip?: string;
}

/** Bytes of a text. */
export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Text of bytes. */
export function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/** Everything that an iterable gives. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** Checks that a call fails with this code, and answers the error. */
export async function rejectsWith(
  call: () => Promise<unknown>,
  code: ErrorCode,
): Promise<TidemarkError> {
  let found: TidemarkError | undefined;
  await assert.rejects(call, (error: unknown) => {
    if (!hasCode(error, code)) throw error;
    found = error;
    return true;
  });
  return found as TidemarkError;
}

const BAD_KEYS = [
  "",
  "/",
  "/etc/passwd",
  "a/",
  "a//b",
  ".",
  "..",
  "../a",
  "a/../b",
  "a/./b",
  "a\\b",
  "C:\\a",
  "a\0b",
  "a b",
  "ä",
  "%2e%2e/a",
  ".tmp-none-x",
  "a/.tmp-x/b",
  "x".repeat(256),
];

const BAD_PREFIXES = ["a", "/", "/a/", "../", "a/../", "a//", "a b/", "./"];

type Try = (backend: StorageBackend) => Promise<void>;

const WHOLE_OBJECTS: Record<string, Try> = {
  "put stores, replaces and gives back": async (backend) => {
    await backend.put("a/b", bytesOf("one"));
    await backend.put("a/b", bytesOf("three"));
    assert.equal(textOf(await backend.get("a/b")), "three");
    await backend.put("a/empty", new Uint8Array(0));
    assert.equal((await backend.get("a/empty")).length, 0);
  },
  "put keeps its own copy of the bytes": async (backend) => {
    const bytes = bytesOf("before");
    await backend.put("a", bytes);
    bytes.fill(0);
    const found = await backend.get("a");
    found.fill(1);
    assert.equal(textOf(await backend.get("a")), "before");
  },
  "put stores some megabytes": async (backend) => {
    const bytes = new Uint8Array(5 * 1024 * 1024 + 3);
    for (let index = 0; index < bytes.length; index += 1013) bytes[index] = index;
    await backend.put("big", bytes);
    assert.ok(equalBytes(await backend.get("big"), bytes));
  },
  "putIfAbsent creates once": async (backend) => {
    assert.equal(await backend.putIfAbsent("a/k", bytesOf("first")), "created");
    assert.equal(await backend.putIfAbsent("a/k", bytesOf("second")), "exists");
    assert.equal(textOf(await backend.get("a/k")), "first");
  },
  "putIfAbsent has one winner of many at once": async (backend) => {
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, index) => backend.putIfAbsent("race/k", bytesOf(`${index}`))),
    );
    assert.equal(answers.filter((answer) => answer === "created").length, 1);
    assert.equal(textOf(await backend.get("race/k")), `${answers.indexOf("created")}`);
  },
  "get reads ranges, and what is there of those beyond the end": async (backend) => {
    await backend.put("r", bytesOf("0123456789"));
    assert.equal(textOf(await backend.get("r", { from: 3 })), "3456789");
    assert.equal(textOf(await backend.get("r", { to: 3 })), "012");
    assert.equal(textOf(await backend.get("r", { from: 2, to: 5 })), "234");
    assert.equal(textOf(await backend.get("r", { from: 8, to: 50 })), "89");
    assert.equal(textOf(await backend.get("r", { from: 10 })), "");
    assert.equal(textOf(await backend.get("r", { from: 99, to: 100 })), "");
    await assert.rejects(() => backend.get("r", { from: -1 }), RangeError);
    await assert.rejects(() => backend.get("r", { from: 4, to: 3 }), RangeError);
    await assert.rejects(() => backend.get("r", { from: 0.5 }), RangeError);
  },
  "get may read into memory that it is given": async (backend) => {
    await backend.put("r", bytesOf("0123456789"));
    const into = bytesOf("................");
    assert.equal(textOf(await backend.get("r", { from: 2, to: 5, into })), "234");
    assert.equal(textOf(await backend.get("r", { from: 8, to: 20, into })), "89");
    assert.equal(textOf(into.subarray(10)), "......");
    const short = new Uint8Array(2);
    await assert.rejects(() => backend.get("r", { from: 2, to: 5, into: short }), RangeError);
  },
  "get ends with its signal": async (backend) => {
    await backend.put("r", bytesOf("x"));
    await rejectsWith(() => backend.get("r", { signal: AbortSignal.abort() }), "aborted");
  },
  "get, pin and head tell of an absent object": async (backend) => {
    await backend.put("dir/other", bytesOf("x"));
    for (const key of ["absent", "dir", "dir/absent", "dir/other/below", "no/such/folder"]) {
      await rejectsWith(() => backend.get(key), "object-not-found");
      await rejectsWith(() => backend.pin(key), "object-not-found");
      assert.equal(await backend.head(key), undefined, key);
    }
  },
  "head tells size and time": async (backend) => {
    await backend.put("h/k", bytesOf("12345"));
    const info = await backend.head("h/k");
    assert.equal(info?.key, "h/k");
    assert.equal(info?.size, 5);
    assert.ok(Number.isFinite(info?.modifiedMs));
  },
  "delete removes and tells whether it was there": async (backend) => {
    await backend.put("d/k", bytesOf("x"));
    assert.equal(await backend.delete("d/k"), true);
    assert.equal(await backend.delete("d/k"), false);
    assert.equal(await backend.delete("no/folder"), false);
    assert.equal(await backend.head("d/k"), undefined);
    await backend.put("d/k", bytesOf("again"));
    assert.equal(textOf(await backend.get("d/k")), "again");
    assert.equal(await backend.delete("d/k", { mayComeBack: true }), true);
    assert.equal(await backend.delete("d/k", { mayComeBack: true }), false);
    assert.equal(await backend.delete("no/folder", { mayComeBack: true }), false);
    assert.equal(await backend.head("d/k"), undefined);
  },
  "many objects are deleted together": async (backend) => {
    const keys = Array.from({ length: 30 }, (_, index) => `m${index % 3}/k${index}`);
    for (const key of [...keys, "m0/stays"]) await backend.put(key, bytesOf(key));
    let checks = 0;
    const failed = await deleteAll(backend, [...keys, "m0/absent", "no/folder"], () => checks++);
    assert.deepEqual(failed, []);
    assert.ok(checks >= keys.length);
    assert.deepEqual(await keysOf(backend.list("")), ["m0/stays"]);
    assert.deepEqual(await deleteAll(backend, [], () => checks++), []);
    await rejectsWith(() => deleteAll(backend, ["m0/stays", "../x"], () => {}), "invalid-name");
  },
  "deleting many ends where the check says so": async (backend) => {
    const keys = Array.from({ length: 30 }, (_, index) => `m/${String(index).padStart(2, "0")}`);
    for (const key of keys) await backend.put(key, bytesOf(key));
    let left = 10;
    const check = () => {
      if (left-- <= 0) throw new TypeError("enough");
    };
    await assert.rejects(() => deleteAll(backend, keys, check), TypeError);
    assert.deepEqual(await keysOf(backend.list("m/")), keys.slice(10));
  },
};

const LISTS: Record<string, Try> = {
  "list gives objects below a prefix in key order": async (backend) => {
    const keys = ["b", "a/2", "a/10", "a-b/1", "a.b", "a/c/d", "a/c-d", "z/y/x/w"];
    for (const key of keys) await backend.put(key, bytesOf(key));
    assert.deepEqual(await keysOf(backend.list("")), keys.toSorted());
    assert.deepEqual(
      await keysOf(backend.list("a/")),
      keys.filter((key) => key.startsWith("a/")).sort(),
    );
    assert.deepEqual(await keysOf(backend.list("a/c/")), ["a/c/d"]);
    assert.deepEqual(await collect(backend.list("none/")), []);
    assert.deepEqual(await collect(backend.list("b/")), []);
    const [first] = await collect(backend.list("a/c/"));
    assert.equal(first.size, 5);
  },
  "list gives many objects": async (backend) => {
    const keys = Array.from({ length: 100 }, (_, index) => `m/${String(index).padStart(20, "0")}`);
    await Promise.all(keys.toReversed().map((key) => backend.put(key, bytesOf(key))));
    assert.deepEqual(await keysOf(backend.list("m/")), keys);
  },
  "list passes over what vanishes meanwhile": async (backend) => {
    for (const key of ["v/1", "v/2", "v/3/x"]) await backend.put(key, bytesOf(key));
    const found: string[] = [];
    for await (const { key } of backend.list("v/")) {
      found.push(key);
      if (key === "v/1") await backend.delete("v/3/x");
    }
    assert.deepEqual(found.slice(0, 2), ["v/1", "v/2"]);
  },
  "no write leaves a temporary name": async (backend) => {
    await backend.put("t/a", bytesOf("x"), { tag: "reader" });
    await backend.putIfAbsent("t/a", bytesOf("y"));
    await backend.putIfAbsent("t/b", bytesOf("y"));
    assert.deepEqual(await collect(backend.listTemporary("")), []);
  },
  "a tag that is none is refused": async (backend) => {
    for (const tag of ["a/b", "", "a-b", ".."]) {
      await rejectsWith(() => backend.put("t/a", bytesOf("x"), { tag }), "invalid-name");
      await rejectsWith(() => backend.putIfAbsent("t/a", bytesOf("x"), { tag }), "invalid-name");
    }
    assert.deepEqual(await collect(backend.list("")), []);
  },
};

const APPENDS: Record<string, Try> = {
  "an appender writes one piece after another": async (backend) => {
    const appender = await backend.createAppender("log/f");
    assert.equal(appender.key, "log/f");
    const bytes = bytesOf("one");
    await appender.write(bytes);
    bytes.fill(0);
    assert.equal(appender.length, 3);
    await appender.sync();
    await appender.write(new Uint8Array(0));
    await appender.write(bytesOf("two"));
    assert.equal(textOf(await backend.get("log/f")), "onetwo");
    await appender.sync();
    assert.equal(appender.length, 6);
    assert.equal((await backend.head("log/f"))?.size, 6);
    await appender.close();
    await appender.close();
    await rejectsWith(() => appender.write(bytesOf("x")), "closed");
    await rejectsWith(() => appender.sync(), "closed");
    assert.equal(textOf(await backend.get("log/f", { from: 3 })), "two");
  },
  "the data of several appenders is synced, and then their names by the first": async (backend) => {
    const [first, second] = [
      await backend.createAppender("log/a"),
      await backend.createAppender("log/b"),
    ];
    for (const appender of [first, second]) await appender.write(bytesOf(appender.key));
    await (second.syncData?.() ?? second.sync());
    await second.close();
    await first.sync();
    await first.close();
    assert.equal(textOf(await backend.get("log/b")), "log/b");
    await rejectsWith(() => second.syncData?.() ?? second.sync(), "closed");
  },
  "an appender writes large pieces": async (backend) => {
    const appender = await backend.createAppender("log/large");
    const piece = new Uint8Array(700_001).fill(7);
    for (let count = 0; count < 3; count++) await appender.write(piece);
    await appender.sync();
    const found = await backend.get("log/large");
    assert.equal(found.length, 3 * piece.length);
    assert.ok(found.every((byte) => byte === 7));
    await appender.close();
  },
  "an appender wants a new key": async (backend) => {
    await backend.put("log/taken", bytesOf("x"));
    await rejectsWith(() => backend.createAppender("log/taken"), "object-exists");
    assert.equal(textOf(await backend.get("log/taken")), "x");
    await (await backend.createAppender("log/mine")).close();
    await rejectsWith(() => backend.createAppender("log/mine"), "object-exists");
  },
  "an appender takes one call at a time": async (backend) => {
    const appender = await backend.createAppender("log/one");
    const first = appender.write(bytesOf("1"));
    await assert.rejects(() => appender.write(bytesOf("2")), TypeError);
    await first;
    await appender.write(bytesOf("3"));
    assert.equal(textOf(await backend.get("log/one")), "13");
    await appender.close();
  },
  "close lets go of appenders and pins, and keeps the objects": async (backend) => {
    const appender = await backend.createAppender("c/f");
    await appender.write(bytesOf("kept"));
    const pinned = await backend.pin("c/f");
    await backend.close();
    await backend.close();
    await pinned.close();
    await rejectsWith(() => appender.write(bytesOf("x")), "closed");
    assert.equal(textOf(await backend.get("c/f")), "kept");
  },
};

const LOOK_UPS: Record<string, Try> = {
  "existsSync sees what is there now": async (backend) => {
    assert.equal(backend.existsSync("e/k"), false);
    await backend.putIfAbsent("e/k", bytesOf("x"));
    assert.equal(backend.existsSync("e/k"), true);
    await backend.delete("e/k");
    assert.equal(backend.existsSync("e/k"), false);
  },
  "a pin is current until its very object is gone": async (backend) => {
    await backend.put("p/k", bytesOf("x"));
    const pinned = await backend.pin("p/k");
    assert.equal(pinned.isCurrent(), true);
    await backend.delete("p/k");
    assert.equal(pinned.isCurrent(), false);
    await backend.putIfAbsent("p/k", bytesOf("x"));
    assert.equal(pinned.isCurrent(), false, "the same bytes under the same key are another object");
    await pinned.close();
    await pinned.close();
    const other = await backend.pin("p/k");
    await backend.put("p/k", bytesOf("x"));
    assert.equal(other.isCurrent(), false);
    await other.close();
  },
  "a key that is none is refused by every call": async (backend) => {
    for (const key of BAD_KEYS) {
      const calls: (() => Promise<unknown>)[] = [
        () => backend.put(key, bytesOf("x")),
        () => backend.putIfAbsent(key, bytesOf("x")),
        () => backend.get(key),
        () => backend.head(key),
        () => backend.delete(key),
        () => backend.createAppender(key),
        () => backend.pin(key),
        () => backend.deleteTemporary(key),
        // deno-lint-ignore require-await -- a synchronous throw counts as a rejection here
        async () => backend.existsSync(key),
      ];
      for (const call of calls) await rejectsWith(call, "invalid-name");
    }
    for (const prefix of BAD_PREFIXES) {
      await rejectsWith(() => collect(backend.list(prefix)), "invalid-name");
      await rejectsWith(() => collect(backend.listTemporary(prefix)), "invalid-name");
    }
    assert.deepEqual(await collect(backend.list("")), []);
  },
  "prepare can be repeated": async (backend) => {
    await backend.prepare({ create: false });
    await backend.prepare({ create: true });
    assert.deepEqual(await collect(backend.list("")), []);
    assert.deepEqual(await collect(backend.listTemporary("")), []);
  },
};

/** Declares the suite of one backend. */
export function storageBackendConformance(
  name: string,
  open: () => Promise<BackendUnderTest>,
  options: BackendConformanceOptions = {},
): void {
  describe(name, () => {
    const tries = { ...WHOLE_OBJECTS, ...LISTS, ...APPENDS, ...LOOK_UPS };
    for (const [behaviour, attempt] of Object.entries(tries)) {
      test(`${name}: ${behaviour}`, { skip: options.skip ?? false }, async () => {
        const { backend, release } = await open();
        try {
          await attempt(backend);
        } finally {
          await release();
        }
      });
    }
  });
}

async function keysOf(objects: AsyncIterable<ObjectInfo>): Promise<string[]> {
  return (await collect(objects)).map((object) => object.key);
}

function equalBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}
