import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { EventEmitter, once } from "node:events";
import process from "node:process";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { openStore } from "../../mod.ts";
import type { LentCodec } from "../../src/engine/port/codec_thread.ts";
import { beginCodecWorker } from "../../src/runtime/_codec_worker.ts";
import { WorkerCodecThread } from "../../src/runtime/worker_codec_thread.ts";
import { type BlocksCall, Codec, HASH_STATE_BYTES, SLOP_BYTES } from "../../wasm/mod.ts";
import { RecordingLogger } from "../doubles/recording_logger.ts";
import { SeededRandom } from "../doubles/seeded_random.ts";

const KIB = 1024;
const SEED = 17;
const BLOCK_BYTES = 64 * KIB;

/** Text that compresses, the same for the same number. */
function contentOf(number: number, length: number): Uint8Array {
  const random = new SeededRandom(SEED + number);
  const words = Array.from({ length: 50 }, () => random.nextUint32().toString(36));
  const text = Array.from({ length: length / 4 }, () => random.pick(words)).join(" ");
  return new TextEncoder().encode(text).subarray(0, length);
}

function callOf(codec: Codec, length: number): BlocksCall {
  const contentState = codec.arenaStart;
  const frameState = contentState + HASH_STATE_BYTES;
  const entries = frameState + HASH_STATE_BYTES;
  const source = entries + 64 * KIB;
  const target = source + length + SLOP_BYTES;
  codec.xxh32Begin(contentState);
  codec.xxh64Begin(frameState);
  const isCompressed = true;
  return {
    source,
    length,
    blockBytes: BLOCK_BYTES,
    target,
    contentState,
    frameState,
    entries,
    isCompressed,
  };
}

/** Everything that a call leaves behind. */
function resultOf(codec: Codec, call: BlocksCall, end: number): unknown {
  const { contentState, frameState, entries, target } = call;
  const hashes = [codec.xxh32Digest(contentState), codec.xxh64Digest(frameState)];
  const count = Math.ceil(call.length / BLOCK_BYTES);
  const told = codec.bytes.slice(entries, entries + 16 * count);
  // Of what lies there now; the state knows what was written.
  return [hashes, [...told], end - target, codec.xxh64(target, Math.max(0, end - target))];
}

function encodeHere(content: Uint8Array): unknown {
  const codec = Codec.create();
  const call = callOf(codec, content.length);
  codec.bytes.set(content, call.source);
  return resultOf(codec, call, codec.encodeBlocks(call));
}

async function encodeThere({ codec, contentAt, encodeBlocks }: LentCodec, bytes: Uint8Array) {
  const call = callOf(codec, bytes.length);
  const { memory, at } = contentAt(call.source);
  memory.set(bytes, at);
  return resultOf(codec, call, await encodeBlocks(call));
}

function newThread(threads: number, beginWorker?: () => Worker) {
  const logger = new RecordingLogger();
  return { thread: new WorkerCodecThread({ logger, threads, beginWorker }), logger };
}

