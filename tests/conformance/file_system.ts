/**
 * What every implementation of the file-system port keeps: POSIX, each call once, errors by errno.
 * @module
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { FileHandle, FileSystem } from "../../src/engine/port/file_system.ts";

/** A file system to try, with an empty folder in it. */
export interface FileSystemUnderTest {
  readonly fileSystem: FileSystem;
  /** Absolute path of the folder. */
  readonly folder: string;
  /** Makes a symbolic link; undefined where there are none. */
  readonly symlink?: (target: string, path: string) => Promise<void>;
  release(): Promise<void>;
}

/** What differs between file systems. */
export interface FileSystemConformanceOptions {
  /** Reason to skip everything. @default not skipped */
  skip?: string;
  /** Reason to skip what symbolic links are about. @default not skipped */
  skipLinks?: string;
}

interface Tried {
  readonly fs: FileSystem;
  /** Path of a name in the folder. */
  at(name: string): string;
  symlink(target: string, path: string): Promise<void>;
}

type Try = (tried: Tried) => Promise<void>;

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

async function failsWith(call: () => Promise<unknown>, ...codes: string[]): Promise<void> {
  await assert.rejects(call, (error: unknown) => {
    assert.ok(error instanceof Error);
    assert.ok(codes.includes((error as { code?: string }).code ?? ""), `wanted ${codes}: ${error}`);
    return true;
  });
}

async function write(fs: FileSystem, path: string, text: string): Promise<void> {
  const handle = await fs.open(path, "create");
  assert.equal(await handle.write(bytesOf(text), 0), text.length);
  await handle.close();
}

async function readFrom(handle: FileHandle, position: number, length = 100): Promise<string> {
  const target = new Uint8Array(length);
  return new TextDecoder().decode(target.subarray(0, await handle.read(target, position)));
}

async function read(fs: FileSystem, path: string): Promise<string> {
  const handle = await fs.open(path, "read");
  const text = await readFrom(handle, 0);
  await handle.close();
  return text;
}

const HANDLES: Record<string, Try> = {
  "writes and reads at positions": async ({ fs, at }) => {
    const handle = await fs.open(at("f"), "create");
    assert.equal(await handle.write(bytesOf("world"), 6), 5);
    assert.equal(await handle.write(bytesOf("hello "), 0), 6);
    assert.equal(await readFrom(handle, 0), "hello world");
    assert.equal(await readFrom(handle, 6, 3), "wor");
    assert.equal(await readFrom(handle, 11), "");
    assert.equal(await readFrom(handle, 99), "");
    assert.equal(await handle.write(new Uint8Array(0), 0), 0);
    const stat = await handle.stat();
    assert.equal(stat.size, 11);
    assert.equal(stat.type, "file");
    await handle.datasync();
    await handle.sync();
    await handle.close();
    await handle.close();
  },
  "leaves zeros where nothing was written": async ({ fs, at }) => {
    const handle = await fs.open(at("f"), "create");
    await handle.write(bytesOf("x"), 3);
    assert.equal(await readFrom(handle, 0), "\0\0\0x");
    await handle.close();
  },
  "moves more than a synchronous call takes": async ({ fs, at }) => {
    const bytes = new Uint8Array(900_000);
    for (let index = 0; index < bytes.length; index++) bytes[index] = index % 251;
    const handle = await fs.open(at("f"), "create");
    for (let done = 0; done < bytes.length;) {
      const count = await handle.write(bytes.subarray(done), done);
      assert.ok(count > 0);
      done += count;
    }
    const found = new Uint8Array(bytes.length);
    for (let done = 0; done < found.length;) {
      const count = await handle.read(found.subarray(done), done);
      assert.ok(count > 0);
      done += count;
    }
    assert.ok(found.every((byte, index) => byte === index % 251));
    await handle.close();
  },
  "keeps positions apart when calls overlap": async ({ fs, at }) => {
    const handle = await fs.open(at("f"), "create");
    const pieces = Array.from({ length: 8 }, (_, index) => new Uint8Array(300_000).fill(index + 1));
    const counts = await Promise.all(
      pieces.map((piece, index) => handle.write(piece, index * piece.length)),
    );
    const found = await Promise.all(pieces.map(async (piece, index) => {
      const target = new Uint8Array(counts[index]);
      return target.subarray(0, await handle.read(target, index * piece.length));
    }));
    found.forEach((part, index) => {
      assert.ok(part.length > 0);
      assert.ok(part.every((byte) => byte === index + 1), `piece ${index}`);
    });
    await handle.close();
  },
  "keeps positions apart when short and long calls overlap, in any order": async ({ fs, at }) => {
    const handle = await fs.open(at("f"), "create");
    const lengths = [5, 300_000, 7, 300_000, 100, 400_000, 3, 9, 300_000, 1];
    let end = 0;
    const pieces = lengths.map((length, index) => {
      const piece = { at: end, bytes: new Uint8Array(length).fill(index + 1) };
      end += length;
      return piece;
    });
    for (const step of [3, 7, 9]) {
      const order = pieces.map((_, index) => pieces[(index * step) % pieces.length]);
      await Promise.all(order.map(async (piece, index) => {
        // Some begin when others have just ended.
        if (index % 3 === 2) await handle.datasync();
        let done = 0;
        while (done < piece.bytes.length) {
          done += await handle.write(piece.bytes.subarray(done), piece.at + done);
        }
      }));
      for (const { at, bytes } of pieces) {
        const target = new Uint8Array(Math.min(bytes.length, 1000));
        const count = await handle.read(target, at);
        assert.ok(count > 0 && target.subarray(0, count).every((byte) => byte === bytes[0]));
      }
    }
    assert.equal((await handle.stat()).size, end);
    await handle.close();
  },
  "create wants a new name, read and update an old one": async ({ fs, at }) => {
    await failsWith(() => fs.open(at("f"), "read"), "ENOENT");
    await failsWith(() => fs.open(at("f"), "update"), "ENOENT");
    await failsWith(() => fs.open(at("no/f"), "create"), "ENOENT");
    await write(fs, at("f"), "before");
    await failsWith(() => fs.open(at("f"), "create"), "EEXIST");
    await failsWith(() => fs.open(at("f/g"), "create"), "ENOTDIR");
    const update = await fs.open(at("f"), "update");
    await update.write(bytesOf("AB"), 0);
    assert.equal(await readFrom(update, 0), "ABfore");
    await update.close();
    const reading = await fs.open(at("f"), "read");
    await failsWith(() => reading.write(bytesOf("x"), 0), "EBADF");
    await reading.close();
  },
  "a handle outlives its name": async ({ fs, at }) => {
    await write(fs, at("f"), "kept");
    const handle = await fs.open(at("f"), "read");
    await fs.unlink(at("f"));
    assert.equal(await fs.stat(at("f")), undefined);
    assert.equal(await readFrom(handle, 0), "kept");
    await handle.close();
  },
  "a closed handle takes no call": async ({ fs, at }) => {
    const handle = await fs.open(at("f"), "create");
    await handle.close();
    await assert.rejects(() => handle.write(bytesOf("x"), 0));
    await assert.rejects(() => handle.read(new Uint8Array(1), 0));
    await assert.rejects(() => handle.datasync());
    await assert.rejects(() => handle.sync());
    await assert.rejects(() => handle.stat());
  },
  "a kernel lock belongs to one handle": async ({ fs, at }) => {
    await write(fs, at("f"), "x");
    const first = await fs.open(at("f"), "update");
    const second = await fs.open(at("f"), "read");
    if (fs.hasKernelLock) {
      assert.equal(first.tryLock(), true);
      assert.equal(first.tryLock(), true, "it has it already");
      assert.equal(second.tryLock(), false);
      await first.close();
      assert.equal(second.tryLock(), true);
    } else {
      assert.equal(first.tryLock(), undefined);
      await first.close();
    }
    await second.close();
  },
};

