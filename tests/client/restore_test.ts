import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TidemarkClient } from "../../src/client/mod.ts";
import { encodeChanges } from "../../src/engine/format/change_input.ts";
import type { RestoreOptions, RestoreStream, RestoreTrailer } from "../../src/engine/types.ts";
import { type Bench, bytesOf, pass, withClient } from "./_client.ts";
import type { Fate, Sent } from "./_lossy_fetch.ts";

function isRestore({ method, path }: Sent): boolean {
  return method === "GET" && path.includes("/changes");
}

function isState({ method, path }: Sent): boolean {
  return method === "GET" && path.includes("/states/");
}

const WRITERS: Readonly<Record<string, readonly string[]>> = {
  v: ["x", "y"],
  w: Array.from({ length: 50 }, (_, n) => `line ${n} ${"-".repeat(n)}`),
};

/** Makes a checkpoint of both writers, and something after it. */
async function fill({ store }: Bench): Promise<string> {
  const job = await store.job("j");
  for (const [id, lines] of Object.entries(WRITERS)) {
    lines.forEach((line, n) => job.writer(id).append(n % 5, bytesOf(line)));
  }
  const { uuid } = await job.checkpoint({ states: { index: bytesOf("snapshot") } });
  job.writer("w").append(0, bytesOf("after"));
  await job.writer("w").persist();
  return uuid;
}

interface Found {
  readonly lines: Record<string, string[]>;
  readonly offsets: Record<string, number[]>;
  readonly trailer: RestoreTrailer;
}

async function restored({ client, clock }: Bench, options: RestoreOptions = {}): Promise<Found> {
  const lines: Record<string, string[]> = {};
  const offsets: Record<string, number[]> = {};
  const restore = client.reader("j").restore(options);
  const read = (async () => {
    for await (const { writer, offset, data } of restore) {
      (lines[writer] ??= []).push(new TextDecoder().decode(data));
      (offsets[writer] ??= []).push(offset);
    }
  })();
  await pass(clock, read);
  return { lines, offsets, trailer: await restore.trailer };
}

/** Begins to read, and ends the job's run: the rest is not to come from another one. */
async function endsWithRun({ store, clock }: Bench, restore: RestoreStream): Promise<void> {
  const iterator = restore[Symbol.asyncIterator]();
  await iterator.next();
  await (await store.job("j")).resume();
  const rest = (async () => {
    for (let next = await iterator.next(); !next.done; next = await iterator.next());
  })();
  await assert.rejects(pass(clock, rest), { code: "snapshot-expired" });
  await assert.rejects(restore.trailer, { code: "snapshot-expired" });
}