for (const threads of [1, 2]) {
  describe(`WorkerCodecThread with ${threads}`, () => {
    test("leaves in a codec what the codec itself would have, call after call", async () => {
      console.log(`seed ${SEED}`);
      const { thread, logger } = newThread(threads);
      const lent = thread.lend()!;
      const lengths = [1, 100, BLOCK_BYTES, BLOCK_BYTES + 1, 300 * KIB, 4096 * KIB];
      const incompressible = new Uint8Array(500 * KIB);
      new SeededRandom(SEED).fill(incompressible);
      const contents = [
        ...lengths.map((length, i) => contentOf(i, length)),
        incompressible,
      ];
      for (const content of contents) {
        assert.deepEqual(await encodeThere(lent, content), encodeHere(content));
      }
      lent.release();
      await thread.close();
      assert.deepEqual(logger.records, []);
    });

    test("keeps codecs apart whose calls run at the same time", async () => {
      const { thread } = newThread(threads);
      const contents = [0, 1, 2, 3].map((i) => contentOf(i, 200 * KIB + i));
      const lent = contents.map(() => thread.lend()!);
      const found = await Promise.all(lent.map((one, i) => encodeThere(one, contents[i])));
      assert.deepEqual(found, contents.map(encodeHere));
      lent.forEach((one) => one.release());
      await thread.close();
    });

    test("has four codecs at most, and lends them again", async () => {
      const { thread } = newThread(threads);
      const codecs = new Set<Codec>();
      for (let round = 0; round < 3; round++) {
        const lent = [0, 1, 2, 3].map(() => {
          assert.ok(thread.canLend);
          return thread.lend()!;
        });
        assert.equal(thread.canLend, false);
        assert.equal(thread.lend(), undefined);
        for (const { codec } of lent) codecs.add(codec);
        lent.forEach((one) => one.release());
        await Promise.resolve();
      }
      assert.equal(codecs.size, 4);
      await thread.close();
    });

    test("lends a codec that was given back once its call is done, not before", async () => {
      const { thread } = newThread(threads);
      const lent = thread.lend()!;
      const encoding = encodeThere(lent, contentOf(0, 1024 * KIB));
      lent.release();
      await Promise.resolve();
      assert.notEqual(thread.lend()!.codec, lent.codec);
      await encoding;
      await Promise.resolve();
      assert.equal(thread.lend()!.codec, lent.codec);
      await thread.close();
    });

    test("fails what it leaves undone when it is closed, and lends no more", async () => {
      const { thread, logger } = newThread(threads);
      const lent = thread.lend()!;
      // Some of them may be done by then: the worker ends when it comes to it.
      const content = contentOf(0, 4096 * KIB);
      const encoding = Array.from({ length: 40 }, () => encodeThere(lent, content));
      const ended = Promise.allSettled(encoding);
      await thread.close();
      await thread.close();
      const last = (await ended).at(-1)!;
      assert.equal(last.status === "rejected" && last.reason.code, "closed");
      await assert.rejects(encodeThere(lent, contentOf(0, KIB)), { code: "closed" });
      lent.release();
      assert.equal(thread.canLend, false);
      assert.equal(thread.lend(), undefined);
      assert.deepEqual(logger.records, []);
    });

    for (const [how, end] of [["ends", "process.exit(3)"], ["fails", "null.x"]]) {
      test(`does itself what a thread leaves undone that ${how}, and says so once`, async () => {
        const broken = `require("node:worker_threads").parentPort.on("message", ({ calls }) => {
      if (calls !== undefined) ${end};
    });`;
        const { thread, logger } = newThread(
          threads,
          () => new Worker(broken, { eval: true, env: {} }),
        );
        const lent = [thread.lend()!, thread.lend()!];
        const contents = [contentOf(0, 300 * KIB), contentOf(1, 300 * KIB)];
        const found = await Promise.all(lent.map((one, i) => encodeThere(one, contents[i])));
        assert.deepEqual(found, contents.map(encodeHere));
        assert.equal(thread.lend(), undefined);
        assert.deepEqual(logger.records.map(({ level, message }) => [level, message]), [
          ["warning", "The thread that encodes is gone: large batches hold up requests now"],
        ]);
        await thread.close();
      });
    }

    test("lends none where no thread can begin, and says so once", async () => {
      const { thread, logger } = newThread(threads, () => {
        throw new Error("no threads here");
      });
      assert.equal(thread.lend(), undefined);
      assert.equal(thread.canLend, false);
      assert.equal(thread.lend(), undefined);
      assert.equal(logger.records.length, 1);
      assert.match(String(logger.records[0].fields?.error), /no threads here/);
      await thread.close();
    });

    test("refuses a call that does not lie in the arena, and goes on", async () => {
      const { thread } = newThread(threads);
      const lent = thread.lend()!;
      const call = callOf(lent.codec, 300 * KIB);
      await assert.rejects(lent.encodeBlocks({ ...call, target: 0 }), RangeError);
      const content = contentOf(0, 300 * KIB);
      assert.deepEqual(await encodeThere(lent, content), encodeHere(content));
      await thread.close();
    });
  });
}

/** A worker that does nothing, and ends when a test says so. */
class IdleWorker extends EventEmitter {
  readonly calls: string[] = [];
  readonly ref = (): void => void this.calls.push("ref");
  readonly unref = (): void => void this.calls.push("unref");
  readonly postMessage = (): void => {};
  readonly terminate = (): Promise<number> => {
    this.calls.push("terminate");
    return new Promise(() => {});
  };
}

test("does itself what one of two threads leaves undone, ends the other, and says so once", async () => {
  const broken = `require("node:worker_threads").parentPort.on("message", ({ calls }) => {
    if (calls !== undefined) process.exit(3);
  });`;
  for (const which of [0, 1]) {
    const workers: Worker[] = [];
    const { thread, logger } = newThread(2, () => {
      const isBroken = workers.length === which;
      workers.push(isBroken ? new Worker(broken, { eval: true, env: {} }) : beginCodecWorker());
      return workers.at(-1)!;
    });
    const lent = thread.lend()!;
    const ended = Promise.all(workers.map((worker) => once(worker, "exit")));
    const contents = [contentOf(0, 4096 * KIB), contentOf(1, 300 * KIB)];
    for (const content of contents) {
      assert.deepEqual(await encodeThere(lent, content), encodeHere(content));
    }
    await ended;
    assert.deepEqual([workers.length, thread.lend(), logger.records.length], [2, undefined, 1]);
    await thread.close();
  }
});

