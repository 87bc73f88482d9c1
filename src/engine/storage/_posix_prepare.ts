/**
 * Makes the store's folder, and checks that its file system keeps what the protocols build on:
 * exclusive create, hard links that refuse an existing name, and folder sync.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import { temporaryName } from "./_keys.ts";
import {
  closeDirectory,
  discardTemporary,
  errnoOf,
  NOT_CAPABLE,
  type PosixPorts,
  syncDirectory,
} from "./_posix_context.ts";
import { NETWORK_TYPES, TRANSIENT_TYPES } from "./file_system_types.ts";
import { explainPosixError, type FailedCall } from "./_posix_error.ts";
import { makeUnlessThere, parentOf, type PosixFolders, takeBackFolder } from "./_posix_folders.ts";

/** Tag of the names that the checks use. */
const PROBE_TAG = "probe";

/** Makes sure that the store's folder is there and good to write in. */
export async function preparePosixRoot(
  ports: PosixPorts,
  folders: PosixFolders,
  options: { create: boolean },
): Promise<void> {
  const failed: FailedCall = { action: "open store folder", path: folders.root };
  try {
    const durable = options.create ? await makeRoot(ports, folders.root) : undefined;
    await folders.openRoot(failed);
    await checkType(ports, folders.root);
    if (durable !== undefined) await syncAncestors(ports, folders.root, durable);
    await probe(ports, folders);
  } catch (error) {
    throw await explainPosixError(ports, folders.root, error, failed);
  }
}

/** Makes the root and what is missing above it; answers those whose names are on disk now. */
async function makeRoot(ports: PosixPorts, root: string): Promise<ReadonlySet<string>> {
  const missing: string[] = [];
  for (let path = root; path !== "/"; path = parentOf(path)) {
    // What may not be looked at is taken to be there: making what is below it tells.
    const found = await unlessOthers(() =>
      ports.fileSystem.stat(path).then((stat) => stat ?? "none")
    );
    if (found !== "none") break;
    missing.push(path);
  }
  const durable = new Set<string>();
  for (const path of missing.toReversed()) {
    if (await makeAbove(ports, path)) durable.add(path);
  }
  return durable;
}

/** Makes one folder; answers whether its name was synced. */
async function makeAbove(ports: PosixPorts, path: string): Promise<boolean> {
  const parent = await unlessOthers(() => ports.fileSystem.openDirectory(parentOf(path)));
  try {
    await makeUnlessThere(ports, path);
    if (parent === undefined) {
      const message = "A folder was made above which nothing may be read, so that its name could " +
        "not be synced; on ext4 and XFS it is on disk with what is synced in it";
      ports.logger.log("info", message, { path });
      return false;
    }
    return await unlessOthers(() => parent.sync().then(() => true)) === true;
  } catch (error) {
    await takeBackFolder(ports, path);
    throw error;
  } finally {
    if (parent !== undefined) await closeDirectory(ports, parent);
  }
}

/**
 * Makes the root's own name durable, and those above it. All that are not `durable` yet, also when they were found:
 * whoever made them may have died before its sync.
 */
async function syncAncestors(
  ports: PosixPorts,
  root: string,
  durable: ReadonlySet<string>,
): Promise<void> {
  for (let path = root; path !== "/"; path = parentOf(path)) {
    if (durable.has(path)) continue;
    const parent = parentOf(path);
    if (await unlessOthers(() => syncDirectory(ports, parent).then(() => true)) !== true) return;
  }
}

/** Undefined for a folder that we may not even read, or that can't be synced: one that we did not make. */
async function unlessOthers<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    const errno = errnoOf(error) ?? "";
    if (["EACCES", "EPERM", NOT_CAPABLE, "EROFS", "EINVAL"].includes(errno)) return undefined;
    throw error;
  }
}

async function checkType(ports: PosixPorts, root: string): Promise<void> {
  const type = (await ports.fileSystem.statFileSystem(root)).type >>> 0;
  const network = NETWORK_TYPES.get(type);
  if (network !== undefined) {
    throw unsupported(
      root,
      `is on ${network}, which may go on saying "does not exist" of what another machine made`,
      { type: network },
    );
  }
  const transient = TRANSIENT_TYPES.get(type);
  if (transient !== undefined) {
    ports.logger.log("warning", `The store folder is not on a durable file system (${transient})`, {
      root,
    });
  }
}

async function probe(ports: PosixPorts, folders: PosixFolders): Promise<void> {
  const names = [0, 1].map(() =>
    folders.pathOf(temporaryName(PROBE_TAG, ports.clock, ports.random))
  );
  try {
    await probeNames(ports, folders.root, names[0], names[1]);
  } finally {
    for (const name of names) await discardTemporary(ports, name);
  }
}

async function probeNames(
  ports: PosixPorts,
  root: string,
  file: string,
  linked: string,
): Promise<void> {
  const { fileSystem } = ports;
  await (await fileSystem.open(file, "create")).close();
  await wantExists(root, "exclusive create", async () => {
    await (await fileSystem.open(file, "create")).close();
  });
  try {
    await fileSystem.link(file, linked);
  } catch (error) {
    throw isRefusal(error) ? unsupported(root, "has no hard links", {}, error) : error;
  }
  await wantExists(root, "hard links that refuse an existing name", () => {
    return fileSystem.link(file, linked);
  });
  try {
    await syncDirectory(ports, root);
  } catch (error) {
    throw isRefusal(error) ? unsupported(root, "can't sync folders", {}, error) : error;
  }
}

async function wantExists(root: string, what: string, again: () => Promise<void>): Promise<void> {
  try {
    await again();
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return;
    throw error;
  }
  throw unsupported(root, `has no ${what}`, {});
}

function isRefusal(error: unknown): boolean {
  return ["EPERM", "EOPNOTSUPP", "ENOTSUP", "ENOSYS", "EINVAL", "EMLINK"].includes(
    errnoOf(error) ?? "",
  );
}

function unsupported(
  root: string,
  found: string,
  details: Record<string, unknown>,
  cause?: unknown,
): TidemarkError {
  return new TidemarkError(
    "unsupported-file-system",
    `Cannot keep a store in ${
      JSON.stringify(root)
    }: its file system ${found}; choose a folder on ` +
      `a local disk (ext4, XFS, btrfs, ZFS)`,
    { details: { root, ...details }, cause },
  );
}
