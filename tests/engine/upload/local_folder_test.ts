import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decodeLocalMarker, LOCAL_MARKER_KEY } from "../../../src/engine/format/marker.ts";
import { JobKeys } from "../../../src/engine/paths.ts";
import type { StorageBackend } from "../../../src/engine/storage/backend.ts";
import { findLocalFolder, openLocalFolder } from "../../../src/engine/upload/local_folder.ts";
import { newUuid } from "../../../src/engine/uuid.ts";
import { FaultyBackend } from "../../doubles/faulty_backend.ts";
import { imageOf, keysBelow, newMemory, rejectsWith, Surroundings } from "../_engine.ts";

const ports = new Surroundings();
const ONE = newUuid(ports);
const OTHER = newUuid(ports);
const COPY = new JobKeys("orders").changeFile({ log: "main", epoch: 1, number: 1, uuid: ONE });

async function storeOf(local: StorageBackend): Promise<string> {
  return decodeLocalMarker(await local.get(LOCAL_MARKER_KEY)).store;
}

describe("openLocalFolder", () => {
  test("marks an empty folder as the store's, and finds it again", async () => {
    const local = new FaultyBackend(newMemory());
    assert.equal(await openLocalFolder(local, ONE, ports), true);
    assert.equal(await storeOf(local), ONE);
    await local.put(COPY, new Uint8Array(3));
    const before = await imageOf(local);
    assert.equal(await openLocalFolder(local, ONE, ports), true);
    assert.deepEqual(await imageOf(local), before);
  });

  test("takes over the folder of another store: its copies go, and nothing else", async () => {
    const local = newMemory();
    await openLocalFolder(local, ONE, ports);
    const others = ["jobs/orders/notes.txt", "jobs/.hidden/x", "readme"];
    for (const key of [COPY, ...others]) await local.put(key, new Uint8Array(3));
    assert.equal(await openLocalFolder(local, OTHER, ports), true);
    assert.equal(await storeOf(local), OTHER);
    assert.deepEqual(await keysBelow(local), [LOCAL_MARKER_KEY, ...others].sort());
  });

  test("refuses a folder in which something else is, and touches nothing", async () => {
    for (const key of ["TIDEMARK", "photo.jpg", COPY]) {
      const local = newMemory();
      await local.put(key, new Uint8Array(1));
      const error = await rejectsWith(openLocalFolder(local, ONE, ports), "not-a-store");
      assert.match(error.message, /localRecoveryPath/);
      assert.deepEqual(await keysBelow(local), [key]);
    }
  });

  test("does without a folder that can't be used, and says so", async () => {
    for (const kind of ["prepare", "get", "list", "put"] as const) {
      const surroundings = new Surroundings();
      const local = new FaultyBackend(newMemory());
      local.fail({ kind });
      assert.equal(await openLocalFolder(local, ONE, surroundings), false, kind);
      assert.deepEqual(surroundings.logger.messages("warning"), ["Goes on without local copies"]);
    }
  });

  test("does without a folder whose marker can't be read, and touches nothing", async () => {
    const local = newMemory();
    await local.put(LOCAL_MARKER_KEY, new Uint8Array(7));
    await local.put(COPY, new Uint8Array(1));
    const before = await imageOf(local);
    assert.equal(await openLocalFolder(local, ONE, new Surroundings()), false);
    assert.deepEqual(await imageOf(local), before);
  });
});

describe("findLocalFolder", () => {
  test("finds the store's copies alone, and makes nothing", async () => {
    const local = newMemory();
    assert.equal(await findLocalFolder(local, ONE, ports), false);
    assert.deepEqual(await keysBelow(local), []);
    await openLocalFolder(local, ONE, ports);
    assert.equal(await findLocalFolder(local, ONE, ports), true);
    assert.equal(await findLocalFolder(local, OTHER, ports), false);
    assert.equal(await storeOf(local), ONE);
  });

  test("does without what can't be read", async () => {
    const local = new FaultyBackend(newMemory());
    local.fail({ kind: "get" });
    assert.equal(await findLocalFolder(local, ONE, new Surroundings()), false);
  });
});
