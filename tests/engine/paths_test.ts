import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkName, formatCount, JobKeys } from "../../src/engine/paths.ts";
import { throwsWith } from "./_engine.ts";

const UUID = "01890a5d-ac96-774b-bcce-b302099a8057";

describe("checkName", () => {
  for (const name of ["a", "A-b_c.d", "-", "_", "0", "a..b", "x".repeat(128)]) {
    test(`takes ${name.slice(0, 20)} (${name.length})`, () => {
      assert.equal(checkName("job", name), name);
    });
  }

  const bad = ["", ".", "..", ".a", "a.", "a/b", "a b", "é", "a\n", "a\0", "x".repeat(129), "%41"];
  for (const name of bad) {
    test(`refuses ${JSON.stringify(name).slice(0, 20)} (${name.length})`, () => {
      const error = throwsWith(() => checkName("writer", name), "invalid-name");
      assert.deepEqual(error.details, { what: "writer", name });
      assert.match(error.message, /writer name/);
    });
  }

  test("refuses what is no string", () => {
    throwsWith(() => checkName("job", 7 as unknown as string), "invalid-name");
  });
});

describe("formatCount", () => {
  test("writes 20 digits, so that keys sort as numbers do", () => {
    assert.equal(formatCount(0), "00000000000000000000");
    assert.equal(formatCount(2 ** 53 - 1), "00009007199254740991");
    assert.ok(formatCount(9) < formatCount(10));
  });

  for (const count of [-1, 0.5, Number.NaN, 2 ** 53, Infinity]) {
    test(`refuses ${count}`, () => assert.throws(() => formatCount(count), RangeError));
  }
});

describe("JobKeys", () => {
  const keys = new JobKeys("word.count");
  const name = { log: "main", epoch: 3, number: 12, uuid: UUID };

  test("puts everything of a job below its prefix", () => {
    const all = [
      keys.lock,
      keys.owner(1),
      keys.generation(1),
      keys.adopted(1, UUID),
      keys.changeFile(name),
      keys.statesPrefix,
      keys.manifest(UUID),
      keys.reader(UUID),
    ];
    for (const key of all) assert.ok(key.startsWith("jobs/word.count/"), key);
  });

  test("writes keys as the layout says", () => {
    assert.equal(keys.owner(7), "jobs/word.count/owners/00000000000000000007.json");
    assert.equal(keys.generation(7), "jobs/word.count/catalog/00000000000000000007.json");
    assert.equal(
      keys.changeFile(name),
      `jobs/word.count/changelog/main/00000000000000000003-00000000000000000012-${UUID}.cborseq.lz4`,
    );
    assert.equal(keys.manifest(UUID), `jobs/word.count/checkpoints/${UUID}.json`);
    assert.equal(
      keys.adopted(2, UUID),
      `jobs/word.count/adopted/00000000000000000002-${UUID}.json`,
    );
  });

  test("reads back what it writes", () => {
    assert.deepEqual(keys.parseChangeFile(keys.changeFile(name)), name);
    assert.equal(keys.parseOwner(keys.owner(9)), 9);
    assert.equal(keys.parseGeneration(keys.generation(2 ** 53 - 1)), 2 ** 53 - 1);
  });

  test("refuses a job that is no name", () => {
    throwsWith(() => new JobKeys("../other"), "invalid-name");
  });

  test("refuses a log that is no name", () => {
    throwsWith(() => keys.changeFile({ ...name, log: "a/b" }), "invalid-name");
  });

  const file = keys.changeFile(name);
  const foreign = [
    file.replace("word.count", "other"),
    file.replace("main/", ""),
    file.replace("main/", "main/deeper/"),
    file.replace("main/", ".main/"),
    file.replace(".lz4", ""),
    `${file}.bak`,
    file.replace("00000000000000000003", "3"),
    file.replace("00000000000000000003", "99999999999999999999"),
    file.replace(UUID, UUID.toUpperCase()),
    file.replace("changelog", "states"),
  ];
  for (const key of foreign) {
    test(`does not take ${key} for a change file of its own`, () => {
      assert.equal(keys.parseChangeFile(key), undefined);
    });
  }

  test("does not take other keys for generations or owner keys", () => {
    assert.equal(keys.parseGeneration(keys.owner(1)), undefined);
    assert.equal(keys.parseOwner(keys.generation(1)), undefined);
    assert.equal(keys.parseGeneration(`${keys.catalogPrefix}1.json`), undefined);
    assert.equal(keys.parseGeneration(`${keys.catalogPrefix}99999999999999999999.json`), undefined);
    assert.equal(keys.parseGeneration(keys.generation(1).replace("count", "other")), undefined);
  });
});
