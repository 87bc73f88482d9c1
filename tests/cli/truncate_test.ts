import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { lines, Place } from "./_place.ts";

const W = ["--job", "j", "--writer", "w"];

describe("truncate", () => {
  for (const side of ["store", "url"] as const) {
    test(`gives up what a writer holds, with the next checkpoint, with --${side}`, async () => {
      const place = new Place(side);
      const before = await place.fill({ w: lines("one", "two"), v: lines("x") });
      const look = await place.run(["truncate", ...W, "--dry-run", "--json"]);
      assert.deepEqual([look.json.from, look.json.isDryRun], [2, true]);
      assert.equal((await place.run(["truncate", ...W])).code, 2);
      if (side === "store") {
        const done = await place.run(["truncate", ...W, "--yes"]);
        assert.match(done.stdout, /^Writer w of job j begins at offset 2 from checkpoint \S+ on\n/);
        await place.run(["append", ...W], { stdin: "three\n" });
        assert.deepEqual(await place.tailOf("w"), [[0, "three"]]);
        const first = await place.run(["restore", ...W, "--from", "0", "--at", "tail"]);
        assert.match(first.stderr, /code: truncated/);
      } else {
        const done = await place.run(["truncate", ...W, "--yes", "--json"]);
        assert.deepEqual([done.json.from, done.json.checkpoint], [2, null]);
      }
      assert.deepEqual(await place.tailOf("v"), [[0, "x"]]);
      const old = await place.run(["restore", ...W, "--at", before]);
      assert.equal(old.stdout, "one\ntwo\n");
    });
  }

  test("names a writer that is not there", async () => {
    const place = new Place();
    await place.fill({});
    const { code, stderr } = await place.run(["truncate", ...W, "--yes"]);
    assert.equal(code, 3);
    assert.match(
      stderr,
      /Cannot truncate writer w of job j: there is no such writer; ls lists them/,
    );
  });
});

for (const command of ["truncate", "retire"]) {
  test(`the checkpoint that ${command} makes has the metadata and the states of the newest`, async () => {
    const place = new Place();
    await place.fill({ w: lines("one") });
    const J = ["--job", "j"];
    const made = await place.run(
      ["checkpoint", ...J, "--metadata", '{"line":1}', "--state", "index=-"],
      { stdin: "a state" },
    );
    assert.equal(made.code, 0, made.stderr);
    const done = await place.run([command, ...W, "--yes", "--json"]);
    assert.equal(done.code, 0, done.stderr);
    const { json } = await place.run(["show", ...J, "--json"]);
    assert.deepEqual([json.uuid, json.metadata], [done.json.checkpoint, { line: 1 }]);
    assert.equal((await place.run(["state", "index", ...J])).stdout, "a state");
    await place.run(["append", ...W.slice(0, 2), "--writer", "v"], { stdin: "x\n" });
    const refused = await place.run([command, ...J, "--writer", "v", "--yes"]);
    assert.match(refused.stderr, /has changes that no checkpoint holds .*; give --metadata/);
    await place.run([command, ...J, "--writer", "v", "--yes", "--metadata", "null"]);
    assert.equal((await place.run(["state", "index", ...J])).stdout, "a state");
  });
}