const NAMES: Record<string, Try> = {
  "makes and removes folders": async ({ fs, at }) => {
    await fs.mkdir(at("d"));
    await failsWith(() => fs.mkdir(at("d")), "EEXIST");
    await failsWith(() => fs.mkdir(at("x/y")), "ENOENT");
    await write(fs, at("d/f"), "1");
    await failsWith(() => fs.rmdir(at("d")), "ENOTEMPTY");
    await failsWith(() => fs.rmdir(at("d/f")), "ENOTDIR");
    await failsWith(() => fs.unlink(at("d")), "EISDIR", "EPERM");
    await fs.unlink(at("d/f"));
    await failsWith(() => fs.unlink(at("d/f")), "ENOENT");
    await failsWith(() => fs.unlink(at("d")), "EISDIR", "EPERM");
    await fs.rmdir(at("d"));
    await failsWith(() => fs.rmdir(at("d")), "ENOENT");
  },
  "an open directory syncs what is named in it before and after": async ({ fs, at }) => {
    await fs.mkdir(at("d"));
    const directory = await fs.openDirectory(at("d"));
    await directory.sync();
    await write(fs, at("d/f"), "1");
    await fs.link(at("d/f"), at("d/g"));
    await Promise.all([directory.sync(), directory.sync()]);
    await fs.unlink(at("d/f"));
    await fs.unlink(at("d/g"));
    await directory.sync();
    await fs.rmdir(at("d"));
    await directory.close();
    await directory.close();
    await assert.rejects(() => directory.sync());
  },
  "only a directory opens as one": async ({ fs, at }) => {
    await write(fs, at("f"), "1");
    await failsWith(() => fs.openDirectory(at("none")), "ENOENT");
    await failsWith(() => fs.openDirectory(at("f")), "ENOTDIR");
    await failsWith(() => fs.openDirectory(at("f/d")), "ENOTDIR");
    const root = await fs.openDirectory("/");
    await root.close();
  },
  "link gives a second name, never over another": async ({ fs, at }) => {
    await write(fs, at("a"), "a");
    await write(fs, at("b"), "b");
    await failsWith(() => fs.link(at("a"), at("b")), "EEXIST");
    await failsWith(() => fs.link(at("none"), at("c")), "ENOENT");
    await fs.link(at("a"), at("c"));
    assert.equal((await fs.stat(at("c")))?.identity, (await fs.stat(at("a")))?.identity);
    await fs.unlink(at("a"));
    assert.equal(await read(fs, at("c")), "a");
    assert.equal(await read(fs, at("b")), "b");
  },
  "rename replaces": async ({ fs, at }) => {
    await write(fs, at("a"), "a");
    await write(fs, at("b"), "b");
    const { identity } = await fs.stat(at("a")) ?? {};
    await fs.rename(at("a"), at("b"));
    assert.equal(await read(fs, at("b")), "a");
    assert.equal((await fs.stat(at("b")))?.identity, identity);
    assert.equal(await fs.stat(at("a")), undefined);
    await failsWith(() => fs.rename(at("a"), at("b")), "ENOENT");
  },
  "readDirectory tells what is what": async ({ fs, at }) => {
    await write(fs, at("f"), "1");
    await fs.mkdir(at("d"));
    const entries = await fs.readDirectory(at("."));
    assert.deepEqual(entries.toSorted((left, right) => left.name < right.name ? -1 : 1), [
      { name: "d", type: "directory" },
      { name: "f", type: "file" },
    ]);
    await failsWith(() => fs.readDirectory(at("none")), "ENOENT");
    await failsWith(() => fs.readDirectory(at("f")), "ENOTDIR");
  },
  "stat and statSync look up": async ({ fs, at }) => {
    await write(fs, at("f"), "123");
    const found = await fs.stat(at("f"));
    assert.deepEqual(fs.statSync(at("f")), found);
    assert.equal(found?.type, "file");
    assert.equal(found?.size, 3);
    assert.equal(Number.isInteger(found?.modifiedMs), true);
    assert.equal((await fs.stat(at(".")))?.type, "directory");
    for (const name of ["none", "no/ne", "f/below"]) {
      assert.equal(await fs.stat(at(name)), undefined);
      assert.equal(fs.statSync(at(name)), undefined);
    }
    const handle = await fs.open(at("f"), "read");
    assert.equal((await handle.stat()).identity, found?.identity);
    await handle.close();
  },
  "realPath and statFileSystem answer": async ({ fs, at }) => {
    assert.ok((await fs.realPath(at("."))).startsWith("/"));
    await failsWith(() => fs.realPath(at("none")), "ENOENT");
    const stat = await fs.statFileSystem(at("."));
    assert.ok(stat.freeBytes > 0 && stat.freeBytes <= stat.totalBytes);
    assert.ok(Number.isSafeInteger(stat.type));
  },
};

