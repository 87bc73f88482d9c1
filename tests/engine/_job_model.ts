/**
 * A plain model of a job with its writers, and what may be seen of the real one. While an answer is out, the job may
 * stand on one of several lines.
 * @module
 */
import assert from "node:assert/strict";

/** Changes of every writer, in order. */
export type Lines = ReadonlyMap<string, readonly string[]>;

/** Where the job may stand: all that was appended, and how much of it was acknowledged. */
interface Stand {
  readonly lines: Map<string, string[]>;
  readonly acknowledged: Map<string, number>;
}

export class JobModel {
  #stands: Stand[] = [{ lines: new Map(), acknowledged: new Map() }];
  readonly checkpoints: Map<string, Lines> = new Map();
  /** What checkpoints hold that were asked for and not answered. */
  #unanswered: Lines[] = [];

  get #now(): Stand {
    return this.#stands[0];
  }

  line(writer: string): readonly string[] {
    return this.#now.lines.get(writer) ?? [];
  }

  append(writer: string, changes: readonly string[]): void {
    this.#now.lines.set(writer, [...this.line(writer), ...changes]);
  }

  acknowledge(writer: string, count: number): void {
    const known = this.#now.acknowledged.get(writer) ?? 0;
    this.#now.acknowledged.set(writer, Math.max(count, known));
  }

  acknowledged(writer: string): number {
    return this.#now.acknowledged.get(writer) ?? 0;
  }

  snapshot(): Lines {
    return new Map([...this.#now.lines].map(([writer, line]) => [writer, [...line]]));
  }

  checkpointed(uuid: string, lines: Lines): void {
    this.checkpoints.set(uuid, lines);
    for (const [writer, line] of lines) this.acknowledge(writer, line.length);
  }

  unanswered(lines: Lines): void {
    this.#unanswered.push(lines);
  }

  /** A checkpoint turned up that was never answered: it must be one that was asked for. */
  found(uuid: string, lines: Lines): void {
    const wanted = this.#unanswered.find((one) => isEqual(one, lines));
    assert.ok(wanted !== undefined, `checkpoint ${uuid} was never asked for: ${show(lines)}`);
    this.checkpoints.set(uuid, wanted);
  }

  /** The job stands at these lines, all of them durable. */
  standAt(lines: Lines): void {
    this.#stands = [standAt(lines)];
  }

  /** The job may stand at these lines, or where it stood. */
  mayStandAt(lines: Lines): void {
    this.#stands.push(standAt(lines));
  }

  /** Something was restored: it must be a prefix of where the job may stand, with all that was acknowledged. */
  recover(restored: Lines): void {
    this.check(restored);
    const acknowledged = new Map([...restored].map(([writer, line]) => [writer, line.length]));
    this.#stands = [{ lines: copy(restored), acknowledged }];
  }

  check(restored: Lines): void {
    const reasons = this.#stands.map((stand) => whyNot(stand, restored));
    if (!reasons.includes(undefined)) assert.fail(reasons.join("; or "));
  }
}

function standAt(lines: Lines): Stand {
  const acknowledged = new Map([...lines].map(([writer, line]) => [writer, line.length]));
  return { lines: copy(lines), acknowledged };
}

function copy(lines: Lines): Map<string, string[]> {
  return new Map([...lines].map(([writer, line]) => [writer, [...line]]));
}

function isEqual(one: Lines, other: Lines): boolean {
  return show(one) === show(other);
}

function show(lines: Lines): string {
  const filled = [...lines].filter(([, line]) => line.length > 0).sort(([a], [b]) =>
    a < b ? -1 : 1
  );
  return JSON.stringify(filled);
}

function whyNot({ lines, acknowledged }: Stand, restored: Lines): string | undefined {
  for (const [writer, line] of restored) {
    const wanted = lines.get(writer) ?? [];
    const at = line.findIndex((change, i) => change !== wanted[i]);
    if (at >= 0) return `${writer} has ${line[at]} at ${at}, appended was ${wanted[at]}`;
  }
  for (const [writer, count] of acknowledged) {
    const found = restored.get(writer)?.length ?? 0;
    if (found < count) return `${writer} has ${found} changes, acknowledged were ${count}`;
  }
  return undefined;
}
