/**
 * Which keys and prefixes a backend takes, and what its temporary names look like.
 * An allow-list: whatever is not plainly a key is refused, never escaped.
 * @module
 */
import { v7 } from "uuid";
import { TidemarkError } from "../errors.ts";
import type { Clock } from "../port/clock.ts";
import type { Random } from "../port/random.ts";

const PART = /^[A-Za-z0-9._-]{1,255}$/;
const TAG = /^[A-Za-z0-9_]{1,64}$/;
const TEMPORARY_PREFIX = ".tmp-";
const TEMPORARY_NAME =
  /^\.tmp-([A-Za-z0-9_]{1,64})-[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Tag of temporary names whose writer gave none. */
const TAG_DEFAULT = "none";

function isPart(part: string): boolean {
  return PART.test(part) && part !== "." && part !== "..";
}

function refuse(what: string, key: unknown): never {
  throw new TidemarkError(
    "invalid-name",
    `Cannot use ${what} ${JSON.stringify(key)}: wants parts of A-Z a-z 0-9 . _ - joined by ` +
      `single slashes, none of them . or .. or beginning with ${TEMPORARY_PREFIX}`,
    { details: { [what]: key } },
  );
}

function checkParts(what: string, key: string, parts: readonly string[]): void {
  for (const part of parts) {
    if (!isPart(part) || part.startsWith(TEMPORARY_PREFIX)) refuse(what, key);
  }
}

/** Checks a key. @throws {TidemarkError} `invalid-name` */
export function checkKey(key: string): string {
  if (typeof key !== "string") refuse("key", key);
  checkParts("key", key, key.split("/"));
  return key;
}

/** Checks a prefix: empty, or whole parts and a closing slash. @throws {TidemarkError} `invalid-name` */
export function checkPrefix(prefix: string): string {
  if (prefix === "") return prefix;
  if (typeof prefix !== "string" || !prefix.endsWith("/")) refuse("prefix", prefix);
  checkParts("prefix", prefix, prefix.slice(0, -1).split("/"));
  return prefix;
}

/** Checks the key of a temporary name, as listed. @throws {TidemarkError} `invalid-name` */
export function checkTemporaryKey(key: string): string {
  if (typeof key !== "string") refuse("temporary key", key);
  const parts = key.split("/");
  const name = parts.pop() as string;
  if (!TEMPORARY_NAME.test(name)) refuse("temporary key", key);
  checkParts("temporary key", key, parts);
  return key;
}

/** Whether a name in a folder is hidden from lists as temporary. */
export function isTemporaryName(name: string): boolean {
  return name.startsWith(TEMPORARY_PREFIX);
}

/** Tag in a temporary name; undefined when it is none that a backend here makes. */
export function parseTemporaryTag(name: string): string | undefined {
  return TEMPORARY_NAME.exec(name)?.[1];
}

/** Checks a tag. @throws {TidemarkError} `invalid-name` */
export function checkTag(tag: string = TAG_DEFAULT): string {
  if (typeof tag !== "string" || !TAG.test(tag)) {
    throw new TidemarkError(
      "invalid-name",
      `Cannot use tag ${JSON.stringify(tag)}: wants 1 to 64 of A-Z a-z 0-9 _`,
      { details: { tag } },
    );
  }
  return tag;
}

/** Makes a unique temporary name that carries `tag`. @throws {TidemarkError} `invalid-name` */
export function temporaryName(tag: string | undefined, clock: Clock, random: Random): string {
  const bytes = new Uint8Array(16);
  random.fill(bytes);
  return `${TEMPORARY_PREFIX}${checkTag(tag)}-${v7({ msecs: clock.nowMs(), random: bytes })}`;
}

/** Folder of a key, without a closing slash: empty for a key in the root. */
export function folderOf(key: string): string {
  const slash = key.lastIndexOf("/");
  return slash === -1 ? "" : key.slice(0, slash);
}
