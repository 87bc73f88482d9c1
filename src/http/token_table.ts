/**
 * Bearer tokens, and what each allows.
 *
 * Owns: the text of a token file, the comparison in constant time.
 * Does not own: where the text comes from, what a request needs (`_authorize.ts`).
 * @module
 */
import * as v from "valibot";
import type { Access, Grant, Right } from "./access.ts";
import { check } from "./_request_checks.ts";
import { RequestError } from "./problem.ts";

const TOKEN_CHARS_MIN = 16;
const TOKEN_CHARS_MAX = 512;
const TOKENS_MAX = 1000;
const HASH_PREFIX = "sha256:";
const HASH_WORDS = 8;
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;
const EVERY_JOB = "*";

/**
 * Options of {@link TokenTable.parse}.
 *
 * @example
 * ```ts
 * import { createHash } from "node:crypto";
 * import type { TokenTableOptions } from "@tidemark/tidemark/http";
 *
 * const options: TokenTableOptions = {
 *   sha256: (text) => createHash("sha256").update(text).digest(),
 *   name: "the tokens of this test",
 * };
 * console.assert(options.sha256("a").length === 32);
 * ```
 */
export interface TokenTableOptions {
  /** SHA-256 of a text's UTF-8 bytes: 32 bytes. */
  readonly sha256: (text: string) => Uint8Array;
  /** What messages call the text, such as its path. @default "token file" */
  readonly name?: string;
  /** A token besides those of the text, which may do everything. @default none */
  readonly masterToken?: string;
}

/** A token as the text has it: what is wrong is told without the token itself. */
const ENTRY = v.strictObject({
  name: v.pipe(
    v.string("wants a text"),
    v.regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "wants 1 to 64 of A-Z a-z 0-9 . _ -"),
  ),
  token: v.pipe(
    v.string("wants a text"),
    v.check(isTokenOrHash, `wants ${wantedToken()}, or sha256: and 64 hexadecimal digits`),
  ),
  jobs: v.pipe(
    v.array(
      v.pipe(
        v.string("wants a text"),
        v.regex(/^(?:\*|[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}\*?)$/, "wants a job, a prefix*, or *"),
      ),
      "wants a list of jobs",
    ),
    v.minLength(1, "wants at least one job, or *"),
  ),
  rights: v.pipe(
    v.array(
      v.picklist(["read", "append", "admin"], "wants read, append or admin"),
      "wants a list of rights",
    ),
    v.minLength(1, "wants at least one right"),
  ),
}, "wants an object with name, token, jobs and rights");

const TOKEN_FILE = v.strictObject({
  tokens: v.pipe(
    v.array(ENTRY, "wants a list"),
    v.minLength(1, "wants at least one token"),
    v.maxLength(TOKENS_MAX, `wants at most ${TOKENS_MAX} tokens`),
  ),
}, 'wants an object {"tokens": […]}');

interface Entry {
  readonly hash: Uint32Array;
  readonly grant: Grant;
}

/**
 * Tokens in memory, as their SHA-256.
 *
 * @example
 * ```ts
 * import { createHash } from "node:crypto";
 * import { openStore } from "@tidemark/tidemark";
 * import { createApp, TokenTable } from "@tidemark/tidemark/http";
 *
 * const tokens = [{ name: "p", token: "0123456789abcdef", jobs: ["orders"], rights: ["read"] }];
 * const sha256 = (text: string) => createHash("sha256").update(text).digest();
 * const access = TokenTable.parse(JSON.stringify({ tokens }), { sha256 });
 * await using store = await openStore("memory:");
 * const { fetch } = createApp(store, { access });
 * console.assert((await fetch(new Request("http://127.0.0.1:7460/v1/jobs"))).status === 401);
 * console.assert(access.grantOf("0123456789abcdef")?.allows("append", "orders") === false);
 * ```
 */
export class TokenTable implements Access {
  readonly #entries: readonly Entry[];
  readonly #sha256: TokenTableOptions["sha256"];

  /**
   * @param entries Hashes, each with what its token allows.
   * @param sha256 The hash.
   */
  private constructor(entries: readonly Entry[], sha256: TokenTableOptions["sha256"]) {
    this.#entries = entries;
    this.#sha256 = sha256;
  }

  /**
   * Reads tokens; `docs/SECURITY.md` describes the text.
   *
   * @param text JSON; undefined where there is only a master token.
   * @param options The hash, and what messages call the text.
   * @returns The tokens.
   * @throws {TidemarkError} `invalid-request`: the text, or a token, is not as it should be. The
   * message names the place, and never a token.
   */
  static parse(text: string | undefined, options: TokenTableOptions): TokenTable {
    const { sha256, name = "token file", masterToken } = options;
    const entries: Entry[] = [];
    if (masterToken !== undefined) {
      entries.push(masterEntry(masterToken, sha256));
    }
    if (text !== undefined) {
      for (const entry of check(TOKEN_FILE, name, parseJson(text, name)).tokens) {
        const hash = hashOf(entry.token, sha256);
        refuseTwice(entries, hash, entry.name, name);
        entries.push({ hash, grant: grantOf(entry.name, entry.jobs, entry.rights) });
      }
    }
    return new TokenTable(entries, sha256);
  }