describe("a restore", () => {
  test("gives every writer's changes with their offsets, and a trailer for all of it", () =>
    withClient(async (bench) => {
      const uuid = await fill(bench);
      for (const at of [undefined, "latest", uuid]) {
        const { lines, offsets, trailer } = await restored(bench, { at });
        assert.deepEqual(lines, WRITERS);
        assert.deepEqual(offsets.w, [...WRITERS.w.keys()]);
        assert.deepEqual([trailer.count, trailer.confirmed], [52, 52]);
        const own = (await bench.store.job("j")).restore({ at });
        for await (const _ of own);
        assert.deepEqual(trailer, await own.trailer);
      }
      const tail = await restored(bench, { at: "tail", writers: ["w"], from: 49 });
      assert.deepEqual(tail.lines, { w: [WRITERS.w[49], "after"] });
      assert.deepEqual(tail.offsets, { w: [49, 50] });
    }));

  test("of some key groups says where each change stands", () =>
    withClient(async (bench) => {
      await fill(bench);
      const { lines, offsets, trailer } = await restored(bench, { keyGroups: [1, 2], from: 40 });
      assert.deepEqual(offsets, { w: [41, 42, 46, 47] });
      assert.deepEqual(lines.w, [41, 42, 46, 47].map((offset) => WRITERS.w[offset]));
      const own = (await bench.store.job("j")).restore({ keyGroups: [1, 2], from: 40 });
      for await (const _ of own);
      assert.deepEqual(trailer, await own.trailer);
    }));

  for (const fate of ["cut", "short"] as const) {
    test(`goes on at the next offset where its connection breaks (${fate})`, () =>
      withClient(async (bench) => {
        const { net } = bench;
        await fill(bench);
        let breaks = 0;
        net.fate = (sent) => isRestore(sent) && breaks++ < 6 ? fate : "answered";
        net.cutAt = (length) => Math.floor(length / 3);
        for (const at of ["latest", "tail"]) {
          breaks = 0;
          const { lines, offsets, trailer } = await restored(bench, { at });
          const wanted = at === "latest" ? WRITERS.w : [...WRITERS.w, "after"];
          assert.deepEqual(lines, { ...WRITERS, w: wanted });
          assert.deepEqual(offsets.w, [...wanted.keys()]);
          assert.deepEqual(trailer.count, wanted.length + 2);
          assert.deepEqual(trailer.confirmed, trailer.count);
          assert.ok(breaks >= 7, `${breaks}`);
        }
      }));
  }

  test("is given up when nothing came for the deadline", () =>
    withClient(async (bench) => {
      await fill(bench);
      bench.net.fate = (sent) => isRestore(sent) ? "short" : "answered";
      bench.net.cutAt = () => 0;
      await assert.rejects(restored(bench), { code: "server-unreachable" });
      bench.net.fate = (sent) => isRestore(sent) ? "lost-before" : "answered";
      await assert.rejects(restored(bench), { code: "server-unreachable" });
    }));

  test("is not continued in another run's tail", () =>
    withClient(async (bench) => {
      await fill(bench);
      let breaks = 0;
      bench.net.fate = (sent) => isRestore(sent) && breaks++ === 0 ? "cut" : "answered";
      const restore = bench.client.reader("j").restore({ at: "tail", writers: ["w"] });
      await endsWithRun(bench, restore);
    }));

  test("does not take an answer for whole that lacks something, though its trailer agrees", () =>
    withClient(async (bench) => {
      const { store, net, clock } = bench;
      await fill(bench);
      // A sidecar that reads another job: the same writer, with fewer changes.
      const other = await store.job("other");
      other.writer("w").append(0, bytesOf("line 0 "));
      await other.checkpoint();
      const liar = new TidemarkClient("http://sidecar", {
        clock,
        fetch({ url, headers }) {
          const elsewhere = url.replace(/jobs\/j\/(.*changes.*)at=[^&]+/, "jobs/other/$1at=latest");
          return net.fetch(new Request(elsewhere, { headers }));
        },
      });
      await assert.rejects(restored({ ...bench, client: liar }, { writers: ["w"] }), {
        code: "server-unreachable",
        message: /ends at offset 1, and the checkpoint has changes up to 50/,
      });
    }));

  test("of what is not there says so", () =>
    withClient(async (bench) => {
      await bench.store.job("j");
      await assert.rejects(restored(bench), { code: "checkpoint-not-found" });
      await fill(bench);
      await assert.rejects(restored(bench, { writers: ["none"] }), { code: "writer-not-found" });
      await assert.rejects(restored(bench, { at: "tail", writers: ["none"] }), {
        code: "writer-not-found",
      });
    }));

  test("falls back to an older checkpoint where asked", () =>
    withClient(async (bench) => {
      await fill(bench);
      const { lines } = await restored(bench, { fallback: true });
      assert.deepEqual(lines, WRITERS);
    }));

  test("that may fall back has the writers of an older checkpoint, ended ones too", () =>
    withClient(async (bench) => {
      const uuid = await fill(bench);
      const job = await bench.store.job("j");
      job.retireWriter("v");
      for (let times = 0; times < 2; times++) await job.checkpoint();
      const latest = (await restored(bench)).lines;
      assert.deepEqual((await restored(bench, { fallback: true })).lines, latest);
      const { lines } = await restored(bench, { fallback: true, at: uuid });
      assert.deepEqual(lines, WRITERS);
      for (const at of ["latest", "01890a5d-ac96-774b-bcce-b302099a8057"]) {
        await bench.store.job("empty");
        const none = bench.client.reader("empty").restore({ fallback: true, at });
        await assert.rejects(pass(bench.clock, none[Symbol.asyncIterator]().next()), {
          code: "checkpoint-not-found",
        });
      }
    }));

  test("that may fall back reads every writer of one checkpoint, though a newer one is made", () =>
    withClient(async (bench) => {
      await fill(bench);
      const restore = bench.client.reader("j").restore({ fallback: true });
      const iterator = restore[Symbol.asyncIterator]();
      const read: string[] = [];
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
        if (read.length === 0) await (await bench.store.job("j")).checkpoint();
        read.push(new TextDecoder().decode(next.value.data));
      }
      assert.deepEqual(read, [...WRITERS.v, ...WRITERS.w]);
    }));

  test("of a tail does not put writers of two runs together", () =>
    withClient(async (bench) => {
      await fill(bench);
      const restore = bench.client.reader("j").restore({ at: "tail" });
      await endsWithRun(bench, restore);
    }));

  test("ends with its signal, when it is left, and can be iterated once", () =>
    withClient(async (bench) => {
      await fill(bench);
      const reader = bench.client.reader("j");
      const leave = new AbortController();
      const restore = reader.restore({ signal: leave.signal });
      await assert.rejects(async () => {
        for await (const _ of restore) leave.abort(new Error("enough"));
      }, /enough/);
      await assert.rejects(restore.trailer, /enough/);
      await assert.rejects(async () => {
        for await (const _ of restore);
      }, TypeError);
      const left = reader.restore();
      for await (const _ of left) break;
      await assert.rejects(left.trailer, { code: "aborted" });
    }));

  test("keeps only a piece in memory", () =>
    withClient(async (bench) => {
      const job = await bench.store.job("j");
      const data = new Uint8Array(1024 * 1024);
      for (let n = 0; n < 8; n++) {
        data.fill(n);
        await job.writer("w").appendAt(undefined, encodeChanges([{ keyGroup: 0, data }]));
      }
      await job.checkpoint();
      const sizes: number[] = [];
      for await (const { bytes } of bench.client.reader("j").restore().slices()) {
        sizes.push(bytes.length);
      }
      assert.ok(Math.max(...sizes) < 4 * data.length, `${sizes}`);
    }));
});

describe("a state", () => {
  const fates: Fate[] = ["lost-before", "lost-after", "refused"];
  for (const fate of fates) {
    test(`is read although an answer is lost (${fate})`, () =>
      withClient(async (bench) => {
        const uuid = await fill(bench);
        let reads = 0;
        bench.net.fate = (sent) => isState(sent) && reads++ === 0 ? fate : "answered";
        const reader = bench.client.reader("j");
        const read = (async () => {
          let text = "";
          for await (const piece of reader.readState("index", { at: uuid })) {
            text += new TextDecoder().decode(piece);
          }
          return text;
        })();
        assert.equal(await pass(bench.clock, read), "snapshot");
      }));
  }

  test("that does not come whole is none", () =>
    withClient(async (bench) => {
      await fill(bench);
      for (const fate of ["cut", "short"] as const) {
        bench.net.fate = (sent) => isState(sent) ? fate : "answered";
        await assert.rejects(async () => {
          for await (const _ of bench.client.reader("j").readState("index"));
        }, { code: "server-unreachable" });
      }
    }));
});
