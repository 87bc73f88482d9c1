import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  DEFAULT_SETTINGS,
  resolveSettings,
  type StoreSettings,
} from "../../src/engine/settings.ts";

describe("resolveSettings", () => {
  test("gives the defaults when nothing is set", () => {
    assert.deepEqual(resolveSettings(), DEFAULT_SETTINGS);
    assert.deepEqual(resolveSettings({ mode: undefined }), DEFAULT_SETTINGS);
  });

  test("keeps the defaults frozen and gives a copy", () => {
    assert.ok(Object.isFrozen(DEFAULT_SETTINGS));
    const settings = resolveSettings();
    settings.blockBytes = 65536;
    assert.equal(resolveSettings().blockBytes, 262144);
  });

  test("takes what is set", () => {
    const settings = resolveSettings({ mode: "read", preemptivePersistBytes: 7 });
    assert.equal(settings.mode, "read");
    assert.equal(settings.preemptivePersistBytes, 7);
  });

  test("refuses an unknown setting by name, and says which there are", () => {
    const input = { blockSize: 65536 } as Partial<StoreSettings>;
    assert.throws(() => resolveSettings(input), {
      name: "TypeError",
      message: /"blockSize".*blockBytes/,
    });
  });

  test("refuses names that every object has", () => {
    const input = { constructor: 1 } as unknown as Partial<StoreSettings>;
    assert.throws(() => resolveSettings(input), { name: "TypeError", message: /"constructor"/ });
  });

  const bad: readonly (readonly [keyof StoreSettings, unknown, string])[] = [
    ["mode", "write", "RangeError"],
    ["create", "yes", "RangeError"],
    ["fileSystem", "python", "RangeError"],
    ["compression", "zstd", "RangeError"],
    ["blockBytes", 100_000, "RangeError"],
    ["changeBytesMax", 0, "RangeError"],
    ["changeBytesMax", 256 * 1024 * 1024 + 1, "RangeError"],
    ["changeFileBytesMax", 1.5, "RangeError"],
    ["changeFileBytesMax", 2 ** 30 + 1, "RangeError"],
    ["preemptivePersistBytes", -1, "RangeError"],
    ["preemptivePersistBytes", "5", "TypeError"],
    ["inFlightBytesMax", Number.NaN, "RangeError"],
    ["inFlightBytesMax", null, "TypeError"],
  ];
  for (const [setting, value, name] of bad) {
    test(`refuses ${setting} ${typeof value} ${value} and names it`, () => {
      const input = { [setting]: value } as Partial<StoreSettings>;
      assert.throws(() => resolveSettings(input), { name, message: new RegExp(setting) });
    });
  }

  test("refuses a pre-emptive persist that memory could never hold, and names both", () => {
    const input = { persistSizeThresholdBytes: 1, inFlightBytesMax: 10 };
    assert.throws(() => resolveSettings({ ...input, preemptivePersistBytes: 11 }), {
      name: "RangeError",
      message: /preemptivePersistBytes 11.*inFlightBytesMax 10/,
    });
    assert.doesNotThrow(() => resolveSettings({ ...input, preemptivePersistBytes: 10 }));
  });

  test("refuses a size threshold that memory could never hold, and names both", () => {
    const input = { preemptivePersistBytes: 1, inFlightBytesMax: 10 };
    assert.throws(() => resolveSettings({ ...input, persistSizeThresholdBytes: 11 }), {
      name: "RangeError",
      message: /persistSizeThresholdBytes 11.*inFlightBytesMax 10/,
    });
    assert.doesNotThrow(() => resolveSettings({ ...input, persistSizeThresholdBytes: 10 }));
  });
});
