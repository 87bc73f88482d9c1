/** What the tests of the system say that checkpoints come from, where no other test of ours says it, on every backend. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { JobKeys } from "../../../src/engine/paths.ts";
import {
  append,
  appendDurably,
  changeFiles,
  flip,
  imageOf,
  JOB,
  keysBelow,
  MANIFEST,
  openJobOn,
  rejectsWith,
  restoreWriter,
  rewrite,
} from "../_engine.ts";
import { PLACES } from "../_places.ts";
import { AT_ONCE, checkContents, commit, uuidsOf } from "./_checkpoints.ts";

const KEYS = new JobKeys(JOB);
const STRAY = "01b8dac5-b400-7705-b1c1-c62ebd22e0b2";

for (const [name, newPlace] of Object.entries(PLACES)) {
  describe(`checkpoints in ${name}`, () => {
    test("keep their names and their order over restarts", async () => {
      const newBackend = newPlace();
      const made: (string | undefined)[][] = [];
      for (const identifier of ["first", undefined, "third"]) {
        const { job, store } = await openJobOn(newBackend());
        append(job, "w", `before ${identifier}`);
        made.push([(await job.checkpoint({ identifier })).uuid, identifier]);
        await store.close();
      }
      const { job } = await openJobOn(newBackend());
      const listed = (await job.checkpoints()).map(({ uuid, identifier }) => [uuid, identifier]);
      assert.deepEqual(listed, made);
    });

    test("name the change files that they need, and no other", async () => {
      const { job, backend } = await openJobOn(newPlace()(), { changeFileBytesMax: 1 });
      const filesOf = async (uuid: string) =>
        (await job.checkpointDetails(uuid)).files.map(({ key }) => key);
      const uuids = [await commit(job, "a"), await commit(job, "b")];
      const writer = job.writer("w");
      writer.truncate(writer.nextSequenceNumber());
      append(job, "w", "c");
      const held = backend.hold({ kind: "putIfAbsent", key: MANIFEST });
      const made = job.checkpoint();
      await held.reached;
      append(job, "w", "d");
      const later = job.writer("w").persist();
      held.release();
      uuids.push((await made).uuid);
      await later;
      const [a, b, c] = await changeFiles(backend);
      assert.deepEqual(await Promise.all(uuids.map(filesOf)), [[a], [a, b], [c]]);
    });

    test("carry a state on through restarts, round after round", async () => {
      const newBackend = newPlace();
      const contents = new Map<string, string[]>();
      const texts: string[] = [];
      for (let round = 0; round < 5; round++) {
        const { job, store } = await openJobOn(newBackend());
        const { writers } = await job.resume({ at: "latest" });
        assert.equal(writers[0]?.nextOffset ?? 0, texts.length, `round ${round}`);
        texts.push(`round ${round}`);
        contents.set(await commit(job, texts.at(-1)!), [...texts]);
        await appendDurably(job, "w", "left behind by the resume");
        await checkContents(job, contents);
        await store.close();
      }
      assert.equal(contents.size, 5);
    });

    test("that a collection excepts and can't read stop it, and nothing goes", async () => {
      const newBackend = newPlace();
      const { job, store } = await openJobOn(newBackend());
      const [first] = [await commit(job, "a"), await commit(job, "b"), await commit(job, "c")];
      await store.close();
      const { job: again, backend } = await openJobOn(newBackend());
      await rewrite(backend, KEYS.manifest(first), flip(150));
      const before = await imageOf(backend);
      await rejectsWith(again.collect({ ...AT_ONCE, except: [first] }), "corrupt");
      assert.deepEqual(await imageOf(backend), before);
      assert.equal((await uuidsOf(again)).length, 3);
    });

    test("whose file is lost are told by name, and keep no job from opening", async () => {
      const newBackend = newPlace();
      const { job, store, backend } = await openJobOn(newBackend());
      const first = await commit(job, "a");
      const [lost] = await changeFiles(backend);
      await job.resume({ at: "latest" });
      const writer = job.writer("w");
      writer.truncate(writer.nextSequenceNumber());
      await commit(job, "b");
      await store.close();
      await backend.delete(lost);
      const { job: again } = await openJobOn(newBackend());
      assert.deepEqual(await restoreWriter(again, "w"), ["b"]);
      for (const level of ["quick", "full"] as const) {
        const { ok, problems } = await again.verify({ level });
        assert.equal(ok, false);
        assert.deepEqual(problems.map(({ key }) => key), [lost], level);
      }
      const error = await rejectsWith(restoreWriter(again, "w", first), "changes-lost");
      assert.equal(error.details.key, lost);
    });

    test("leave only what is needed when the others go: what nothing names goes with them", async () => {
      const newBackend = newPlace();
      const { job, backend } = await openJobOn(newBackend());
      for (const text of ["a", "b", "c", "d"]) await commit(job, text);
      const needed = await keysBelow(backend, KEYS.changelogPrefix);
      const strays = [
        KEYS.manifest(STRAY),
        KEYS.adopted(0, STRAY),
        KEYS.changeFile({ log: "main", epoch: 0, number: 1, uuid: STRAY }),
      ];
      for (const key of strays) await backend.put(key, new Uint8Array(9));
      const { objects } = await job.collect(AT_ONCE);
      const gone = objects.filter(({ action }) => action === "delete").map(({ key }) => key);
      for (const key of strays) assert.ok(gone.includes(key), key);
      const manifests = (await uuidsOf(job)).map((uuid) => KEYS.manifest(uuid)).sort();
      assert.equal(manifests.length, 2);
      assert.deepEqual(await keysBelow(backend, KEYS.checkpointsPrefix), manifests);
      assert.deepEqual(await keysBelow(backend, KEYS.adoptedPrefix), []);
      assert.deepEqual(await keysBelow(backend, KEYS.changelogPrefix), needed);
    });
  });
}
