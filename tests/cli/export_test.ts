import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { Change } from "../../src/engine/types.ts";
import { exportFormatOf, ExportReader } from "../../src/cli/_export_form.ts";
import { readPieces } from "../../src/cli/_input.ts";
import { checkName } from "../../src/engine/paths.ts";
import { lines, Place } from "./_place.ts";
import { run, TestIo, withFolder } from "./_run.ts";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
/** Text, bytes that are none, metadata, nothing, and what looks like the form's own words. */
const ODD: readonly Change[] = [
  { keyGroup: 7, data: utf8("one\ntwo") },
  { keyGroup: 0, data: Uint8Array.of(0xff, 0, 0x0a) },
  { keyGroup: -1, data: utf8('{"end":{}}') },
  { keyGroup: 2 ** 31 - 1, data: new Uint8Array() },
];

const J = ["--job", "j"];
const told = (changes: readonly Change[]) =>
  changes.map(({ keyGroup, data }) => [keyGroup, String.fromCharCode(...data)]);
async function exported(
  writers: Readonly<Record<string, readonly Change[]>>,
  ...args: string[]
): Promise<Uint8Array> {
  const from = new Place();
  await from.fill(writers);
  const { code, stdoutBytes, stderr } = await from.run(["export", ...J, ...args]);
  assert.equal(code, 0, stderr);
  return stdoutBytes;
}

for (const side of ["store", "url"] as const) {
  for (const format of ["ndjson", "cborseq"]) {
    test(`export and import --${side} keep every byte of every writer as ${format}`, async () => {
      const from = new Place(side);
      const uuid = await from.fill({ w: ODD, v: lines("x") });
      await (new Place()).fill({});
      const out = await from.run(["export", ...J, "--format", format]);
      assert.equal(out.code, 0, out.stderr);
      assert.match(out.stderr, /^Exported 5 changes of 2 writers of job j, /);
      assert.equal(new TextDecoder().decode(out.stdoutBytes).includes(`"at":"${uuid}"`), true);
      const to = new Place(side);
      for (const [already, more] of [[0, 5], [5, 0]]) {
        const stdin = cutInto(out.stdoutBytes, 7);
        const done = await to.run(["import", ...J, "--json"], { stdin });
        assert.equal(done.code, 0, done.stderr);
        assert.deepEqual([done.json.changes - done.json.alreadyThere, done.json.alreadyThere], [
          more,
          already,
        ]);
        assert.deepEqual(done.json.writers, [
          { writer: "v", nextOffset: 1 },
          { writer: "w", nextOffset: 4 },
        ]);
      }
      assert.deepEqual([await to.tailOf("w"), await to.tailOf("v")], [told(ODD), [[0, "x"]]]);
    });
  }
}

