import assert from "node:assert/strict";
import process from "node:process";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { RecordingLogger } from "../doubles/recording_logger.ts";
import { SeededRandom } from "../doubles/seeded_random.ts";
import { type Answer, type TestApp, withJob } from "./_app.ts";

const SEQUENCE = "application/cbor-seq";
const ARRAY = "application/cbor";
const NDJSON = "application/x-ndjson";
const BYTES = "application/octet-stream";
const CHANGES = "/v1/jobs/j/writers/w/changes";
const MIB = 1024 * 1024;

function repeated(byte: number, count: number): number[] {
  return Array.from({ length: count }, () => byte);
}

/** CBOR that no encoder makes, or that is not of changes. */
const CBOR: Readonly<Record<string, readonly number[]>> = {
  "arrays in arrays": [...repeated(0x81, 100_000), 0x00],
  "maps in maps": [...repeated(0xa1, 50_000), 0x00],
  "tags on tags": [...repeated(0xc1, 100_000), 0x00],
  "indefinite arrays in each other": repeated(0x9f, 100_000),
  "an array of 2^64 - 1": [0x9b, ...repeated(0xff, 8)],
  "an array of 2^32": [0x9b, 0, 0, 0, 1, 0, 0, 0, 0],
  "bytes of 2^64 - 1": [0x82, 0x01, 0x5b, ...repeated(0xff, 8), 0x61],
  "bytes of 2^53": [0x82, 0x01, 0x5b, 0x00, 0x20, 0, 0, 0, 0, 0, 0, 0x61],
  "bytes of 2 GiB": [0x82, 0x01, 0x5a, 0x80, 0, 0, 0, 0x61],
  "a text of 2^63": [0x82, 0x01, 0x7b, 0x80, 0, 0, 0, 0, 0, 0, 0],
  "a tagged change": [0xc2, 0x82, 0x01, 0x41, 0x61],
  "a tagged key group": [0x82, 0xc0, 0x01, 0x41, 0x61],
  "bytes that never end": [0x82, 0x01, 0x5f, 0x41, 0x61],
  "pieces of another kind": [0x82, 0x01, 0x5f, 0x61, 0x61, 0xff],
  "pieces that never end themselves": [0x82, 0x01, ...repeated(0x5f, 1000)],
  "an end without a beginning": [0xff],
  "reserved lengths": [0x82, 0x01, 0x5c, 0x5d, 0x5e],
  "a key group below -1": [0x82, 0x21, 0x41, 0x61],
  "a key group of 2^31": [0x82, 0x1a, 0x80, 0, 0, 0, 0x41, 0x61],
  "a key group of -2^64": [0x82, 0x3b, ...repeated(0xff, 8), 0x41, 0x61],
  "a float for a key group": [0x82, 0xf9, 0x3c, 0x00, 0x41, 0x61],
  "not a number": [0x82, 0xf9, 0x7e, 0x00, 0x41, 0x61],
  "text for bytes": [0x82, 0x01, 0x61, 0x61],
  "three of two": [0x83, 0x01, 0x41, 0x61, 0x00],
  "one of two": [0x81, 0x01],
  "half a head": [0x82, 0x19, 0x01],
  "zeros": repeated(0x00, 100_000),
  "a map": [0xa1, 0x01, 0x41, 0x61],
};

async function send(app: TestApp, type: string, body: Uint8Array): Promise<Answer> {
  return await app.ask("POST", CHANGES, { body, type });
}

/** Where the writer stands; -1 before its first change. */
async function nextOffset(app: TestApp): Promise<number> {
  const { json } = await app.ask("GET", "/v1/jobs/j");
  return json.writers[0]?.nextOffset ?? -1;
}

/** Nothing was taken, and the next one is. */
async function stillTakes(app: TestApp, offset: number): Promise<void> {
  assert.equal(await nextOffset(app), offset);
  const answer = await send(app, SEQUENCE, Uint8Array.of(0x82, 0x01, 0x41, 0x61));
  assert.equal(answer.status, 200, answer.text);
}

