import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Successors } from "../../../src/engine/changelog/successors.ts";
import type { ChangeFileName } from "../../../src/engine/paths.ts";

function uuid(number: number): string {
  return `01890a5d-ac96-774b-bcce-${String(number).padStart(12, "0")}`;
}

function file(number: number): ChangeFileName {
  return { log: "main", epoch: 4, number, uuid: uuid(number) };
}

describe("Successors", () => {
  test("know of nothing before a whole header is added", () => {
    const successors = new Successors();
    assert.equal(successors.hasWholeHeader, false);
    assert.equal(successors.of(file(1)), undefined);
    assert.deepEqual([...successors.named()], []);
  });

  test("say how far a named file was synced, and who says so", () => {
    const successors = new Successors();
    successors.add(file(3), [
      { number: 1, uuid: uuid(1), syncedLength: 100 },
      { number: 2, uuid: uuid(2), syncedLength: 0 },
    ]);
    assert.ok(successors.hasWholeHeader);
    assert.deepEqual(successors.of(file(1)), {
      name: file(1),
      syncedLength: 100,
      namedBy: file(3),
    });
    assert.equal(successors.of(file(2))?.syncedLength, 0);
    assert.equal(successors.of(file(3)), undefined);
    assert.deepEqual([...successors.named()].map(({ name }) => name.number), [1, 2]);
  });

  test("a header that names nothing is a whole one all the same", () => {
    const successors = new Successors();
    successors.add(file(1), []);
    assert.ok(successors.hasWholeHeader);
  });

  test("do not mean another file of the same number", () => {
    const successors = new Successors();
    successors.add(file(3), [{ number: 1, uuid: uuid(1), syncedLength: 100 }]);
    assert.equal(successors.of({ ...file(1), uuid: uuid(9) }), undefined);
  });
});
