import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { newUuid, UUID } from "../../src/engine/uuid.ts";
import { ManualClock } from "../doubles/manual_clock.ts";
import { SeededRandom } from "../doubles/seeded_random.ts";

describe("newUuid", () => {
  test("is of version 7 and the usual variant, in lower case", () => {
    const ports = { clock: new ManualClock(), random: new SeededRandom(1) };
    for (let i = 0; i < 50; i++) {
      assert.match(newUuid(ports), /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-/);
    }
  });

  test("begins with the clock's time", () => {
    const ports = { clock: new ManualClock(0x0189_0a5d_ac96), random: new SeededRandom(1) };
    assert.equal(newUuid(ports).slice(0, 13), "01890a5d-ac96");
  });

  test("differs within one millisecond", () => {
    const ports = { clock: new ManualClock(), random: new SeededRandom(1) };
    const uuids = new Set(Array.from({ length: 1000 }, () => newUuid(ports)));
    assert.equal(uuids.size, 1000);
  });

  test("is the same from the same clock and chance", () => {
    const once = () => newUuid({ clock: new ManualClock(5), random: new SeededRandom(7) });
    assert.equal(once(), once());
  });
});

describe("UUID", () => {
  test("takes uuids in lower case alone", () => {
    const uuid = "01890a5d-ac96-774b-bcce-b302099a8057";
    assert.match(uuid, UUID);
    const bad = [
      "",
      uuid.toUpperCase(),
      `${uuid} `,
      uuid.slice(1),
      uuid.replaceAll("-", ""),
      `{${uuid}}`,
    ];
    for (const text of bad) assert.doesNotMatch(text, UUID);
  });
});
