/** Unix sockets in the file system: taking a path, and leaving it. */
import { chmodSync, existsSync, lstatSync, renameSync, rmSync, type Stats } from "node:fs";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { TidemarkError } from "../engine/errors.ts";

/** Inodes of the sockets that this process made: whoever took the path since keeps it. */
const OWN = new Map<string, number>();

/** Longest path that the system takes for a socket, in bytes. */
const PATH_BYTES_MAX = 107;

/**
 * Has a socket made that only this user may use, and gives it its path in one step, over the socket
 * of a process that is gone.
 *
 * @param bind Listens on the path that it is given.
 * @throws {TidemarkError} `listen-failed` where a live process listens, or something else is there
 */
export async function claimSocket(
  path: string,
  bind: (path: string) => Promise<void> | void,
): Promise<void> {
  await refuseTaken(path);
  const temporary = join(dirname(path), `.${crypto.randomUUID().slice(0, 8)}.sock`);
  if (new TextEncoder().encode(temporary).length > PATH_BYTES_MAX) {
    throw refusal(
      path,
      `its folder's path is too long: ${PATH_BYTES_MAX} bytes are allowed in all`,
    );
  }
  try {
    await bind(temporary);
    chmodSync(temporary, 0o600);
    renameSync(temporary, path);
    OWN.set(path, lstatSync(path).ino);
  } catch (error) {
    rmSync(temporary, { force: true });
    const folder = dirname(path);
    // Of a folder that is not there Node says "permission denied".
    if (!existsSync(folder)) throw refusal(path, `the folder ${folder} does not exist`);
    throw error;
  }
}

/** Removes a socket that this process made, unless another one has taken its place. */
export function leaveSocket(path: string): void {
  if (statOf(path)?.ino === OWN.get(path)) rmSync(path, { force: true });
  OWN.delete(path);
}

async function refuseTaken(path: string): Promise<void> {
  const found = statOf(path);
  if (found === undefined) return;
  if (!found.isSocket()) throw refusal(path, "something else than a socket is there");
  const reason = await whyNotDead(path);
  if (reason !== undefined) throw refusal(path, reason);
}

/** Nobody answers at a socket whose process is gone. */
function whyNotDead(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve("a live process listens there");
    });
    socket.once("error", (error: Error & { code?: string }) => {
      resolve(error.code === "ECONNREFUSED" ? undefined : error.message);
    });
  });
}

function statOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

function refusal(path: string, reason: string): TidemarkError {
  return new TidemarkError(
    "listen-failed",
    `Cannot listen on unix:${path}: ${reason}; choose another path`,
    { details: { path } },
  );
}
