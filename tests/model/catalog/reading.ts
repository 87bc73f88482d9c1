/**
 * A reader of the tail in another process, without lock or lease, in the catalog model.
 * @module
 */
import type { Emit } from "../explorer.ts";
import { absentIsNotUnreadable, readIsPrefix } from "./invariants.ts";
import { tailsOf } from "./opening.ts";
import type { CatalogRules } from "./rules.ts";
import type { CatalogState, Generation, Reader } from "./state.ts";
import { IDLE_READER, listOfChanges, newestGeneration, spend } from "./state.ts";

export function readTail(
  state: CatalogState,
  rules: CatalogRules,
  emit: Emit<CatalogState>,
): void {
  switch (state.reader.phase) {
    case "idle":
      return listGenerations(state, emit);
    case "listed":
      return getGeneration(state, rules, emit);
    case "scanning":
      return scanFiles(state, rules, emit);
    case "scanned":
      return endRead(state, rules, emit);
  }
}

function listGenerations(state: CatalogState, emit: Emit<CatalogState>): void {
  const newest = newestGeneration(state);
  if (state.left.reads === 0 || newest === undefined) return;
  const reader: Reader = {
    ...IDLE_READER,
    phase: "listed",
    listed: newest.number,
    acknowledgedAtStart: state.truth.acknowledged,
  };
  const label = () => `the reader lists: generation ${newest.number} is the newest`;
  emit(label, { ...spend(state, "reads"), reader });
}

/** Begins again from the listing; the reads left do not change. */
function startOver(state: CatalogState): CatalogState {
  return { ...spend(state, "reads", -1), reader: IDLE_READER };
}

function getGeneration(
  state: CatalogState,
  rules: CatalogRules,
  emit: Emit<CatalogState>,
): void {
  const { reader } = state;
  const generation = state.generations.find(({ number }) => number === reader.listed);
  if (generation?.kind === "deleted") {
    return emit(() => "the reader finds no job", { ...state, reader: IDLE_READER });
  }
  if (generation !== undefined) {
    const label = () => `the reader gets generation ${reader.listed}`;
    return emit(label, { ...state, reader: { ...reader, phase: "scanning", generation } });
  }
  const violation = rules.generationVanished === "lists again"
    ? null
    : absentIsNotUnreadable("a reader takes the catalog for lost");
  emit(() => `generation ${reader.listed} vanished`, startOver(state), violation);
}

function scanFiles(state: CatalogState, rules: CatalogRules, emit: Emit<CatalogState>): void {
  const { reader } = state;
  for (const { restored } of tailsOf(state, rules, reader.generation as Generation, Infinity)) {
    const label = () => `the reader scans and finds ${listOfChanges(restored)}`;
    emit(label, { ...state, reader: { ...reader, phase: "scanned", result: restored } });
  }
}

function endRead(state: CatalogState, rules: CatalogRules, emit: Emit<CatalogState>): void {
  const { reader, truth } = state;
  const began = reader.generation as Generation;
  const now = newestGeneration(state);
  const changed = now?.head !== began.head || now?.tailFrom !== began.tailFrom;
  if (changed && rules.readerAfterScan === "reads again") {
    return emit(() => "the reader starts over", startOver(state));
  }
  emit(() => "the reader ends", { ...state, reader: IDLE_READER }, readIsPrefix(truth, reader));
}
