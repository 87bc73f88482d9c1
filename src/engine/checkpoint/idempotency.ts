/**
 * Keys under which a checkpoint is made once, however often it is asked for.
 * Owns: what is the same request, which checkpoint a key stands for. Does not own: making checkpoints, waiting.
 * @module
 */
import { xxh64 } from "../../../wasm/mod.ts";
import { TidemarkError } from "../errors.ts";
import type { CheckpointFacts } from "../format/checkpoint_facts.ts";
import type { CatalogEntry, GenerationBody } from "../format/generation.ts";
import { formatHash } from "../format/hash_text.ts";
import type { ManifestState } from "../format/manifest.ts";
import { IDEMPOTENCY_KEY_LENGTH_MAX } from "../limits.ts";
import type { CheckpointOptions, StateSource } from "../types.ts";
import { isContent, type StateSources } from "./_state_sources.ts";
import { lineOf } from "./checkpoint_list.ts";

const KEY = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** A key, and the checksum of what was asked for under it. */
export type Idempotency = NonNullable<CheckpointFacts["idempotency"]>;

/** What a key's facts are taken from. */
export type IdempotentRequest =
  & Pick<CheckpointOptions, "uuid" | "identifier" | "steps" | "processedRecords" | "metadata">
  & { readonly states: StateSources };

/** Notes what is asked for under a key. @throws {TidemarkError} `invalid-request` */
export function idempotencyOf(key: string, request: IdempotentRequest): Idempotency {
  if (typeof key !== "string" || key.length > IDEMPOTENCY_KEY_LENGTH_MAX || !KEY.test(key)) {
    throw new TidemarkError(
      "invalid-request",
      `Cannot use idempotency key ${
        JSON.stringify(key)
      }: wants 1 to ${IDEMPOTENCY_KEY_LENGTH_MAX} printable ASCII characters, no space at an end`,
      { details: { lengthMax: IDEMPOTENCY_KEY_LENGTH_MAX } },
    );
  }
  const { uuid, identifier, steps, processedRecords, metadata = null, states } = request;
  const facts = [
    uuid ?? null,
    identifier ?? null,
    steps === undefined ? null : String(steps),
    processedRecords === undefined ? null : String(processedRecords),
    inOrder(metadata),
    // What a content says is compared with what was stored.
    [...states].map(([name, source]) => [name, isReference(source) ? source : null]),
  ];
  const bytes = new TextEncoder().encode(JSON.stringify(facts));
  return { key, facts: formatHash(xxh64(bytes)) };
}

/** Whether a state is shared with a checkpoint; of any other the content counts, however it came. */
function isReference(source: StateSource): boolean {
  return !isContent(source) && "from" in source;
}

/** JSON with its members in order of name: their order says nothing. */
function inOrder(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(inOrder);
  if (typeof json !== "object" || json === null) return json;
  const members = Object.entries(json).sort(([a], [b]) => a < b ? -1 : 1);
  return Object.fromEntries(members.map(([name, value]) => [name, inOrder(value)]));
}

/**
 * The checkpoint that a key stands for. One that is not an ancestor of `head` was abandoned by a resume: what was
 * made under its key is no part of the job any more, and the key is free.
 *
 * @throws {TidemarkError} `idempotency-conflict`: something else was asked for under it.
 */
export function findByKey(
  generation: GenerationBody,
  asked: Idempotency,
): CatalogEntry | undefined {
  const { checkpoints, job } = generation;
  const keyed = checkpoints.filter(({ idempotency }) => idempotency?.key === asked.key);
  if (keyed.length === 0) return undefined;
  const line = lineOf(generation);
  const entry = keyed.find(({ uuid }) => line.has(uuid));
  if (entry !== undefined) checkSame(job, asked, entry.idempotency!, entry.uuid);
  return entry;
}

/** @throws {TidemarkError} `idempotency-conflict` */
export function checkSame(job: string, asked: Idempotency, made: Idempotency, uuid?: string): void {
  if (asked.facts !== made.facts) throw idempotencyConflict(job, asked.key, uuid);
}

/** States that are given, and how those are found that were written ahead. */
export interface GivenStates {
  readonly sources: StateSources;
  /** A state that waits for a checkpoint. */
  readonly written: (uuid: string) => ManifestState | undefined;
}

/**
 * Compares the states that are given as bytes, or were written ahead, with those that were stored; what is given piece by
 * piece is not read.
 *
 * @throws {TidemarkError} `idempotency-conflict`
 */
export function checkSameStates(
  job: string,
  { key }: Idempotency,
  entry: CatalogEntry,
  { sources, written }: GivenStates,
  stored: readonly ManifestState[],
): void {
  const found = new Map(stored.map((state) => [state.name, state]));
  for (const [name, source] of sources) {
    const state = found.get(name);
    const isSame = source instanceof Uint8Array
      ? state?.size === source.length && state.xxh64 === formatHash(xxh64(source))
      : isWritten(source)
      ? state?.uuid === source.written || isSameContent(state, written(source.written))
      : true;
    if (!isSame) throw idempotencyConflict(job, key, entry.uuid, name);
  }
}

/** Whether any of them can be compared. */
export function areComparable({ sources }: GivenStates): boolean {
  return [...sources.values()].some((source) => source instanceof Uint8Array || isWritten(source));
}

function isWritten(source: StateSource): source is { readonly written: string } {
  return !isContent(source) && "written" in source;
}

function isSameContent(one: ManifestState | undefined, other: ManifestState | undefined): boolean {
  return one !== undefined && one.size === other?.size && one.xxh64 === other.xxh64;
}

function idempotencyConflict(
  job: string,
  key: string,
  uuid: string | undefined,
  state?: string,
): TidemarkError {
  const what = uuid === undefined ? "a checkpoint that is being made" : `checkpoint ${uuid}`;
  const other = state === undefined ? "something else" : `another state ${state}`;
  return new TidemarkError(
    "idempotency-conflict",
    `Cannot make a checkpoint of job ${job} under idempotency key ${key}: ${what} has it, and ${other} was asked for then; repeat that very request, or use another key`,
    { details: { job, key, uuid } },
  );
}
