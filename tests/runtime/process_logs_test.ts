import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { TidemarkError } from "../../src/engine/errors.ts";
import type { LogLevel } from "../../src/engine/port/logger.ts";
import { createApp } from "../../src/http/mod.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import {
  type LogFormat,
  openProcessLogs,
  type ProcessLogs,
} from "../../src/runtime/process_logs.ts";

/** What would move a cursor, clear a terminal, begin a line, turn the text around, or be filled in. */
const EVIL = '%s{code}{x}\r\n2026 ERROR forged\u001b[2J\u009b31m\u2028\u202e\u0000\u007f"';
// deno-lint-ignore no-control-regex
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;

let open: ProcessLogs | undefined;
afterEach(() => open?.close());

function logs(format: LogFormat, level: LogLevel = "debug"): [ProcessLogs, string[]] {
  const lines: string[] = [];
  open = openProcessLogs({ format, level, write: (line) => void lines.push(line) });
  return [open, lines];
}

describe("process logs", () => {
  test("write JSON, a line for each record, with the fields as properties", () => {
    const [{ logger }, lines] = logs("json");
    logger("engine").log("warning", "Cannot collect", { job: "j", epoch: 3, size: 7n });
    const { "@timestamp": time, ...record } = JSON.parse(lines[0]);
    assert.match(time, /^\d{4}-\d\d-\d\dT.*Z$/);
    assert.deepEqual(record, {
      level: "WARN",
      message: "Cannot collect",
      logger: "tidemark.engine",
      properties: { job: "j", epoch: 3, size: "7" },
    });
    assert.match(lines[0], /^[^\n]*\n$/);
  });

  test("write text, with errors and their causes", () => {
    const [{ logger }, lines] = logs("text");
    const cause = new Error("EIO", { cause: new Error("sector 7") });
    const error = new TidemarkError("storage-unavailable", "Cannot write", { cause });
    logger("engine").log("error", "Gave up", { job: "j", missing: undefined, list: [1], error });
    assert.match(
      lines[0],
      /^\S+Z ERROR tidemark\.engine: Gave up job="j" list=\[1\] error="TidemarkError: Cannot write, caused by Error: EIO, caused by Error: sector 7"\n$/,
    );
  });

  test("leave out what is less serious than asked for, and everything once they are closed", () => {
    const [{ logger, close }, lines] = logs("text", "warning");
    logger("engine").log("info", "quiet");
    logger("engine").log("warning", "loud");
    close();
    logger("engine").log("error", "late");
    assert.deepEqual(lines.map((line) => line.split(": ")[1]), ["loud\n"]);
  });

  for (const format of ["json", "text"] as const) {
    test(`let nobody forge a line or fill in a text: ${format}`, () => {
      const [{ logger }, lines] = logs(format);
      const error = new Error(EVIL, { cause: new Error(EVIL) });
      logger("http").log("warning", EVIL, {
        code: "secret",
        path: EVIL,
        x: { [EVIL]: EVIL },
        error,
      });
      assert.equal(lines.length, 1);
      assert.equal(lines[0].indexOf("\n"), lines[0].length - 1);
      assert.doesNotMatch(lines[0], CONTROL);
      assert.equal(lines[0].includes("%s{code}{x}"), true);
      if (format === "json") assert.equal(JSON.parse(lines[0]).properties.path, EVIL);
    });

    test(`let no request forge a line: ${format}`, async () => {
      const [{ logger }, lines] = logs(format);
      await using store = await openStore("memory:");
      const fails = () => Promise.reject(new TidemarkError("internal", `Cannot open ${EVIL}`));
      const app = createApp({ ...store, job: fails }, { logger: logger("http") });
      for (const name of ["%25s%7Bx%7D", "%7Bcode%7D", "a%0Ab", "%1B%5B2J", "j"]) {
        await app.fetch(new Request(`http://h/v1/jobs/${name}`, { method: "PUT" }));
      }
      assert.equal(lines.length > 0, true);
      for (const line of lines) {
        assert.match(line, /^[^\n]*request failed[^\n]*\n$/);
        assert.doesNotMatch(line, CONTROL);
      }
    });
  }
});
