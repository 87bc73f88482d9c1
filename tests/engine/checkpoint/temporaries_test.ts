import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sweepTemporaries } from "../../../src/engine/checkpoint/temporaries.ts";
import { formatCount, JobKeys } from "../../../src/engine/paths.ts";
import type { StorageBackend } from "../../../src/engine/storage/backend.ts";
import { FaultyBackend } from "../../doubles/faulty_backend.ts";
import { JOB, newMemory, Surroundings } from "../_engine.ts";

const HOUR_MS = 3_600_000;

/** A place with these temporary names; answers what is left after a sweep by epoch 3. */
async function sweep(
  temporaries: readonly { key: string; tag: string; ageMs?: number }[],
  plan: (backend: FaultyBackend) => void = () => {},
): Promise<{ left: string[]; ports: Surroundings }> {
  const ports = new Surroundings();
  const left = new Set(temporaries.map(({ key }) => key));
  const asked: string[] = [];
  const inner = Object.assign(Object.create(newMemory()) as StorageBackend, {
    async *listTemporary(prefix: string) {
      asked.push(prefix);
      await Promise.resolve();
      for (const { key, tag, ageMs = 0 } of temporaries) {
        yield { key, tag, size: 1, modifiedMs: ports.clock.nowMs() - ageMs };
      }
    },
    deleteTemporary: (key: string) => Promise.resolve(void left.delete(key)),
  });
  const backend = new FaultyBackend(inner);
  plan(backend);
  await sweepTemporaries({ backend, keys: new JobKeys(JOB), store: "" }, 3, ports);
  assert.ok(asked.every((prefix) => prefix === `jobs/${JOB}/`));
  return { left: [...left], ports };
}

describe("sweepTemporaries", () => {
  test("removes what owners of lower epochs left, however young", async () => {
    const { left } = await sweep([
      { key: "older", tag: formatCount(2) },
      { key: "own", tag: formatCount(3), ageMs: 100 * HOUR_MS },
      { key: "younger", tag: formatCount(4), ageMs: 100 * HOUR_MS },
    ]);
    assert.deepEqual(left, ["own", "younger"]);
  });

  for (const tag of ["reader", "none", "probe", "1", `${formatCount(1)}0`]) {
    test(`removes names tagged ${tag}, of no epoch, after an hour`, async () => {
      const { left } = await sweep([
        { key: "busy", tag, ageMs: HOUR_MS },
        { key: "dead", tag, ageMs: HOUR_MS + 1 },
      ]);
      assert.deepEqual(left, ["busy"]);
    });
  }

  test("leaves for the next open what it can't remove, and says so", async () => {
    const { left, ports } = await sweep(
      [{ key: "a", tag: formatCount(1) }],
      (backend) => backend.fail({ kind: "deleteTemporary" }),
    );
    assert.deepEqual(left, ["a"]);
    assert.deepEqual(ports.logger.messages("warning"), ["Cannot sweep temporary names"]);
  });
});
