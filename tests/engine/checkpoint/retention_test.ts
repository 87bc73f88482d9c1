import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkRetention, planRetention } from "../../../src/engine/checkpoint/retention.ts";
import { retire } from "../../../src/engine/checkpoint/retire.ts";
import type { CatalogEntry, GenerationBody } from "../../../src/engine/format/generation.ts";
import type { RetentionPolicy } from "../../../src/engine/types.ts";

/** A day is as good a unit as any. */
const DAY_MS = 86_400_000;
const NOW_MS = 100 * DAY_MS;

/** An entry named by a letter, so many days old. */
function entry(uuid: string, ageDays: number, more: Partial<CatalogEntry> = {}): CatalogEntry {
  return {
    uuid,
    parent: null,
    fingerprint: 0n,
    identifier: null,
    steps: null,
    processedRecords: null,
    createdAtMs: NOW_MS - ageDays * DAY_MS,
    epoch: 1,
    run: 1,
    size: 1,
    manifest: { key: uuid, size: 1, xxh64: "0".repeat(16) },
    pin: null,
    quarantinedAtMs: null,
    ...more,
  };
}

/** A line a <- b <- c …, each a day younger than the one before; the last is `head`. */
function line(
  letters: string,
  changes: Record<string, Partial<CatalogEntry>> = {},
): GenerationBody {
  const checkpoints = [...letters].map((uuid, i) =>
    entry(uuid, letters.length - i, { parent: letters[i - 1] ?? null, ...changes[uuid] })
  );
  return { head: letters.at(-1) ?? null, checkpoints } as unknown as GenerationBody;
}

function staying(
  generation: GenerationBody,
  policy: RetentionPolicy,
  except: string[] = [],
): string {
  return planRetention(generation, {
    policy,
    nowMs: NOW_MS,
    except: new Set(except),
    abandonedAgeMsMax: 7 * DAY_MS,
  }).filter(({ stays }) => stays).map(({ entry }) => entry.uuid).join("");
}

describe("planRetention", () => {
  test("keeps the newest minCount when nothing else is said", () => {
    assert.equal(staying(line("abcde"), { minCount: 2 }), "de");
    assert.equal(staying(line("a"), { minCount: 2 }), "a");
    assert.equal(staying(line(""), { minCount: 2 }), "");
  });

  test("keeps not more than maxCount", () => {
    assert.equal(staying(line("abcde"), { minCount: 1, maxCount: 3 }), "cde");
  });

  test("keeps what is young enough, and minCount whatever its age", () => {
    assert.equal(staying(line("abcde"), { minCount: 1, maxAgeMs: 3 * DAY_MS }), "cde");
    assert.equal(staying(line("abcde"), { minCount: 2, maxAgeMs: 0 }), "de");
    assert.equal(staying(line("abcde"), { minCount: 1, maxCount: 2, maxAgeMs: 9 * DAY_MS }), "de");
  });

  test("keeps pinned and excepted ones on top of those that are counted", () => {
    const pinned = line("abcde", { e: { pin: "for the audit" } });
    assert.equal(staying(pinned, { minCount: 2 }), "cde");
    assert.equal(staying(line("abcde"), { minCount: 2 }, ["a", "d"]), "acde");
  });

  test("counts along the line of head, and lets abandoned ones go after a while", () => {
    // d and e were made on b's line, which was left for a resume at c.
    const generation = line("abcde", { d: { parent: "b" }, e: { parent: "d" } });
    const abandoned = { ...generation, head: "c" };
    assert.equal(staying(abandoned, { minCount: 1 }), "cde");
    const old = {
      ...abandoned,
      checkpoints: abandoned.checkpoints.map((one) =>
        one.uuid === "d" ? { ...one, createdAtMs: NOW_MS - 8 * DAY_MS } : one
      ),
    };
    assert.equal(staying(old, { minCount: 1 }), "ce");
  });
});

describe("retire", () => {
  function retired(generation: GenerationBody, quarantineMs: number, nowMs = NOW_MS) {
    const options = { nowMs, except: new Set<string>(), abandonedAgeMsMax: 7 * DAY_MS };
    const verdicts = planRetention(generation, { policy: { minCount: 2 }, ...options });
    return retire(generation, verdicts, { nowMs, quarantineMs });
  }

  test("lets what goes rest first, then removes it", () => {
    const first = retired(line("abcd"), DAY_MS);
    assert.deepEqual([first.removed, first.quarantined], [[], ["a", "b"]]);
    const resting = { ...line("abcd"), checkpoints: [...first.checkpoints] };
    const early = retired(resting, DAY_MS, NOW_MS + DAY_MS - 1);
    assert.deepEqual([early.removed, early.quarantined, early.isChange], [[], [], false]);
    assert.deepEqual(early.checkpoints, resting.checkpoints, "counted from the first time on");
    const late = retired(resting, DAY_MS, NOW_MS + DAY_MS);
    assert.deepEqual(late.removed, ["a", "b"]);
  });

  test("takes back what stays after all", () => {
    const resting = line("abcd", { a: { quarantinedAtMs: 5, pin: "needed" } });
    const { checkpoints, isChange } = retired(resting, DAY_MS);
    assert.equal(checkpoints[0].quarantinedAtMs, null);
    assert.ok(isChange);
    const whole = retired(line("ab", { a: { quarantinedAtMs: 5 } }), DAY_MS);
    assert.deepEqual([whole.quarantined, whole.isChange], [[], true]);
  });

  test("lets nothing rest in a catalog of more than 500, so that it never overflows", () => {
    const many = (count: number) => {
      const all = Array.from({ length: count }, (_, i) => entry(String(i), count - i));
      const checkpoints = all.map((one, i) => ({ ...one, parent: all[i - 1]?.uuid ?? null }));
      return { head: all.at(-1)!.uuid, checkpoints } as unknown as GenerationBody;
    };
    assert.equal(retired(many(500), DAY_MS).removed.length, 0);
    assert.equal(retired(many(501), DAY_MS).removed.length, 499);
  });

  test("gives the children of what goes its parent", () => {
    const pinned = line("abcde", { a: { pin: "first" } });
    const { checkpoints, removed } = retired(pinned, 0);
    assert.deepEqual(removed, ["b", "c"]);
    assert.deepEqual(checkpoints.map(({ uuid, parent }) => [uuid, parent]), [
      ["a", null],
      ["d", "a"],
      ["e", "d"],
    ]);
  });

  test("changes nothing where everything stays", () => {
    assert.equal(retired(line("ab"), 0).isChange, false);
  });
});

describe("checkRetention", () => {
  test("refuses what makes no sense, and names it", () => {
    assert.throws(() => checkRetention({ minCount: 0 }), /0 checkpoints at least/);
    assert.throws(() => checkRetention({ minCount: 1.5 }), RangeError);
    assert.throws(() => checkRetention({ minCount: 3, maxCount: 2 }), /not below minCount 3/);
    for (const maxAgeMs of [-1, 1.5, Infinity, NaN, 2 ** 60]) {
      assert.throws(() => checkRetention({ minCount: 1, maxAgeMs }), RangeError, String(maxAgeMs));
    }
  });
});
