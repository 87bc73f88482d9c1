/** Certificate and key of a server. */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { TidemarkError } from "../engine/errors.ts";
import type { TlsTexts } from "./_listener.ts";
import { readSecretFile } from "./secret_file.ts";

/** Group members may read a key, as the group `ssl-cert` of Debian does; nobody else may. */
const KEY_FORBIDDEN = 0o037;

/** Where certificate and key are, as PEM. */
export interface TlsFiles {
  /** The certificate, and those between it and the root. */
  readonly certFile: string;
  readonly keyFile: string;
}

/**
 * Reads certificate and key.
 *
 * @throws {TidemarkError} `invalid-request`, `storage-denied`: names the file, and what is wrong
 */
export function readTlsFiles({ certFile, keyFile }: TlsFiles): TlsTexts {
  const cert = readCertificate(certFile);
  const key = readSecretFile(keyFile, "TLS key", { forbidden: KEY_FORBIDDEN });
  const certificate = parse("TLS certificate", certFile, () => new X509Certificate(cert));
  const secret: KeyObject = parse("TLS key", keyFile, () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(secret)) {
    throw refusal("TLS key", keyFile, `it does not belong to the certificate ${certFile}`);
  }
  return { cert, key };
}

function readCertificate(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const errno = String((cause as { code?: unknown }).code);
    // Deno's own refusal has no errno, and says which permission is missing.
    const said = (cause as { code?: string }).code ?? (cause as Error).message;
    const reason = errno === "ENOENT" ? "there is no such file" : said;
    throw refusal("TLS certificate", path, reason, cause);
  }
}

/** What the parser says is left out where it may quote a secret. */
function parse<Result>(what: string, path: string, read: () => Result): Result {
  try {
    return read();
  } catch {
    throw refusal(what, path, "it is no PEM text of one, or needs a pass phrase");
  }
}

function refusal(what: string, path: string, reason: string, cause?: unknown): TidemarkError {
  return new TidemarkError("invalid-request", `Cannot use the ${what} ${path}: ${reason}`, {
    details: { path },
    cause,
  });
}
