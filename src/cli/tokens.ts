/**
 * The tokens that a command line works with.
 *
 * Owns: where a sidecar finds those that it asks for, and a client the one that it sends.
 * Does not own: what is in a file (`src/http/token_table.ts`), who may read it (`src/runtime`).
 * @module
 */
import type { Clock } from "../engine/port/clock.ts";
import type { Logger } from "../engine/port/logger.ts";
import type { Access } from "../http/access.ts";
import { ReloadingTokens } from "../http/reloading_tokens.ts";
import { firstToken, TokenTable } from "../http/token_table.ts";
import { readSecretFile, sha256, versionOfFile } from "../runtime/secret_file.ts";
import { UsageError } from "./_usage_error.ts";
import type { Settings } from "./settings/settings.ts";

const WHAT = "token file";

/**
 * The tokens that a sidecar asks for; undefined when it asks for none.
 *
 * @throws {TidemarkError} `invalid-request`, `storage-denied`: one can't be used
 */
export function accessOf(
  settings: Settings,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Access | undefined {
  const [masterToken, path] = [settings.get("token"), settings.get("tokenFile")];
  if (path === undefined) {
    return masterToken === undefined
      ? undefined
      : TokenTable.parse(undefined, { sha256, masterToken });
  }
  const options = { sha256, masterToken, name: `${WHAT} ${path}` };
  return new ReloadingTokens({
    version: () => versionOfFile(path),
    load: () => TokenTable.parse(readSecretFile(path, WHAT), options),
    clock,
    logger,
  });
}

/**
 * The token that a sidecar is asked with, if there is one.
 *
 * @throws {TidemarkError} `invalid-request`, `storage-denied`: the file can't be used
 * @throws {UsageError} There are only hashes in it
 */
export function clientToken(settings: Settings): string | undefined {
  const [token, path] = [settings.get("token"), settings.get("tokenFile")];
  if (token !== undefined || path === undefined) return token;
  const found = firstToken(readSecretFile(path, WHAT), `${WHAT} ${path}`);
  if (found !== undefined) return found;
  throw new UsageError(
    `Cannot send a token of ${path}: it holds only hashes; give the token itself in TIDEMARK_TOKEN`,
  );
}
