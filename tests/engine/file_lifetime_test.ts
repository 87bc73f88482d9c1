import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { bytesOf, CHANGE_FILE, turn } from "./_engine.ts";
import { FakeOwner } from "./_fake_owner.ts";

/** Gives up all that a writer has appended so far, with the next checkpoint: it was materialised. */
function materialise(owner: FakeOwner, writer = "w"): void {
  owner.writer(writer).truncate(owner.writer(writer).nextSequenceNumber());
}

describe("a change file", () => {
  test("that an older checkpoint named goes when its sets are materialised", async () => {
    const owner = await FakeOwner.begin();
    const key = await owner.persist("w", "a");
    await owner.checkpoint();
    await owner.checkpoint();
    owner.subsume(1);
    assert.deepEqual(await owner.files(), [key]);
    materialise(owner);
    await owner.checkpoint();
    owner.subsume(1);
    assert.deepEqual(await owner.files(), []);
  });

  test("whose sets are materialised goes when its last checkpoint does", async () => {
    const owner = await FakeOwner.begin();
    const key = await owner.persist("w", "a");
    await owner.checkpoint();
    materialise(owner);
    await owner.checkpoint();
    assert.deepEqual(await owner.files(), [key]);
    owner.subsume(1);
    assert.deepEqual(await owner.files(), []);
    assert.deepEqual(owner.released, []);
  });

  test("stays though its sets are materialised, as long as nobody lets the checkpoint go", async () => {
    const owner = await FakeOwner.begin();
    const key = await owner.persist("w", "a");
    const first = await owner.checkpoint();
    materialise(owner);
    await owner.checkpoint();
    assert.deepEqual(await owner.files(), [key]);
    assert.deepEqual(await owner.read(first, "w"), [0, ["a"]]);
  });

  test("stays as long as a truncation is not published", async () => {
    const owner = await FakeOwner.begin();
    const key = await owner.persist("w", "a");
    materialise(owner);
    await owner.persist("w", "b");
    assert.equal((await owner.files())[0], key);
    await assert.rejects(
      owner.checkpoint({
        beforePublish() {
          throw new Error("no catalog");
        },
      }),
      /no catalog/,
    );
    assert.equal((await owner.files())[0], key);
    assert.deepEqual(owner.released, []);
  });

  test("that no checkpoint has named goes when its sets are materialised, without anybody's help", async () => {
    const owner = await FakeOwner.begin();
    const key = await owner.persist("w", "a");
    materialise(owner);
    const kept = await owner.persist("w", "b");
    const checkpoint = await owner.checkpoint();
    assert.deepEqual(owner.released, [key]);
    assert.deepEqual(await owner.files(), [kept]);
    assert.deepEqual(checkpoint.files.map((file) => file.key), [kept]);
    assert.deepEqual(await owner.read(checkpoint, "w"), [1, ["b"]]);
  });

  test("goes when sets land that were materialised on their way", async () => {
    const owner = await FakeOwner.begin();
    const held = owner.backend.hold({ kind: "sync", key: CHANGE_FILE });
    owner.writer("w").append(0, bytesOf("a"));
    const persisting = owner.writer("w").persist();
    await held.reached;
    materialise(owner);
    const checkpointing = owner.checkpoint();
    held.release();
    await persisting;
    await checkpointing;
    assert.equal(owner.released.length, 1);
    assert.deepEqual(await owner.files(), []);
  });

  test("goes when sets land that a closed writer has dropped on their way", async () => {
    const owner = await FakeOwner.begin();
    const held = owner.backend.hold({ kind: "sync", key: CHANGE_FILE });
    const writer = owner.writer("w");
    const from = writer.nextSequenceNumber();
    writer.append(0, bytesOf("a"));
    const dropped = assert.rejects(writer.persist(), /closed/);
    await held.reached;
    writer.truncateAndClose(from);
    await dropped;
    assert.deepEqual(owner.released, []);
    held.release();
    await turn();
    assert.equal(owner.released.length, 1);
    assert.deepEqual(await owner.files(), []);
    assert.deepEqual(owner.run.durableFiles(), []);
  });

  test("of a closed writer goes with the next checkpoint, if it lies beyond the end, and stays before it", async () => {
    const owner = await FakeOwner.begin();
    const before = await owner.persist("w", "a");
    const first = await owner.checkpoint();
    const from = owner.writer("w").nextSequenceNumber();
    const after = await owner.persist("w", "b");
    owner.writer("w").truncateAndClose(from);
    assert.deepEqual(await owner.files(), [before, after]);
    await owner.checkpoint();
    assert.deepEqual(owner.released, [after]);
    assert.deepEqual(await owner.files(), [before]);
    assert.deepEqual(await owner.read(first, "w"), [0, ["a"]]);
  });

  test("that writers share goes when all of them are through with it", async () => {
    const owner = await FakeOwner.begin();
    for (const id of ["v", "w"]) owner.writer(id).append(0, bytesOf(id));
    await owner.run.persistAll();
    const [key, ...others] = await owner.files();
    assert.deepEqual(others, []);
    materialise(owner, "v");
    await owner.checkpoint();
    owner.subsume(1);
    assert.deepEqual(await owner.files(), [key]);
    materialise(owner, "w");
    await owner.checkpoint();
    owner.subsume(1);
    assert.deepEqual(await owner.files(), []);
  });

  test("that writers share and one closes stays for the other, whatever it drops", async () => {
    const owner = await FakeOwner.begin();
    const from = owner.writer("v").nextSequenceNumber();
    for (const id of ["v", "w"]) owner.writer(id).append(0, bytesOf(id));
    await owner.run.persistAll();
    owner.writer("v").truncateAndClose(from);
    const checkpoint = await owner.checkpoint();
    assert.deepEqual(await owner.files(), checkpoint.files.map(({ key }) => key));
    assert.deepEqual(await owner.read(checkpoint, "w"), [0, ["w"]]);
    assert.deepEqual(owner.released, []);
    assert.equal(owner.registry.trackedFiles, 0);
  });

  test("is there in every checkpoint that is retained, over pre-emptive uploads and materialisations", async () => {
    const owner = await FakeOwner.begin({ preemptivePersistBytes: 100 });
    const other = () => owner.writer("other").append(0, bytesOf("o".repeat(120)));
    await owner.persist("w", "1");
    await owner.checkpoint();
    materialise(owner);
    other();
    owner.writer("w").append(0, bytesOf("2".repeat(120)));
    await owner.checkpoint();
    owner.writer("w").append(0, bytesOf("3".repeat(120)));
    other();
    await owner.checkpoint();
    owner.subsume(1);
    materialise(owner, "other");
    owner.writer("w").append(0, bytesOf("4"));
    const fourth = await owner.checkpoint();
    owner.subsume(1);
    const files = await owner.files();
    for (const { key } of fourth.files) assert.ok(files.includes(key));
    assert.deepEqual(await owner.read(fourth, "w"), [
      1,
      ["2".repeat(120), "3".repeat(120), "4"],
    ]);
    assert.deepEqual(await owner.read(fourth, "other"), [2, []]);
    assert.deepEqual(files, fourth.files.map(({ key }) => key));
  });

  test("that a checkpoint in progress is about to name stays, whoever closes meanwhile", async () => {
    const owner = await FakeOwner.begin();
    const writer = owner.writer("w");
    writer.append(0, bytesOf("a"));
    const first = await owner.checkpoint({
      // Lands in the same file as what the checkpoint needs.
      afterRollOver: () => void writer.append(0, bytesOf("b")),
      beforePublish: () => writer.truncateAndClose(1),
    });
    const [{ key }] = first.files;
    assert.deepEqual(await owner.files(), [key]);
    const second = await owner.checkpoint();
    owner.subsume(1);
    assert.deepEqual(await owner.files(), [key]);
    assert.deepEqual(await owner.read(second, "w"), [0, ["a"]]);
  });

  test("that is open takes the next batch, though nothing in it is needed any more", async () => {
    const owner = await FakeOwner.begin({ changeFileBytesMax: 1000 });
    await owner.persist("w", "a");
    materialise(owner);
    await owner.checkpoint();
    const key = await owner.persist("w", "b");
    assert.deepEqual(await owner.files(), [key]);
    const checkpoint = await owner.checkpoint();
    assert.deepEqual(await owner.read(checkpoint, "w"), [1, ["b"]]);
    assert.deepEqual(owner.released, []);
  });

  test("of an upload that failed is released, and what is tried again counts once", async () => {
    const owner = await FakeOwner.begin();
    owner.backend.fail({ kind: "sync", key: CHANGE_FILE });
    owner.writer("w").append(0, bytesOf("a"));
    await assert.rejects(owner.writer("w").persist());
    const [failed] = owner.released;
    assert.deepEqual(await owner.files(), []);
    const key = await owner.persist("w");
    assert.deepEqual(await owner.files(), [key]);
    materialise(owner);
    await owner.checkpoint();
    assert.deepEqual(owner.released, [failed, key]);
    assert.deepEqual(await owner.files(), []);
  });

  test("that can't be deleted is tried again, and holds nothing up", async () => {
    const owner = await FakeOwner.begin();
    owner.backend.fail({ kind: "delete", times: 2 });
    const key = await owner.persist("w", "a");
    materialise(owner);
    await owner.persist("w", "b");
    await owner.checkpoint();
    assert.notEqual(await owner.backend.head(key), undefined);
    await owner.ports.clock.advance(60_000);
    assert.equal((await owner.files()).includes(key), false);
    assert.equal(owner.ports.metrics.count("tidemark_discard_failures_total"), 2);
  });
});
