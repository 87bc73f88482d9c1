/**
 * What a pipeline knows of its job: what it appended, what was acknowledged, which checkpoints and resumes it asked for.
 * After a crash it says whether what is restored is allowed (DESIGN, guarantees 1 to 3).
 * @module
 */
import assert from "node:assert/strict";

/** Changes of every writer, in order. */
export type Line = ReadonlyMap<string, readonly string[]>;

/** A line that may be the current one, with how much of it must be there. */
interface Candidate {
  readonly changes: Map<string, string[]>;
  readonly acknowledged: Map<string, number>;
}

/** The pipeline's own memory of its job. */
export class Oracle {
  /** More than one while a resume is not answered. */
  #candidates: Candidate[] = [{ changes: new Map(), acknowledged: new Map() }];
  readonly #checkpoints = new Map<string, Line>();
  /** Checkpoints that a collection without an answer may have removed. */
  readonly #removable = new Set<string>();
  /** What checkpoints hold that were asked for and not answered. */
  readonly #unanswered: Line[] = [];
  #next = 0;

  /** Published checkpoints that were acknowledged. */
  get checkpoints(): ReadonlyMap<string, Line> {
    return this.#checkpoints;
  }

  get #current(): Candidate {
    return this.#candidates[0];
  }

  /** A change that no other equals. */
  newChange(): string {
    return `change ${this.#next++} ${"x".repeat(this.#next % 50)}`;
  }

  appended(writer: string, change: string): void {
    const changes = this.#current.changes.get(writer);
    if (changes === undefined) this.#current.changes.set(writer, [change]);
    else changes.push(change);
  }

  acknowledged(writer: string, count: number): void {
    this.#current.acknowledged.set(writer, count);
  }

  /** How many changes a writer was given. */
  count(writer: string): number {
    return this.#current.changes.get(writer)?.length ?? 0;
  }

  /** The line as it stands, for a checkpoint that is asked for. */
  snapshot(): Line {
    return copy(this.#current.changes);
  }

  checkpointed(uuid: string, line: Line): void {
    this.#checkpoints.set(uuid, line);
    for (const [writer, changes] of line) this.acknowledged(writer, changes.length);
  }

  /** A checkpoint of this line was asked for, and not answered: it may be published. */
  unanswered(line: Line): void {
    this.#unanswered.push(line);
  }

  /** A checkpoint is listed that was never answered: it must hold what one was asked for. */
  found(uuid: string, restored: Line, context: string): void {
    const line = this.#unanswered.find((wanted) => isSame(wanted, restored));
    assert.ok(line !== undefined, `${context}: checkpoint ${uuid} was never asked for`);
    this.#checkpoints.set(uuid, line);
  }

  /** A collection was asked for that may remove these. */
  collecting(uuids: Iterable<string>): void {
    for (const uuid of uuids) this.#removable.add(uuid);
  }

  /** Checkpoints that are not among those listed. */
  missing(listed: readonly { readonly uuid: string }[]): string[] {
    const uuids = new Set(listed.map(({ uuid }) => uuid));
    return [...this.#checkpoints.keys()].filter((uuid) => !uuids.has(uuid));
  }

  /** A collection answered. */
  collected(removed: readonly string[]): void {
    for (const uuid of removed) this.#checkpoints.delete(uuid);
    this.#removable.clear();
  }

  /** Whether a checkpoint may be gone. */
  mayBeGone(uuid: string): boolean {
    return this.#removable.has(uuid);
  }

  /** A resume was asked for: until it is answered, the job may stand on either line. */
  resuming(target: Line): void {
    const acknowledged = new Map([...target].map(([writer, changes]) => [writer, changes.length]));
    this.#candidates.push({ changes: copy(target), acknowledged });
  }

  resumed(): void {
    this.#candidates = [this.#candidates.at(-1)!];
  }

  /** What was restored at the tail must be a prefix of a line, with all that was acknowledged on it. */
  checkTail(restored: Line, context: string): void {
    const reasons = this.#candidates.map((candidate) => whyNot(candidate, restored));
    if (reasons.some((reason) => reason === undefined)) return;
    assert.fail(`${context}: the tail is on no line: ${reasons.join("; or ")}`);
  }

  /** What is there after a recovery is what goes on. */
  recovered(restored: Line): void {
    const candidate = this.#candidates.find((one) => whyNot(one, restored) === undefined)!;
    const acknowledged = new Map([...restored].map(([writer, list]) => [writer, list.length]));
    for (const [writer, count] of candidate.acknowledged) {
      acknowledged.set(writer, Math.max(count, acknowledged.get(writer) ?? 0));
    }
    this.#candidates = [{ changes: copy(restored), acknowledged }];
  }
}

function copy(line: Line): Map<string, string[]> {
  return new Map([...line].map(([writer, changes]) => [writer, [...changes]]));
}

function isSame(one: Line, other: Line): boolean {
  const lineOf = (line: Line, writer: string) => JSON.stringify(line.get(writer) ?? []);
  return [...one.keys(), ...other.keys()].every((id) => lineOf(one, id) === lineOf(other, id));
}

function whyNot({ changes, acknowledged }: Candidate, restored: Line): string | undefined {
  for (const [writer, found] of restored) {
    const wanted = changes.get(writer) ?? [];
    const at = found.findIndex((change, i) => change !== wanted[i]);
    if (at >= 0) return `${writer} has ${found[at]} at ${at}, appended was ${wanted[at]}`;
  }
  for (const [writer, count] of acknowledged) {
    const found = restored.get(writer)?.length ?? 0;
    if (found < count) return `${writer} has ${found} changes, acknowledged were ${count}`;
  }
  return undefined;
}
