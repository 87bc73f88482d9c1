import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TidemarkError } from "../../../src/engine/errors.ts";
import {
  type AppendTarget,
  GuardedAppender,
} from "../../../src/engine/storage/_guarded_appender.ts";
import { rejectsWith } from "../_engine.ts";

const BYTES = new Uint8Array(3);

/** A target whose early syncs a test ends. */
class ManualTarget implements AppendTarget {
  readonly calls: string[] = [];
  readonly early: { resolve(): void; reject(error: unknown): void }[] = [];

  write(): Promise<void> {
    this.calls.push("write");
    return Promise.resolve();
  }

  syncData(): Promise<void> {
    this.calls.push("begin sync");
    return new Promise((resolve, reject) => this.early.push({ resolve, reject }));
  }

  sync(): Promise<void> {
    this.calls.push("sync");
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.calls.push("close");
    return Promise.resolve();
  }

  closeAfter(running: Promise<unknown>): void {
    void running.then(() => this.calls.push("close after"));
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

describe("GuardedAppender.beginSync", () => {
  test("lets writes go on, and the sync wait for it", async () => {
    const target = new ManualTarget();
    const appender = new GuardedAppender("key", target);
    await appender.write(BYTES);
    appender.beginSync();
    appender.beginSync();
    await appender.write(BYTES);
    const synced = appender.sync();
    await turn();
    assert.deepEqual(target.calls, ["write", "begin sync", "write"]);
    target.early[0].resolve();
    await synced;
    assert.deepEqual(target.calls.slice(3), ["sync"]);
    appender.beginSync();
    assert.equal(target.early.length, 2);
  });

  test("fails the next call when it fails, though a later sync would succeed", async () => {
    const target = new ManualTarget();
    const appender = new GuardedAppender("key", target);
    await appender.write(BYTES);
    appender.beginSync();
    const synced = appender.sync();
    target.early[0].reject(new TidemarkError("storage-unavailable", "away"));
    await rejectsWith(synced, "storage-unavailable");
    await rejectsWith(appender.write(BYTES), "storage-unavailable");
    await rejectsWith(appender.sync(), "storage-unavailable");
    appender.beginSync();
    assert.deepEqual(target.calls, ["write", "begin sync"]);
  });

  test("keeps the object until it returns", async () => {
    const target = new ManualTarget();
    const appender = new GuardedAppender("key", target);
    appender.beginSync();
    await appender.close();
    assert.deepEqual(target.calls, ["begin sync"]);
    target.early[0].resolve();
    await turn();
    assert.deepEqual(target.calls, ["begin sync", "close after"]);
  });

  test("is nothing on a target that has none", async () => {
    const target = new ManualTarget();
    const { calls } = target;
    const appender = new GuardedAppender("key", {
      write: () => target.write(),
      sync: () => target.sync(),
      close: () => target.close(),
      closeAfter: () => {},
    });
    appender.beginSync();
    await appender.sync();
    await appender.close();
    assert.deepEqual(calls, ["sync", "close"]);
  });
});

describe("GuardedAppender.syncData", () => {
  test("syncs the data alone, or all where the target can't tell them apart", async () => {
    const target = new ManualTarget();
    const appender = new GuardedAppender("key", target);
    await appender.write(BYTES);
    const synced = appender.syncData();
    await turn();
    target.early[0].resolve();
    await synced;
    const other = new GuardedAppender("other", {
      write: () => target.write(),
      sync: () => target.sync(),
      close: () => target.close(),
      closeAfter: () => {},
    });
    await other.syncData();
    assert.deepEqual(target.calls, ["write", "begin sync", "sync"]);
  });

  test("takes no call after it failed", async () => {
    const target = new ManualTarget();
    const appender = new GuardedAppender("key", target);
    const synced = appender.syncData();
    await turn();
    target.early[0].reject(new TidemarkError("storage-unavailable", "away"));
    await rejectsWith(synced, "storage-unavailable");
    await rejectsWith(appender.write(BYTES), "storage-unavailable");
    await rejectsWith(appender.sync(), "storage-unavailable");
  });
});