describe("malformed CBOR", () => {
  for (const [what, bytes] of Object.entries(CBOR)) {
    test(`is refused whole, and nothing of it is taken: ${what}`, () =>
      withJob(async (app) => {
        const good = [0x82, 0x01, 0x41, 0x61];
        const bodies: [string, number[]][] = [
          [SEQUENCE, [...bytes]],
          [SEQUENCE, [...good, ...bytes]],
          [ARRAY, [0x82, ...good, ...bytes]],
          [ARRAY, [0x9f, ...good, ...bytes, 0xff]],
        ];
        for (const [type, body] of bodies) {
          const { status, json, text } = await send(app, type, Uint8Array.from(body));
          assert.equal(status, 400, text);
          assert.match(json.code, what.startsWith("bytes of") ? /change/ : /^invalid-change$/);
        }
        await stillTakes(app, -1);
      }));
  }

  test("of any kind is an answer, never a fault: random bytes, and changes with some flipped", () =>
    withJob(async (app) => {
      const seed = Date.now() % 1_000_000;
      const random = new SeededRandom(seed);
      const changes = Uint8Array.from(
        Array.from({ length: 20 }, (_, n) => [0x82, n % 24, 0x43, n, 0x82, 0x9f]).flat(),
      );
      for (let round = 0; round < 400; round++) {
        const body = changes.slice(0, 1 + random.below(changes.length));
        for (let flip = random.below(4); flip >= 0; flip--) {
          body[random.below(body.length)] = random.below(256);
        }
        const { status, text } = await app.ask("POST", `${CHANGES}?ack=buffered`, {
          body,
          type: round % 2 === 0 ? SEQUENCE : ARRAY,
        });
        assert.ok([200, 400].includes(status), `seed ${seed}, round ${round}: ${text}`);
      }
    }));
});

describe("malformed JSON", () => {
  const DEEP = 200_000;
  const BODIES: Readonly<Record<string, string>> = {
    "arrays in arrays": `{"metadata":${"[".repeat(DEEP)}${"]".repeat(DEEP)}}`,
    "objects in objects": `{"metadata":${'{"a":'.repeat(DEEP / 2)}1${"}".repeat(DEEP / 2)}}`,
    "half of it": `{"metadata":${"[".repeat(DEEP)}`,
    "no UTF-8": '{"identifier":"\xff"}',
    "a lone surrogate": '{"identifier":"\\ud800"}',
    "a prototype": '{"__proto__":{"identifier":"x"}}',
    "a constructor": '{"constructor":{"prototype":{"a":1}}}',
    "a number beyond all": '{"steps":1e999}',
    "many keys": `{${Array.from({ length: 50_000 }, (_, n) => `"k${n}":1`).join(",")}}`,
    "metadata above its limit": `{"metadata":"${"x".repeat(65_536)}"}`,
    "above the limit of JSON": `{"metadata":"${"x".repeat(MIB)}"}`,
  };
  for (const [what, text] of Object.entries(BODIES)) {
    test(`is an answer, never a fault: ${what}`, async () => {
      const logger = new RecordingLogger();
      await withJob(async (app) => {
        const body = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
        for (const path of ["/v1/jobs/j/checkpoints", "/v1/jobs/j/resume", "/v1/jobs/j/gc"]) {
          const answer = await app.ask("POST", path, { body, type: "application/json" });
          const isRefused = [400, 413].includes(answer.status);
          assert.ok(
            isRefused || (what === "a lone surrogate" && answer.status === 201),
            answer.text,
          );
          assert.ok(answer.text.length < 100_000, `${answer.text.length} bytes of answer`);
        }
        const listed = await app.ask("GET", "/v1/jobs/j/checkpoints");
        assert.equal(listed.status, 200);
      }, { logger });
      assert.deepEqual(logger.records.filter(({ level }) => level === "error"), []);
    });
  }

  test("of changes is refused with its line", () =>
    withJob(async (app) => {
      const lines = [
        "[".repeat(100_000),
        `{"data":${"[".repeat(100_000)}`,
        '{"keyGroup":1e308,"data":"a"}',
        '{"keyGroup":-2,"data":"a"}',
        '{"base64":"====","data":"a"}',
        '{"base64":"a"}',
        '{"__proto__":{"data":"a"}}',
        "null",
        '"x"',
        "\0",
      ];
      for (const line of lines) {
        const body = new TextEncoder().encode(`{"data":"a"}\n${line}\n`);
        const { status, json, text } = await send(app, NDJSON, body);
        assert.deepEqual([status, json.code], [400, "invalid-change"], text.slice(0, 300));
        assert.ok(text.length < 10_000, `${text.length} bytes of answer`);
      }
      await stillTakes(app, -1);
    }));
});

