import assert from "node:assert/strict";
import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { createCliIo } from "../../src/runtime/cli_io.ts";
import { rejectsWith } from "../engine/_engine.ts";
import { temporaryFolder } from "./temporary_folder.ts";

const { createFile } = createCliIo();
const BYTES = new TextEncoder().encode("restored\n");

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777;
}

describe("CliIo.createFile", () => {
  test("gives a file its name when it is whole", async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, "out");
    const file = await createFile(path);
    await file.write(BYTES);
    assert.equal((await readdir(folder.path)).includes("out"), false);
    await file.commit();
    await file.discard();
    assert.deepEqual(await readdir(folder.path), ["out"]);
    assert.equal(await readFile(path, "utf8"), "restored\n");
  });

  test("leaves the file that was there when it is given up", async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, "out");
    await writeFile(path, "before");
    const file = await createFile(path);
    await file.write(BYTES);
    await file.discard();
    assert.deepEqual(await readdir(folder.path), ["out"]);
    assert.equal(await readFile(path, "utf8"), "before");
  });

  test("leaves nothing behind when it can't have its name", async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, "out");
    const file = await createFile(path);
    await file.write(BYTES);
    await mkdir(path);
    const error = await rejectsWith(file.commit(), "invalid-request");
    assert.equal(error.message, `Cannot write ${path}: it is a folder`);
    await file.discard();
    assert.deepEqual(await readdir(folder.path), ["out"]);
  });

  for (const mode of [0o600, 0o664, 0o440]) {
    test(`keeps the permissions ${mode.toString(8)} of the file that it replaces`, async () => {
      await using folder = await temporaryFolder();
      const [path, link] = [join(folder.path, "out"), join(folder.path, "link")];
      await writeFile(path, "before");
      await chmod(path, mode);
      await symlink(path, link);
      const file = await createFile(link);
      for (const name of await readdir(folder.path)) {
        assert.equal(await modeOf(join(folder.path, name)), mode, name);
      }
      await file.write(BYTES);
      await file.commit();
      assert.equal(await modeOf(path), mode);
      assert.equal(await readFile(path, "utf8"), "restored\n");
    });
  }
});
