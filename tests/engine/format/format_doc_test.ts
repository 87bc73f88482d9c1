import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { changeSet, encodeFile, hex, text } from "./_files.ts";

test("docs/FORMAT.md shows a file that the program writes", () => {
  const page = readFileSync(new URL("../../../docs/FORMAT.md", import.meta.url), "utf8");
  const [, dump] = /```hex\n([^`]+)```/.exec(page)!;
  const shown = dump.replace(/#.*$/gm, "").replace(/\s/g, "");
  const changes = [{ keyGroup: 5, data: text("tide") }, { keyGroup: -1, data: text("") }];
  const set = changeSet(changes, { writer: "w", sequenceNumber: 0, firstOffset: 0, epoch: 1 });
  const header = {
    store: "01890a5d-ac96-774b-bcce-b302099a8057",
    job: "j",
    log: "main",
    epoch: 1,
    run: 1,
    number: 1,
    uuid: "01890a5d-ac96-774b-bcce-b302099a8058",
    createdAtMs: 1_700_000_000_000,
    predecessors: [],
  };
  assert.equal(shown, hex(encodeFile(header, [[set]]).bytes));
});
