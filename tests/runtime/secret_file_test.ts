import assert from "node:assert/strict";
import { chmod, mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { describe, test } from "node:test";
import type { TidemarkError } from "../../src/engine/errors.ts";
import { readSecretFile, sha256, versionOfFile } from "../../src/runtime/secret_file.ts";
import { temporaryFolder } from "./temporary_folder.ts";

const skip = process.platform === "win32" ? "Windows has no modes" : false;

describe("readSecretFile", () => {
  test("reads a file that only its owner may read", { skip }, async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, "secret");
    await writeFile(path, "sécret\n", { mode: 0o600 });
    assert.equal(readSecretFile(path, "token file"), "sécret\n");
    await chmod(path, 0o400);
    assert.equal(readSecretFile(path, "token file"), "sécret\n");
  });

  test("refuses one that others may use, and says what to do", { skip }, async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, "secret");
    await writeFile(path, "secret");
    for (const mode of [0o640, 0o604, 0o620, 0o602, 0o610, 0o777]) {
      await chmod(path, mode);
      assert.throws(() => readSecretFile(path, "token file"), (error: TidemarkError) => {
        assert.equal(error.code, "storage-denied");
        assert.match(error.message, new RegExp(`mode 0${mode.toString(8)}`));
        assert.ok(error.message.endsWith(`chmod 600 ${path}`));
        return true;
      });
    }
  });

  test("refuses what is no file, is not there, or is large", { skip }, async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, "secret");
    const refusal = (reason: RegExp) => (error: TidemarkError) =>
      error.code === "invalid-request" && reason.test(error.message);
    assert.throws(() => readSecretFile(path, "key file"), refusal(/key file .* no such file/));
    await mkdir(path, { mode: 0o700 });
    assert.throws(() => readSecretFile(path, "key file"), refusal(/is no file|EISDIR/));
    const large = join(folder.path, "large");
    await writeFile(large, new Uint8Array(1024 * 1024 + 1), { mode: 0o600 });
    assert.throws(() => readSecretFile(large, "key file"), refusal(/at most 1048576/));
  });
});

test("versionOfFile changes with the file", async () => {
  await using folder = await temporaryFolder();
  const [path, next] = [join(folder.path, "secret"), join(folder.path, "next")];
  const versions = [versionOfFile(path)];
  await writeFile(path, "a", { mode: 0o600 });
  versions.push(versionOfFile(path));
  assert.equal(versionOfFile(path), versions[1]);
  await chmod(path, 0o644);
  versions.push(versionOfFile(path));
  await writeFile(next, "b", { mode: 0o644 });
  await rename(next, path);
  versions.push(versionOfFile(path));
  assert.equal(new Set(versions).size, versions.length, versions.join(" "));
});

test("sha256 is SHA-256", () => {
  const hex = [...sha256("abc")].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  assert.equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});