describe("export", () => {
  test("gives one writer, the tail or an older checkpoint where asked", async () => {
    const place = new Place();
    const uuid = await place.fill({ w: lines("one") });
    await place.fill({ w: lines("two"), v: lines("x") });
    await place.run(["append", ...J, "--writer", "w"], { stdin: "three\n" });
    const countOf = async (...args: string[]) => {
      const { stdout } = await place.run(["export", ...J, ...args]);
      return stdout.trimEnd().split("\n").length - 1;
    };
    assert.deepEqual(
      [
        await countOf(),
        await countOf("--at", uuid),
        await countOf("--at", "tail"),
        await countOf("--at", "tail", "--writer", "w"),
      ],
      [3, 1, 4, 3],
    );
    const none = await place.run(["export", ...J, "--writer", "u"]);
    assert.equal(none.code, 3, none.stderr);
  });

  test("says where a writer begins that was truncated; import begins there only when told", async () => {
    const from = new Place();
    await from.fill({ w: lines("gone") });
    {
      await using store = await from.open("", {});
      const job = await store.job("j");
      job.writer("w").truncate(job.writer("w").nextSequenceNumber());
      await job.checkpoint();
    }
    await from.fill({ w: lines("kept") });
    const { stdout } = await from.run(["export", ...J]);
    assert.match(stdout, /^\{"writer":"w","offset":1,"keyGroup":0,"data":"kept"\}\n/);
    const to = new Place();
    const refused = await to.run(["import", ...J], { stdin: stdout });
    assert.equal(refused.code, 4);
    assert.match(
      refused.stderr,
      /writer w: the export has it from offset 1 on; --rebase begins at/,
    );
    for (let i = 0; i < 2; i++) {
      const done = await to.run(["import", ...J, "--rebase"], { stdin: stdout });
      assert.equal(done.code, 0, done.stderr);
    }
    assert.deepEqual(await to.tailOf("w"), [[0, "kept"]]);
  });

  test("gives its file a name only when it is whole", () =>
    withFolder(async (folder) => {
      const place = new Place();
      await place.fill({ w: lines("one") });
      const output = join(folder, "out");
      const done = await place.run(["export", ...J, "-o", output]);
      assert.equal(done.code, 0, done.stderr);
      assert.match(await readFile(output, "utf8"), /^\{"writer":"w",.*\n\{"end":.*\}\n$/);
      const again = join(folder, "again");
      const io: TestIo = new TestIo({
        openStore: place.open,
        io: { writeError: () => {}, sleep: () => new Promise(() => {}) },
      });
      const create = io.io.createFile;
      Object.assign(io.io, {
        createFile: async (path: string) => {
          const file = await create(path);
          const write = (bytes: Uint8Array): Promise<void> => {
            io.signal("SIGTERM");
            return file.write(bytes);
          };
          return { ...file, write };
        },
      });
      const cut = await io.run(["export", "--store", "/disk/store", ...J, "-o", again]);
      assert.equal(cut.code, 143);
      assert.deepEqual(await readdir(folder), ["out"]);
    }));
});

describe("import", () => {
  test("takes one writer, under another name where asked", async () => {
    const stdin = await exported({ w: lines("one"), v: lines("x") });
    const to = new Place();
    assert.equal((await to.run(["import", ...J, "--writer", "v"], { stdin })).code, 0);
    const renamed = await to.run(["import", ...J, "--writer", "w", "--as", "copy"], { stdin });
    assert.equal(renamed.code, 0, renamed.stderr);
    const { json } = await to.run(["ls", ...J, "--json"]);
    assert.deepEqual(json.writers.map(({ writer }: { writer: string }) => writer), ["copy", "v"]);
    const both = await to.run(["import", ...J, "--as", "copy2"], { stdin });
    assert.match(both.stderr, /has writers v and w; name one with --writer/);
    const missing = await to.run(["import", ...J, "--writer", "u"], { stdin });
    assert.equal(missing.code, 3);
  });

  test("goes on where the job was resumed", async () => {
    const stdin = await exported({ w: lines("one", "two") });
    const to = new Place();
    await to.fill({ w: lines("one") });
    await to.run(["resume", ...J]);
    const done = await to.run(["import", ...J], { stdin });
    assert.match(done.stdout, /^Imported 1 change to job j, 1 change already there, .* w 2\n/);
  });

  test("refuses what does not fit what is there, and says what to do", async () => {
    const stdin = await exported({ w: lines("one", "two") });
    const to = new Place();
    await to.fill({ w: lines("other", "two") });
    const { code, stderr } = await to.run(["import", ...J], { stdin });
    assert.equal(code, 4);
    assert.match(stderr, /import to another job, or to another writer with --writer and --as/);
    assert.deepEqual(await to.tailOf("w"), [[0, "other"], [0, "two"]]);
  });

  test("reads a file, and makes nothing for one that it can't take", () =>
    withFolder(async (folder) => {
      const file = join(folder, "export");
      await writeFile(file, await exported({ w: lines("one") }));
      const store = ["--store", join(folder, "store")];
      const done = await run(["import", ...store, ...J, file]);
      assert.equal(done.code, 0, done.stderr);
      await writeFile(file, "something else");
      const other = ["--store", join(folder, "other")];
      for (const args of [[file], [join(folder, "missing")], [file, "--as", "../w"]]) {
        assert.equal((await run(["import", ...other, ...J, ...args])).code, 2);
      }
      assert.deepEqual((await readdir(folder)).sort(), ["export", "store"]);
    }));
});

describe("the form of an export", () => {
  /** Reads it as import does; throws what import says. */
  async function readAll(bytes: Uint8Array): Promise<void> {
    const format = exportFormatOf(bytes);
    if (format === undefined) throw new Error("none");
    const reader = new ExportReader(format);
    const never = new Promise<void>(() => {});
    const options = { lull: () => never, stopped: never };
    for await (const { value } of readPieces(cutInto(bytes, 16), reader.format, options)) {
      for (const { writer } of value) checkName("writer", writer);
    }
    reader.checkWhole();
  }

  for (const format of ["ndjson", "cborseq"]) {
    test(`tells a whole one from one that was cut off or changed, as ${format}`, async () => {
      const whole = await exported({ w: lines("one", "two", "three") }, "--format", format);
      await readAll(whole);
      for (let length = 0; length < whole.length; length++) {
        // A last line without its newline is whole all the same.
        if (format === "ndjson" && length === whole.length - 1) continue;
        await assert.rejects(readAll(whole.subarray(0, length)), `cut at ${length}`);
      }
      const changed = String.fromCharCode(...whole).replace("two", "2wo");
      await assert.rejects(readAll(latin1(changed)), {
        code: "invalid-change",
        message: /its end says that writer w has changes 0 to 3 with hash .*export again/,
      });
    });
  }

  const change = (offset: number, data: unknown = "a", writer = "w") =>
    `${JSON.stringify({ writer, offset, data })}\n`;
  const end = '{"end":{"writers":[]}}\n';
  const odd: [string, string, RegExp][] = [
    ["nothing", "", /none$/],
    ["an archive of another kind", "PK\x03\x04", /none$/],
    ["words", "something else", /none$/],
    ["what append takes", '{"keyGroup":0,"data":"x"}\n', /at its beginning comes a line without/],
    ["no JSON", '{"writer":"w"\n', /at its beginning comes what is no JSON/],
    [
      "a gap",
      change(0) + change(2),
      /after offset 1 of writer w comes writer w at offset 2, not at/,
    ],
    [
      "a writer that comes again elsewhere",
      change(0) + change(0, "b", "v") + change(0),
      /not at 1/,
    ],
    ["a bad offset", change(-1), /without "writer" and "offset"/],
    ["a bad change", change(0, 1), /wants either "data" or "base64"/],
    ["a bad name", change(0, "a", "../w"), /writer name/],
    ["more after its end", end + end, /goes on after its end/],
    ["an end that names no writers", '{"end":{}}\n', /without "writer" and "offset"/],
    [
      "an end of changes that did not come",
      '{"end":{"writers":[{"writer":"w","to":1}]}}\n',
      /w has/,
    ],
    ["no JSON in a text", "\x63{ab", /what is no JSON/],
    ["changes of nobody", "\x62{}\x82\0\x41a", /without "writer"/],
    ["deep nesting", `\x78\x19{"writer":"w","offset":0}${"\x81".repeat(99)}`, /change/],
    ["a huge text", `\x7b${"\xff".repeat(8)}{`, /no JSON/],
  ];
  for (const [name, text, message] of odd) {
    test(`is not ${name}`, async () => {
      await assert.rejects(readAll(latin1(text)), message);
    });
  }
});

function latin1(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

async function* cutInto(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) {
    yield await Promise.resolve(bytes.slice(at, at + size));
  }
}
