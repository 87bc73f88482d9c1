/**
 * What the doctor can ask a sidecar.
 * @module
 */
import { reasonOf } from "../../client/transport.ts";
import { TidemarkError } from "../../engine/errors.ts";
import { VERSION } from "../../engine/version.ts";
import { formatBytes, formatCount } from "../_format.ts";
import { UsageError } from "../_usage_error.ts";
import type { CommandContext } from "../command.ts";
import { EXIT_CODE_OF } from "../exit_codes.ts";
import { sidecarAt, type SidecarPlace } from "../target/sidecar.ts";
import { type Check, check, fault, ok, warning } from "./check.ts";

const ANSWER_MS_SLOW = 250;
/** One that has stalled is told, not waited for. */
const ANSWER_MS_MAX = 10_000;
const CLOCK_MS_MAX = 5000;
const FREE_SHARE_MIN = 0.05;

/** A sidecar's answer, as far as it is JSON. */
interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  /** By its `Date`, in milliseconds since 1970. @default it has none */
  readonly dateMs?: number;
  readonly tookMs: number;
}

/** Asks a sidecar how it is. */
export async function checkSidecar(context: CommandContext, url: string): Promise<Check[]> {
  const name = "sidecar";
  let asked: Asked | undefined;
  const first = await check(name, async () => {
    asked = { io: context.io, url, place: sidecarAt(context.io, url, context.settings) };
    return checkAnswer(url, await ask(asked, "/healthz"));
  });
  if (asked === undefined || first.some(({ result }) => result === "fault")) return [...first];
  const sidecar = asked;
  return [
    ...first,
    ...await check("ready", async () => checkReady(await ask(sidecar, "/readyz"))),
    ...await check("store", async () => checkStore(await ask(sidecar, "/v1/store"))),
  ];
}

/** Who is asked. */
interface Asked {
  readonly io: CommandContext["io"];
  /** As it was given, for people. */
  readonly url: string;
  readonly place: SidecarPlace;
}

async function ask({ io, url, place }: Asked, path: string): Promise<Answer> {
  const { base, fetch, token } = place;
  if (!URL.canParse(path, base)) throw notAnAddress(url);
  const headers = new Headers(token === undefined ? {} : { authorization: `Bearer ${token}` });
  const abort = new AbortController();
  const timeout = io.timeout(ANSWER_MS_MAX);
  const startMs = io.monotonicMs();
  const answered = async (): Promise<Answer> => {
    const response = await fetch(
      new Request(new URL(path, base), { headers, signal: abort.signal }),
    );
    const tookMs = io.monotonicMs() - startMs;
    const dateMs = Date.parse(response.headers.get("date") ?? "");
    return {
      status: response.status,
      body: parseObject(await response.text()),
      dateMs: Number.isNaN(dateMs) ? undefined : dateMs,
      tookMs,
    };
  };
  const late = timeout.over.then((): never => {
    throw new Error(`it has not answered ${path} within ${ANSWER_MS_MAX / 1000} s`);
  });
  try {
    return await Promise.race([answered(), late]);
  } catch (cause) {
    throw new TidemarkError("server-unreachable", `Cannot reach ${url}: ${reasonOf(cause)}`, {
      cause,
    });
  } finally {
    timeout.cancel();
    abort.abort();
  }
}

function notAnAddress(url: string): UsageError {
  return new UsageError(
    `Cannot use --url ${url}: wants an address such as http://127.0.0.1:7460, or unix:PATH`,
  );
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === "object" && json !== null ? json as Record<string, unknown> : {};
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}

function checkAnswer(url: string, { status, body, tookMs, dateMs }: Answer): Check[] {
  if (status !== 200 || body.status !== "ok") {
    const next = "Look whether a sidecar listens there, and not something else";
    return [fault("sidecar", `${url} answered ${status}, and not as a sidecar does`, next)];
  }
  const found = `${url} answers in ${Math.round(tookMs)} ms`;
  const answered = tookMs < ANSWER_MS_SLOW
    ? ok("sidecar", found)
    : warning("sidecar", found, "Look at the load of the machine, and at the way to it");
  if (dateMs === undefined) return [answered];
  const aheadMs = dateMs - Date.now();
  if (Math.abs(aheadMs) < CLOCK_MS_MAX) return [answered, ok("clock", "the sidecar's is as here")];
  const skew = `the sidecar's is ${Math.round(aheadMs / 1000)} s ahead of the one here`;
  return [answered, warning("clock", skew, "Set both clocks, and keep them by NTP")];
}

function checkReady({ status, body }: Answer): Check {
  if (status === 200) return ok("ready", "it takes requests");
  const { code, reason, status: state } = body;
  const found = `${code ?? state ?? status}${typeof reason === "string" ? `: ${reason}` : ""}`;
  const next = "Its log, and tidemark doctor --store where it runs, say more";
  return { ...fault("ready", found, next), exitCode: EXIT_CODE_OF.unavailable };
}

function checkStore({ status, body }: Answer): Check[] {
  if (status !== 200) {
    const found = `${body.detail ?? `status ${status}`}`;
    const next = "Give a token with the right to read: TIDEMARK_TOKEN or TIDEMARK_TOKEN_FILE";
    return [fault("store", found, next)];
  }
  const { store, location, version, jobs, bytesFree, bytesTotal, isFull } = body;
  const found = `${store} in ${location}, ${formatCount(Number(jobs), "job")}`;
  const release = version === VERSION
    ? ok("version", `both are ${VERSION}`)
    : warning("version", `the sidecar is ${version}, this is ${VERSION}`, "Use the same release");
  return [ok("store", found), release, ...checkSpace(bytesFree, bytesTotal, isFull === true)];
}

function checkSpace(free: unknown, total: unknown, isFull: boolean): Check[] {
  if (typeof free !== "number" || typeof total !== "number") return [];
  const found = `${formatBytes(free)} of ${formatBytes(total)}`;
  const next = "Make room: let checkpoints go (retention, gc --now), or give the disk more";
  if (isFull) return [fault("free-space", found, next)];
  const isShort = free < total * FREE_SHARE_MIN;
  return [isShort ? warning("free-space", found, next) : ok("free-space", found)];
}
