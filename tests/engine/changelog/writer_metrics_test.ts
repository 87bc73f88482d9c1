import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { throwsWith } from "../_engine.ts";
import { WriterBench } from "./_writer_bench.ts";

describe("ChangelogWriter counts", () => {
  test("the uploads that begin by themselves, not those that somebody asks for", () => {
    const bench = new WriterBench({ preemptivePersistBytes: 20 });
    bench.append("12345678");
    bench.writer.upload();
    assert.equal(bench.counted.count("tidemark_preemptive_uploads_total"), 0);
    bench.append("12345678", "12345678");
    assert.equal(bench.scheduler.tasks.length, 2);
    assert.equal(bench.counted.count("tidemark_preemptive_uploads_total"), 1);
  });

  test("the appends that it refuses for want of memory, and no others", () => {
    const bench = new WriterBench({ softBytes: 100, hardBytes: 100 });
    bench.append("x".repeat(90));
    throwsWith(() => bench.append("x".repeat(10)), "backpressure");
    throwsWith(() => bench.append("x".repeat(301)), "change-too-large");
    assert.equal(bench.counted.count("tidemark_refused_appends_total"), 1);
  });
});
