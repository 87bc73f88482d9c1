import assert from "node:assert/strict";
import { decode } from "cborg";
import { describe, test } from "node:test";
import { TidemarkError } from "../../src/engine/errors.ts";
import { encodeChanges } from "../../src/engine/format/change_input.ts";
import type { RestoredSlice, RestoreStream, RestoreTrailer } from "../../src/engine/types.ts";
import { createApp } from "../../src/http/mod.ts";
import { jobWith, storeWith } from "./_failing_store.ts";

const TRAILER: RestoreTrailer = { count: 3, hash: "0123456789abcdef", confirmed: 3 };

/** A restore that a test can watch. */
class WatchedRestore implements RestoreStream {
  asked = 0;
  isReturned = false;
  readonly trailer: Promise<RestoreTrailer>;

  constructor(readonly slicesMax: number, readonly failure?: Error) {
    this.trailer = failure === undefined ? Promise.resolve(TRAILER) : Promise.reject(failure);
  }

  async *slices(): AsyncGenerator<RestoredSlice> {
    try {
      for (let i = 0; i < this.slicesMax; i++) {
        this.asked++;
        const data = new TextEncoder().encode(`change ${i}`);
        const { bytes } = encodeChanges([{ keyGroup: 0, data }]);
        yield { writer: "w", firstOffset: i, count: 1, bytes };
      }
      if (this.failure !== undefined) throw this.failure;
    } finally {
      this.isReturned = true;
    }
  }

  [Symbol.asyncIterator](): never {
    throw new Error("The app asks for slices");
  }
}

function ask(restore: WatchedRestore, accept = "application/x-ndjson"): Promise<Response> {
  const app = createApp(storeWith(() => Promise.resolve(jobWith({ restore: () => restore }))));
  const url = "http://127.0.0.1/v1/jobs/j/writers/w/changes";
  return app.fetch(new Request(url, { headers: { accept } }));
}

function parseJson(bytes: Uint8Array) {
  return JSON.parse(new TextDecoder().decode(bytes));
}

/** Everything that came before the answer was broken off. */
async function readUntil(response: Response, failure: Error): Promise<Uint8Array> {
  const reader = response.body!.getReader();
  const bytes: number[] = [];
  await assert.rejects(async () => {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      bytes.push(...part.value);
    }
  }, failure);
  return Uint8Array.from(bytes);
}

describe("a restore as a stream", () => {
  test("reads on only when its reader does", async () => {
    const restore = new WatchedRestore(100);
    const response = await ask(restore);
    assert.equal(restore.asked, 1);
    const reader = response.body!.getReader();
    for (let i = 0; i < 3; i++) await reader.read();
    assert.equal(restore.asked <= 5, true, `asked for ${restore.asked} slices after 3 reads`);
    await reader.cancel();
    assert.equal(restore.isReturned, true);
  });

  test("lets go of the restore when its reader goes before the first read", async () => {
    const restore = new WatchedRestore(100);
    await (await ask(restore)).body!.cancel();
    assert.equal(restore.isReturned, true);
  });

  test("that fails tells why, and is cut off without a trailer", async () => {
    const failure = new TidemarkError(
      "corrupt",
      "Cannot read block 3 of file x: its hash is wrong",
    );
    const response = await ask(new WatchedRestore(1, failure));
    assert.equal(response.status, 200);
    const text = new TextDecoder().decode(await readUntil(response, failure));
    const lines = text.trimEnd().split("\n").map((line) => JSON.parse(line));
    assert.equal(lines.length, 2);
    assert.equal(lines[1].error.code, "corrupt");
    assert.match(lines[1].error.detail, /block 3/);
  });

  for (
    const [accept, decoded] of [["application/json", parseJson], [
      "application/cbor",
      decode,
    ]] as const
  ) {
    test(`as ${accept} that fails is whole, and tells why in place of its end`, async () => {
      const failure = new TidemarkError("corrupt", "Cannot read block 3 of file x");
      const response = await ask(new WatchedRestore(2, failure), accept);
      const content = decoded(await readUntil(response, failure));
      assert.deepEqual(Object.keys(content), ["changes", "error"]);
      assert.deepEqual([content.changes.length, content.error.code], [2, "corrupt"]);
    });
  }

  test("that fails before its first change is a problem document", async () => {
    const failure = new TidemarkError("snapshot-expired", "Cannot read on: it was collected");
    const response = await ask(new WatchedRestore(0, failure));
    assert.equal(response.status, 404);
    assert.equal((await response.json()).code, "snapshot-expired");
  });

  test("of nothing is a trailer alone", async () => {
    const response = await ask(new WatchedRestore(0));
    assert.equal(await response.text(), `{"end":${JSON.stringify(TRAILER)}}\n`);
  });
});
