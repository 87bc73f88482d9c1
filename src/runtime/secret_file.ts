/**
 * Files that hold secrets.
 *
 * Owns: reading one, and the refusal of one that others may read.
 * Does not own: what is in it.
 * @module
 */
import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from "node:fs";
import process from "node:process";
import { TidemarkError } from "../engine/errors.ts";

const BYTES_MAX = 1024 * 1024;
/** What others than the owner may do with a file. */
const OTHERS = 0o077;

/** SHA-256 of a text's UTF-8 bytes. */
export function sha256(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}

/**
 * Reads a file that only its owner may read.
 *
 * @param what What messages call it, such as `token file`.
 * @param options `forbidden`: bits that its mode must not have. @default those of group and others
 * @throws {TidemarkError} `storage-denied`: others may read it, or this process may not;
 * `invalid-request`: there is no such file, or it is none
 */
export function readSecretFile(
  path: string,
  what: string,
  { forbidden = OTHERS }: { readonly forbidden?: number } = {},
): string {
  let file: number;
  try {
    // Without waiting: a pipe would hold the process up.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    throw unreadable(path, what, cause);
  }
  try {
    const found = fstatSync(file);
    refuseUnsafe(path, what, found, forbidden);
    const bytes = new Uint8Array(found.size);
    let length = 0;
    while (length < bytes.length) {
      const count = readSync(file, bytes, length, bytes.length - length, length);
      if (count === 0) break;
      length += count;
    }
    return new TextDecoder().decode(bytes.subarray(0, length));
  } finally {
    closeSync(file);
  }
}

/** Another text whenever the file may have changed. */
export function versionOfFile(path: string): string {
  try {
    const { dev, ino, size, mode, uid, mtimeMs, ctimeMs } = statSync(path);
    return [dev, ino, size, mode, uid, mtimeMs, ctimeMs].join(":");
  } catch (error) {
    return String((error as { code?: unknown }).code);
  }
}

function refuseUnsafe(path: string, what: string, found: Stats, forbidden: number): void {
  if (!found.isFile()) {
    throw new TidemarkError("invalid-request", `Cannot use the ${what} ${path}: it is no file`);
  }
  if (found.size > BYTES_MAX) {
    throw new TidemarkError(
      "invalid-request",
      `Cannot use the ${what} ${path}: it has ${found.size} bytes, at most ${BYTES_MAX} are allowed`,
    );
  }
  // Windows has other means, and its modes say nothing.
  if (process.platform === "win32") return;
  const mode = (found.mode & 0o777).toString(8).padStart(4, "0");
  if ((found.mode & forbidden) !== 0) {
    throw new TidemarkError(
      "storage-denied",
      `Cannot use the ${what} ${path}: others than its owner may use it (mode ${mode}); ` +
        `take that from them with: chmod 600 ${path}`,
      { details: { path, mode } },
    );
  }
}

function unreadable(path: string, what: string, cause: unknown): TidemarkError {
  const errno = String((cause as { code?: unknown }).code);
  if (errno === "EACCES" || errno === "EPERM") {
    return new TidemarkError(
      "storage-denied",
      `Cannot read the ${what} ${path}: permission is denied; let this process's user own it`,
      { details: { path, errno }, cause },
    );
  }
  // Deno's own refusal has no errno, and says which permission is missing.
  const said = (cause as { code?: unknown }).code ?? (cause as Error).message;
  const reason = errno === "ENOENT" ? "there is no such file" : said;
  return new TidemarkError("invalid-request", `Cannot read the ${what} ${path}: ${reason}`, {
    details: { path, errno },
    cause,
  });
}