  /** How many tokens there are. */
  get size(): number {
    return this.#entries.length;
  }

  /**
   * What the bearer of a token may do. Takes the same time whichever token it is, or none.
   *
   * @param token What the request carries.
   * @returns The grant, or undefined when the token is not known.
   */
  grantOf(token: string): Grant | undefined {
    if (token.length > TOKEN_CHARS_MAX) return undefined;
    const hash = wordsOf(this.#sha256(token));
    let found: Grant | undefined;
    for (const entry of this.#entries) {
      if (differenceOf(entry.hash, hash) === 0) found = entry.grant;
    }
    return found;
  }
}

/** Finds a token in a text that {@link TokenTable.parse} takes: the first that is no hash. */
export function firstToken(text: string, name: string): string | undefined {
  const { tokens } = check(TOKEN_FILE, name, parseJson(text, name));
  return tokens.find(({ token }) => !token.startsWith(HASH_PREFIX))?.token;
}

/** Looks at every word, whatever the ones before said. */
function differenceOf(one: Uint32Array, other: Uint32Array): number {
  let difference = 0;
  for (let at = 0; at < HASH_WORDS; at++) difference |= one[at] ^ other[at];
  return difference;
}

function grantOf(name: string, jobs: readonly string[], rights: readonly Right[]): Grant {
  const isEverywhere = jobs.includes(EVERY_JOB);
  const exact = new Set(jobs.filter((job) => !job.endsWith("*")));
  const prefixes = jobs.filter((job) => job.endsWith("*")).map((job) => job.slice(0, -1));
  const given = new Set<Right>(rights.includes("admin") ? ["read", "append", "admin"] : rights);
  return {
    name,
    allows(right, job) {
      if (!given.has(right)) return false;
      if (isEverywhere || job === undefined) return isEverywhere;
      return exact.has(job) || prefixes.some((prefix) => job.startsWith(prefix));
    },
  };
}

function masterEntry(token: string, sha256: TokenTableOptions["sha256"]): Entry {
  if (token.startsWith(HASH_PREFIX) || !isTokenOrHash(token)) {
    throw new RequestError(
      400,
      `Cannot use the token in TIDEMARK_TOKEN: wants ${wantedToken()}; ` +
        "make one with: openssl rand -hex 24",
    );
  }
  return { hash: hashOf(token, sha256), grant: grantOf("TIDEMARK_TOKEN", ["*"], ["admin"]) };
}

function refuseTwice(
  entries: readonly Entry[],
  hash: Uint32Array,
  token: string,
  file: string,
): void {
  const other = entries.find(({ grant, hash: there }) =>
    grant.name === token || differenceOf(there, hash) === 0
  );
  if (other === undefined) return;
  const reason = other.grant.name === token
    ? `two tokens have the name ${token}`
    : `${token} is the same token as ${other.grant.name}`;
  throw new RequestError(400, `Cannot use the ${file}: ${reason}; each wants one of its own`);
}

function isTokenOrHash(text: string): boolean {
  if (text.startsWith(HASH_PREFIX)) {
    return /^[0-9a-fA-F]{64}$/.test(text.slice(HASH_PREFIX.length));
  }
  return text.length >= TOKEN_CHARS_MIN && text.length <= TOKEN_CHARS_MAX && TOKEN.test(text);
}

function wantedToken(): string {
  return `${TOKEN_CHARS_MIN} to ${TOKEN_CHARS_MAX} of A-Z a-z 0-9 . _ ~ + / -`;
}

function hashOf(token: string, sha256: TokenTableOptions["sha256"]): Uint32Array {
  if (!token.startsWith(HASH_PREFIX)) return wordsOf(sha256(token));
  const digits = token.slice(HASH_PREFIX.length);
  return Uint32Array.from(
    { length: HASH_WORDS },
    (_, at) => parseInt(digits.slice(at * 8, at * 8 + 8), 16),
  );
}

function wordsOf(hash: Uint8Array): Uint32Array {
  const view = new DataView(hash.buffer, hash.byteOffset, hash.byteLength);
  const words = new Uint32Array(HASH_WORDS);
  for (let at = 0; at < HASH_WORDS; at++) words[at] = view.getUint32(at * 4);
  return words;
}

/** What the parser says is left out: it quotes the text, and there are tokens in it. */
function parseJson(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const [, position] = /at position ([0-9]+)/.exec(String(error)) ?? [];
    const place = position === undefined ? "" : ` from character ${position} on`;
    throw new RequestError(400, `Cannot read the ${name}: it is no JSON${place}`);
  }
}
