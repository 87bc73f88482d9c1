import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fenced, isFenced, OwnerKey } from "../../../src/engine/checkpoint/owner_key.ts";
import { TidemarkError } from "../../../src/engine/errors.ts";
import { decodeOwnerKey } from "../../../src/engine/format/owner_key.ts";
import { keysBelow, rejectsWith, throwsWith } from "../_engine.ts";
import { newPlace, type PlaceBench } from "./_place.ts";

function takeFrom({ place, ports }: PlaceBench, epoch: number): Promise<OwnerKey> {
  return OwnerKey.takeFrom(epoch, { ...place, ports });
}

describe("OwnerKey", () => {
  test("takes the epoch that it is told, and writes who it is", async () => {
    const bench = newPlace();
    const owner = await takeFrom(bench, 4);
    assert.equal(owner.epoch, 4);
    const { backend, keys, place, ports } = bench;
    const key = keys.owner(4);
    assert.deepEqual(await keysBelow(backend), [key]);
    const body = decodeOwnerKey(key, await backend.get(key), {
      store: place.store,
      job: keys.job,
    });
    assert.deepEqual([body.number, body.createdAtMs], [4, ports.clock.nowMs()]);
  });

  test("takes the first epoch that nobody has", async () => {
    const bench = newPlace();
    for (const wanted of [1, 2, 3]) assert.equal((await takeFrom(bench, 1)).epoch, wanted);
  });

  test("is current until the next epoch's key exists", async () => {
    const bench = newPlace();
    const first = await takeFrom(bench, 1);
    first.check();
    const second = await takeFrom(bench, 1);
    const error = throwsWith(() => first.check(), "fenced");
    assert.equal(error.outcome, "unknown");
    assert.deepEqual(error.details, { job: "orders", epoch: 1 });
    second.check();
  });

  test("is not current when its own key is another object, or gone", async () => {
    const bench = newPlace();
    const { backend, keys } = bench;
    const owner = await takeFrom(bench, 1);
    const bytes = await backend.get(keys.owner(1));
    await backend.delete(keys.owner(1));
    throwsWith(() => owner.check(), "fenced");
    await backend.putIfAbsent(keys.owner(1), bytes);
    throwsWith(() => owner.check(), "fenced");
  });

  test("leaves a key behind that is there, and need not be on disk", async () => {
    const bench = newPlace();
    bench.backend.fail({ kind: "putIfAbsent", when: "after", times: 2 });
    const owner = await takeFrom(bench, 1);
    assert.equal(owner.epoch, 2);
    owner.check();
  });

  test("passes over no epoch whose key is absent, so that the owner before it is fenced", async () => {
    const bench = newPlace();
    const first = await takeFrom(bench, 1);
    const error = new TidemarkError("storage-unavailable", "lost", { outcome: "unknown" });
    bench.backend.fail({ kind: "putIfAbsent", when: "before", error, times: 2 });
    assert.equal((await takeFrom(bench, 2)).epoch, 2);
    throwsWith(() => first.check(), "fenced");
  });

  test("gives up after three attempts, and says that the outcome is unknown", async () => {
    const bench = newPlace();
    bench.backend.fail({ kind: "putIfAbsent", when: "after", times: 3 });
    const error = await rejectsWith(takeFrom(bench, 1), "storage-unavailable");
    assert.equal(error.outcome, "unknown");
    assert.equal((await takeFrom(bench, 1)).epoch, 2);
  });

  test("gives up after three keys whose names need not be on disk", async () => {
    const bench = newPlace();
    for (const epoch of [1, 2, 3]) {
      const key = new RegExp(bench.keys.owner(epoch));
      bench.backend.fail({ kind: "putIfAbsent", key, when: "after" });
    }
    const error = await rejectsWith(takeFrom(bench, 1), "storage-unavailable");
    assert.equal(error.outcome, "unknown");
    assert.equal((await takeFrom(bench, 1)).epoch, 4);
  });

  test("fails at once when nothing was applied", async () => {
    const bench = newPlace();
    bench.backend.fail({ kind: "putIfAbsent" });
    const error = await rejectsWith(takeFrom(bench, 1), "storage-unavailable");
    assert.equal(error.outcome, "not-applied");
    assert.equal((await takeFrom(bench, 1)).epoch, 1);
  });

  test("does not say that nothing was applied once a key of its own may be there", async () => {
    const faults: Record<string, (bench: PlaceBench) => void> = {
      "a repetition fails": ({ backend }) => {
        backend.fail({ kind: "putIfAbsent", when: "after" });
        backend.fail({ kind: "putIfAbsent" });
      },
      "it can't be read back": ({ backend }) => {
        backend.fail({ kind: "putIfAbsent", when: "after" });
        backend.fail({ kind: "get" });
      },
      "the key after one that was left behind can't be put": ({ backend, keys }) => {
        backend.fail({ kind: "putIfAbsent", key: new RegExp(keys.owner(1)), when: "after" });
        backend.fail({ kind: "putIfAbsent", key: new RegExp(keys.owner(2)) });
      },
      "it can't be held": ({ backend }) => backend.fail({ kind: "pin" }),
    };
    for (const [what, plan] of Object.entries(faults)) {
      const bench = newPlace();
      plan(bench);
      const error = await rejectsWith(takeFrom(bench, 1), "storage-unavailable");
      assert.equal(error.outcome, "unknown", what);
      assert.equal((error.cause as TidemarkError).outcome, "not-applied", what);
      assert.equal((await takeFrom(bench, 1)).epoch, 2, what);
    }
  });

  test("says that nothing was applied when the key in doubt turns out to be another's", async () => {
    const bench = newPlace();
    const first = await takeFrom(bench, 1);
    const error = new TidemarkError("storage-unavailable", "lost", { outcome: "unknown" });
    bench.backend.fail({ kind: "putIfAbsent", error });
    bench.backend.fail({ kind: "putIfAbsent", key: new RegExp(bench.keys.owner(2)) });
    const failed = await rejectsWith(takeFrom(bench, 1), "storage-unavailable");
    assert.equal(failed.outcome, "not-applied");
    first.check();
  });

  test("takes the epoch after its own, unless somebody has it", async () => {
    const bench = newPlace();
    const first = await takeFrom(bench, 1);
    const second = await first.takeNext();
    assert.equal(second?.epoch, 2);
    throwsWith(() => first.check(), "fenced");
    assert.equal(await first.takeNext(), undefined);
    second?.check();
  });

  test("leaves a key behind as well when it takes the epoch after its own", async () => {
    const bench = newPlace();
    const first = await takeFrom(bench, 1);
    bench.backend.fail({ kind: "putIfAbsent", when: "after" });
    const next = await first.takeNext();
    assert.equal(next?.epoch, 3);
    next?.check();
  });

  test("does not pass over somebody who took the epoch after one that it left behind", async () => {
    const bench = newPlace();
    const first = await takeFrom(bench, 1);
    bench.backend.fail({ kind: "putIfAbsent", when: "after" });
    const held = bench.backend.hold({ kind: "putIfAbsent", skip: 1 });
    const taking = first.takeNext();
    await held.reached;
    const other = await takeFrom(bench, 3);
    held.release();
    assert.equal(await taking, undefined);
    other.check();
  });

  test("lets go of its object, not of its key", async () => {
    const bench = newPlace();
    const owner = await takeFrom(bench, 1);
    await owner.close();
    assert.deepEqual(bench.backend.keysOf("closePin"), [bench.keys.owner(1)]);
    assert.deepEqual(await keysBelow(bench.backend), [bench.keys.owner(1)]);
  });

  test("knows its own error again", () => {
    assert.ok(isFenced(fenced("orders", 1)));
    assert.equal(isFenced(new Error("fenced")), false);
  });
});