test("goes on with one thread where another can't begin, and says so once", async () => {
  let begun = 0;
  const { thread, logger } = newThread(2, () => {
    if (begun++ > 0) throw new Error("no more threads here");
    return beginCodecWorker();
  });
  const lent = [thread.lend()!, thread.lend()!];
  const content = contentOf(0, 300 * KIB);
  for (const one of lent) assert.deepEqual(await encodeThere(one, content), encodeHere(content));
  assert.deepEqual([begun, logger.records.length], [2, 1]);
  assert.match(String(logger.records[0].fields?.error), /no more threads here/);
  await thread.close();
});

test("an answer that comes while the thread ends does not let the process end before it", () => {
  const worker = new IdleWorker();
  const { thread } = newThread(1, () => worker as unknown as Worker);
  const lent = thread.lend()!;
  void encodeThere(lent, contentOf(0, KIB));
  void thread.close();
  worker.emit("message", lent.codec.arenaStart);
  assert.deepEqual(worker.calls, ["unref", "ref", "terminate"]);
});

test("a thread of which another has ended is waited for, and ended when it is done, not before", async () => {
  const workers = [new IdleWorker(), new IdleWorker()];
  const left = [...workers];
  const { thread } = newThread(2, () => left.shift() as unknown as Worker);
  const lent = thread.lend()!;
  let isDone = false;
  const encoding = encodeThere(lent, contentOf(0, 300 * KIB)).finally(() => isDone = true);
  workers[0].emit("exit", 3);
  await new Promise((resolve) => setImmediate(resolve));
  // It works in the codec's memory yet.
  assert.deepEqual([isDone, workers[1].calls], [false, ["unref", "ref"]]);
  workers[1].emit("message", lent.codec.arenaStart);
  assert.deepEqual(workers[1].calls, ["unref", "ref", "terminate"]);
  assert.deepEqual(await encoding, encodeHere(contentOf(0, 300 * KIB)));
});

const PROGRAM = `
import { openStore } from ${JSON.stringify(new URL("../../mod.ts", import.meta.url).href)};
const store = await openStore("memory:", { codecThreads: 1, persistDelayMs: 0 });
const writer = (await store.job("orders")).writer("totals");
writer.append(0, new Uint8Array(3_000_000));
await writer.persist();
console.log("durable", writer.durableOffset);
`;

/** What runs a program that is given as text. */
function evaluate(): string[] {
  if (process.versions.deno !== undefined) return ["eval", "--quiet"];
  if (process.versions.bun !== undefined) return ["--eval"];
  const loader = fileURLToPath(new URL("../../tools/node_typescript.mjs", import.meta.url));
  return ["--import", loader, "--input-type=module", "--eval"];
}

test("openStore has a thread if the setting says so", async () => {
  const { Memory } = WebAssembly;
  let shared = 0;
  WebAssembly.Memory = class extends Memory {
    constructor(descriptor: WebAssembly.MemoryDescriptor) {
      super(descriptor);
      if (descriptor.shared) shared += 1;
    }
  };
  try {
    for (const codecThreads of [0, 1]) {
      await using store = await openStore("memory:", { codecThreads, persistDelayMs: 0 });
      const writer = (await store.job("orders")).writer("totals");
      writer.append(0, new Uint8Array(1_000_000));
      await writer.persist();
      assert.equal(shared, codecThreads);
    }
  } finally {
    WebAssembly.Memory = Memory;
  }
});

const CLOSING = `
import { WorkerCodecThread } from ${
  JSON.stringify(new URL("../../src/runtime/worker_codec_thread.ts", import.meta.url).href)
};
for (let round = 0; round < 30; round++) {
  const thread = new WorkerCodecThread({ logger: { log() {} }, threads: 1 + round % 2 });
  const { codec, encodeBlocks } = thread.lend();
  const at = codec.arenaStart;
  const call = { source: at + 2048, length: 2 ** 20, blockBytes: 65536, target: at + 2 ** 22, isCompressed: true };
  encodeBlocks({ ...call, contentState: at, frameState: at + 72, entries: at + 144 }).catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, round % 10 * 3));
  await thread.close();
}
console.log("closed");
`;

test("a thread that works can be closed: whoever waits for that goes on", () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...evaluate(), CLOSING], {
    encoding: "utf8",
    timeout: 60_000,
  });
  assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: "closed\n", stderr: "" });
});

test("a process whose store was not closed ends all the same, once its uploads are done", () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...evaluate(), PROGRAM], {
    encoding: "utf8",
    timeout: 60_000,
  });
  assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: "durable 1\n", stderr: "" });
});
