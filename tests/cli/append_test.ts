import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { encodeChanges } from "../../src/engine/format/change_input.ts";
import { run, TestIo, withFolder, withStore } from "./_run.ts";

const TO_W = ["--job", "j", "--writer", "w"];
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

async function tailOf(store: string, format = "lines"): Promise<string> {
  const where = ["--store", store, ...TO_W, "--at", "tail", "--format", format];
  const { code, stdout, stderr } = await run(["restore", ...where]);
  assert.equal(code, 0, stderr);
  return stdout;
}

describe("append", () => {
  test("makes store and job, says so, and where the writer stands", () =>
    withFolder(async (folder) => {
      const store = join(folder, "new", "store");
      const { code, stdout, stderr } = await run(["append", "--store", store, ...TO_W], {
        stdin: "one\ntwo\r\nthree",
      });
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^Appended 3 changes to j\/w, .*durable; next offset 3\n$/);
      assert.match(stderr, new RegExp(`^New store ${store} `));
      assert.equal(await tailOf(store), "one\ntwo\r\nthree\n");
    }));

  test("answers as JSON", () =>
    withStore(async (store) => {
      const { json } = await run(["append", "--store", store, ...TO_W, "--json"], {
        stdin: "four\nfive\n",
      });
      const { bytes: _bytes, sequenceNumber: _sequenceNumber, ...rest } = json;
      assert.deepEqual(rest, {
        job: "j",
        writer: "w",
        count: 2,
        offset: 3,
        nextOffset: 5,
        ack: "durable",
      });
    }));

  test("reads a file, and the store from the environment", () =>
    withFolder(async (folder) => {
      const file = join(folder, "input.ndjson");
      await writeFile(file, '{"keyGroup":5,"data":"a"}\n{"base64":"AP8="}\n');
      const env = { TIDEMARK_STORE: join(folder, "store") };
      const { code, stderr } = await run(["append", ...TO_W, "--format", "ndjson", file], { env });
      assert.equal(code, 0, stderr);
      const expected = '{"keyGroup":5,"data":"a"}\n{"keyGroup":0,"base64":"AP8="}\n';
      assert.equal(await tailOf(env.TIDEMARK_STORE, "ndjson"), expected);
    }));

  test("reads a CBOR sequence in parts that end anywhere", () =>
    withFolder(async (folder) => {
      const store = join(folder, "store");
      const { bytes } = encodeChanges([
        { keyGroup: 1, data: utf8("a".repeat(300)) },
        { keyGroup: -1, data: utf8("") },
        { keyGroup: 70_000, data: utf8("c") },
      ]);
      const args = ["append", "--store", store, ...TO_W, "--format", "cborseq"];
      const { code, stderr } = await run(args, { stdin: inParts(bytes, 7) });
      assert.equal(code, 0, stderr);
      const where = ["--store", store, ...TO_W, "--at", "tail", "--format", "cborseq"];
      const restored = await run(["restore", ...where]);
      assert.deepEqual(restored.stdoutBytes, bytes);
    }));

  test("keeps every change of an input of many pieces", () =>
    withFolder(async (folder) => {
      const store = join(folder, "store");
      const line = "x".repeat(999);
      const count = 12_000;
      const { code, stdout, stderr } = await run(["append", "--store", store, ...TO_W], {
        stdin: inParts(utf8(`${line}\n`.repeat(count)), 100_003),
      });
      assert.equal(code, 0, stderr);
      assert.match(stdout, /Appended 12000 changes/);
      const restored = await tailOf(store);
      assert.equal(restored.length, count * 1000);
      assert.equal(restored.split(`${line}\n`).length, count + 1);
    }));

  test("of nothing is fine", () =>
    withStore(async (store) => {
      const { code, stdout } = await run(["append", "--store", store, ...TO_W]);
      assert.deepEqual([code, stdout], [0, "Nothing to append to j/w\n"]);
    }));

  test("at an offset is taken once", () =>
    withStore(async (store) => {
      const args = ["append", "--store", store, ...TO_W, "--offset", "3"];
      const said = [/Appended 2 changes/, /Appended 0 changes to j\/w, 2 changes already there/];
      for (const text of said) {
        const { code, stdout, stderr } = await run(args, { stdin: "four\nfive\n" });
        assert.equal(code, 0, stderr);
        assert.match(stdout, text);
      }
      const { json } = await run([...args, "--json"], { stdin: "four\n" });
      assert.equal(json.alreadyThere, 1);
      assert.equal(await tailOf(store), "one\ntwo\nthree\nfour\nfive\n");
      const other = await run(args, { stdin: "other\n" });
      assert.equal(other.code, 4);
      assert.match(other.stderr, /code: offset-conflict/);
      const ahead = await run([...args.slice(0, -1), "9"], { stdin: "x\n" });
      assert.match(ahead.stderr, /code: offset-mismatch/);
    }));

  test("asks for the run once the job was resumed", () =>
    withStore(async (store) => {
      await run(["resume", "--store", store, "--job", "j", "--at", "tail"]);
      const args = ["append", "--store", store, ...TO_W, "--offset", "3"];
      assert.match((await run(args, { stdin: "x" })).stderr, /code: run-required/);
      assert.equal((await run([...args, "--run", "2"], { stdin: "x" })).code, 0);
      const old = await run([...args, "--run", "1"], { stdin: "y" });
      assert.equal(old.code, 5);
      assert.match(old.stderr, /code: fenced/);
    }));

  test("says what is durable when the input turns out to be bad", () =>
    withFolder(async (folder) => {
      const store = join(folder, "store");
      const line = `{"data":"${"x".repeat(1000)}"}\n`;
      const { code, stdout, stderr } = await run(
        ["append", "--store", store, ...TO_W, "--format", "ndjson"],
        { stdin: inParts(utf8(line.repeat(6000) + "{bad}\n"), 1 << 20) },
      );
      assert.deepEqual([code, stdout], [2, ""]);
      const [, from, to] = /offsets (\d+) to (\d+); continue at/.exec(stderr) ?? [];
      assert.equal(from, "0", stderr);
      assert.match(stderr, /code: invalid-change/);
      const kept = (await tailOf(store)).trimEnd().split("\n").length;
      assert.equal(kept, Number(to) + 1);
    }));

  test("says so when nothing was taken", () =>
    withFolder(async (folder) => {
      const args = ["append", "--store", join(folder, "store"), ...TO_W, "--format", "ndjson"];
      const { code, stderr } = await run(args, { stdin: "{bad}\n" });
      assert.equal(code, 2);
      assert.match(stderr, /nothing of this input was acknowledged/);
    }));

  test("ends after the changes under way at the first signal, and at once at the second", () =>
    withFolder(async (folder) => {
      const store = join(folder, "store");
      const line = `${"x".repeat(999)}\n`;
      async function* endless(): AsyncGenerator<Uint8Array> {
        for (let part = 0; part < 64; part++) {
          if (part === 20) {
            test.signal("SIGTERM");
            test.signal("SIGINT");
          }
          yield await Promise.resolve(utf8(line.repeat(1000)));
        }
      }
      const test: TestIo = new TestIo({ stdin: endless() });
      const { code, stdout, stderr } = await test.run(["append", "--store", store, ...TO_W]);
      assert.equal(code, 143, stderr);
      assert.deepEqual(test.exits, [130]);
      const appended = Number(/Appended (\d+) changes/.exec(stdout)?.[1]);
      assert.equal(appended < 64_000 && appended > 0, true, stdout);
      assert.match(stderr, new RegExp(`Interrupted after ${appended} changes of this input\n`));
      assert.equal((await tailOf(store)).length, appended * 1000);
    }));

  test("goes on where a repeated input had been cut off within a piece", () =>
    withStore(async (store) => {
      const args = ["append", "--store", store, ...TO_W, "--offset", "0", "--json"];
      const { code, json, stderr } = await run(args, { stdin: "one\ntwo\nthree\nfour\n" });
      assert.equal(code, 0, stderr);
      assert.deepEqual([json.count, json.alreadyThere, json.nextOffset], [4, 3, 4]);
      assert.match(await tailOf(store), /\nthree\nfour\n$/);
      const other = await run(args, { stdin: "one\n2wo\nthree\nfour\nfive\n" });
      assert.equal(other.code, 4, other.stderr);
      assert.match(other.stderr, /offset-conflict/);
    }));

  test("shows progress to a person only", () =>
    withFolder(async (folder) => {
      const args = ["append", "--store", join(folder, "store"), ...TO_W];
      const watched = await run(args, { stdin: "x\n", isErrorTerminal: true });
      assert.match(watched.stderr, /\rappending {2}2 bytes, 1 change durable/);
      const piped = await run(args, { stdin: "x\n" });
      assert.equal(piped.stderr, "");
      const json = await run([...args, "--json"], { stdin: "x\n", isErrorTerminal: true });
      assert.equal(json.stderr, "");
    }));

  test("makes no store for an input or a name that it can't take", () =>
    withFolder(async (folder) => {
      const to = (job: string, writer: string) => ["--job", job, "--writer", writer];
      const wrong: [string[], RegExp][] = [
        [[...TO_W, join(folder, "missing")], /there is no such file/],
        [[...TO_W, folder], /it is a folder/],
        [to("../j", "w"), /Cannot use job name/],
        [to("j", "w."), /Cannot use writer name/],
      ];
      for (const [args, message] of wrong) {
        const { code, stderr } = await run(["append", "--store", join(folder, "s"), ...args]);
        assert.equal(code, 2, stderr);
        assert.match(stderr, message);
        assert.deepEqual(await readdir(folder), []);
      }
    }));

  test("names a file that it can't read", () =>
    withStore(async (store, folder) => {
      const missing = join(folder, "missing");
      const { code, stderr } = await run(["append", "--store", store, ...TO_W, missing]);
      assert.equal(code, 2);
      assert.match(stderr, /Cannot read .*missing: there is no such file/);
      const directory = await run(["append", "--store", store, ...TO_W, folder]);
      assert.match(directory.stderr, /it is a folder/);
    }));
});

async function* inParts(bytes: Uint8Array, partBytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += partBytes) {
    yield await Promise.resolve(bytes.slice(at, at + partBytes));
  }
}