const LINKS: Record<string, Try> = {
  "never follows a symbolic link in the last part": async ({ fs, at, symlink }) => {
    await write(fs, at("f"), "x");
    await fs.mkdir(at("d"));
    await symlink(at("f"), at("to-f"));
    await symlink(at("none"), at("to-none"));
    await failsWith(() => fs.open(at("to-f"), "read"), "ELOOP");
    await failsWith(() => fs.open(at("to-f"), "update"), "ELOOP");
    await failsWith(() => fs.open(at("to-f"), "create"), "EEXIST");
    await failsWith(() => fs.open(at("to-none"), "create"), "EEXIST");
    assert.equal((await fs.stat(at("to-f")))?.type, "symlink");
    assert.equal(fs.statSync(at("to-none"))?.type, "symlink");
    await symlink(at("d"), at("to-d"));
    const directory = await fs.openDirectory(at("to-d"));
    await directory.sync();
    await directory.close();
    assert.equal(await fs.realPath(at("to-d")), await fs.realPath(at("d")));
    const types = new Map((await fs.readDirectory(at("."))).map(({ name, type }) => [name, type]));
    assert.equal(types.get("to-d"), "symlink");
  },
};

/** Declares the suite of one file system. */
export function fileSystemConformance(
  name: string,
  open: () => Promise<FileSystemUnderTest>,
  options: FileSystemConformanceOptions = {},
): void {
  const declare = (tries: Record<string, Try>, skip: string | undefined) => {
    for (const [behaviour, attempt] of Object.entries(tries)) {
      test(`${name}: ${behaviour}`, { skip: skip ?? false }, async () => {
        const { fileSystem, folder, symlink, release } = await open();
        try {
          await attempt({
            fs: fileSystem,
            at: (path) => `${folder}/${path}`.replace(/\/\.$/, ""),
            symlink: symlink ?? (() => Promise.reject(new Error("no symbolic links here"))),
          });
        } finally {
          await release();
        }
      });
    }
  };
  describe(name, () => {
    declare({ ...HANDLES, ...NAMES }, options.skip);
    declare(LINKS, options.skip ?? options.skipLinks);
  });
}