describe("bodies without end", () => {
  /** Zeros for ever; says how many were taken, and whether somebody let go. */
  function endless(pieceBytes = 65_536) {
    const told = { taken: 0, isCancelled: false };
    const piece = new Uint8Array(pieceBytes);
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        told.taken += pieceBytes;
        controller.enqueue(piece);
      },
      cancel: () => void (told.isCancelled = true),
    }, { highWaterMark: 0 });
    return { body, told };
  }

  test("are cut at the limit, whatever they are", () =>
    withJob(async (app) => {
      for (const type of [SEQUENCE, ARRAY, NDJSON]) {
        const { body, told } = endless();
        const answer = await app.ask("POST", CHANGES, { body, type });
        assert.equal(answer.status, 413, answer.text);
        assert.ok(told.taken <= 2 * MIB, `${told.taken} bytes were taken`);
      }
      for (const path of ["/v1/jobs/j/checkpoints", "/v1/jobs/j/resume"]) {
        const { body, told } = endless();
        const answer = await app.ask("POST", path, { body, type: "application/json" });
        assert.equal(answer.status, 413, answer.text);
        assert.ok(told.taken <= 2 * MIB, `${told.taken} bytes were taken`);
      }
      await stillTakes(app, -1);
    }, { bodyBytesMax: MIB }));

  test("leave no memory held: as many as one likes, one after the other", () =>
    withJob(async (app) => {
      for (let round = 0; round < 50; round++) {
        const { body } = endless();
        assert.equal((await app.ask("POST", CHANGES, { body, type: SEQUENCE })).status, 413);
      }
      const body = new TextEncoder().encode(`{"data":"${"x".repeat(MIB - 100)}"}\n`);
      assert.equal((await send(app, NDJSON, body)).status, 200);
    }, { bodyBytesMax: MIB, bodyBytesInFlightMax: MIB }));

  test("that say another length than they have are refused", () =>
    withJob(async (app) => {
      const body = new TextEncoder().encode('{"data":"a"}\n');
      for (const length of ["1", "100", "-1", "1e3", "0x10", "9".repeat(30), "", "13, 13"]) {
        const headers = { "content-length": length };
        const answer = await app.ask("POST", CHANGES, { body, type: NDJSON, headers });
        assert.ok([400, 413].includes(answer.status), `${length}: ${answer.text}`);
      }
      await stillTakes(app, -1);
    }));
});

describe("compressed bodies", () => {
  const headers = { "content-encoding": "gzip" };

  test("that grow without measure are cut at the limit", () =>
    withJob(async (app) => {
      const bomb = gzipSync(new Uint8Array(256 * MIB), { level: 1 });
      const before = process.memoryUsage().rss;
      for (let round = 0; round < 3; round++) {
        for (const type of [SEQUENCE, NDJSON]) {
          const answer = await app.ask("POST", CHANGES, { body: bomb, type, headers });
          assert.equal(answer.status, 413, answer.text);
        }
        const json = { body: bomb, type: "application/json", headers };
        assert.equal((await app.ask("POST", "/v1/jobs/j/resume", json)).status, 413);
      }
      const grownMiB = (process.memoryUsage().rss - before) / MIB;
      assert.ok(grownMiB < 200, `${grownMiB} MiB`);
      await stillTakes(app, -1);
    }, { bodyBytesMax: MIB }));

  test("that are none, or cut off, or packed twice are refused", () =>
    withJob(async (app) => {
      const line = new TextEncoder().encode('{"data":"a"}\n');
      const packed = gzipSync(line);
      const flipped = Uint8Array.from(packed);
      flipped[packed.length - 6] ^= 0xff;
      const bad = [line, packed.slice(0, -1), packed.slice(0, 12), flipped, gzipSync(packed)];
      for (const body of bad) {
        const answer = await app.ask("POST", CHANGES, { body, type: NDJSON, headers });
        assert.equal(answer.status, 400, answer.text);
      }
      for (const encoding of ["gzip, gzip", "br", "deflate", "compress", "zstd", "*"]) {
        const asked = { body: packed, type: NDJSON, headers: { "content-encoding": encoding } };
        assert.equal((await app.ask("POST", CHANGES, asked)).status, 415, encoding);
      }
      await stillTakes(app, -1);
      const good = await app.ask("POST", CHANGES, { body: packed, type: NDJSON, headers });
      assert.equal(good.status, 200);
      const state = await app.ask("POST", "/v1/jobs/j/states/s", {
        body: bad[1],
        type: BYTES,
        headers,
      });
      assert.equal(state.status, 400);
    }));
});
