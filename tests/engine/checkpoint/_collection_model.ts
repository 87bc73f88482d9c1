/**
 * A plain model of a job's checkpoints: what each holds, which descends from which, what retention lets go. While an
 * answer is out, the job may stand in one of several places.
 * @module
 */
import assert from "node:assert/strict";

/** What can be read of one writer: its changes from an offset on. */
export interface Span {
  readonly from: number;
  readonly changes: readonly string[];
}
export type Spans = Readonly<Record<string, Span>>;
/** Contents of state objects, by name. */
export type States = Readonly<Record<string, string>>;

interface Writer {
  /** Every change since offset 0, given up or not. */
  readonly line: string[];
  /** What lies below it is given up with the next checkpoint. */
  wantedBase: number;
  /** What lies below it was given up by a published checkpoint. */
  base: number;
  acknowledged: number;
  /** Whether it ends: with the next published checkpoint, or by one that was published. */
  ends: "no" | "next" | "published";
}
type Writers = Map<string, Writer>;

interface Place {
  readonly head: string | null;
  readonly writers: Writers;
}

interface Checkpoint {
  parent: string | null;
  readonly writers: Writers;
  readonly states: States;
  isPinned: boolean;
}

interface Asked {
  readonly writers: Writers;
  readonly states: States;
}

export class CollectionModel {
  /** Where the job may stand; the first is where it stands if nothing was asked for since. */
  #places: Place[] = [{ head: null, writers: new Map() }];
  readonly #checkpoints = new Map<string, Checkpoint>();
  #unanswered: Asked[] = [];
  /** Checkpoints that a collection without an answer may have removed. */
  #removable = new Set<string>();
  minCount = 2;
  /** Writers that were left out, and whose names need not be free yet. */
  readonly left = new Set<string>();

  get #now(): Place {
    return this.#places[0];
  }

  get uuids(): string[] {
    return [...this.#checkpoints.keys()];
  }

  get head(): string | null {
    return this.#now.head;
  }

  writer(id: string): Writer {
    let writer = this.#now.writers.get(id);
    if (writer === undefined) {
      writer = { line: [], wantedBase: 0, base: 0, acknowledged: 0, ends: "no" };
      this.#now.writers.set(id, writer);
    }
    return writer;
  }

  /** What a checkpoint holds; a writer of which one has said where it ends is left out. */
  snapshot(): Writers {
    const writers = copyOf(this.#now.writers);
    for (const [id, { ends }] of writers) if (ends === "published") writers.delete(id);
    return writers;
  }

  checkpointed(uuid: string, at: Writers, states: States): void {
    this.#checkpoints.set(uuid, { parent: this.head, writers: at, states, isPinned: false });
    for (const id of this.#now.writers.keys()) {
      if (at.has(id)) continue;
      this.#now.writers.delete(id);
      this.left.add(id);
    }
    for (const [id, { line, wantedBase, ends }] of at) {
      const writer = this.writer(id);
      writer.acknowledged = Math.max(writer.acknowledged, line.length);
      writer.base = wantedBase;
      if (ends === "next") writer.ends = "published";
    }
    this.#places = [{ head: uuid, writers: this.#now.writers }];
  }

  unanswered(at: Writers, states: States): void {
    this.#unanswered.push({ writers: at, states });
  }

  /** A checkpoint turned up that nobody answered for: it must be one that was asked for. */
  found(uuid: string, restored: Spans, states: States, parent: string | null): void {
    const at = this.#unanswered.find((asked) =>
      isSame(contentOf(asked.writers), restored) && isSame(asked.states, states)
    );
    assert.ok(at !== undefined, `checkpoint ${uuid} was never asked for`);
    this.#checkpoints.set(uuid, { parent, ...at, isPinned: false });
  }

  /** The states that a checkpoint must have. */
  statesOf(uuid: string): States {
    return this.#checkpoints.get(uuid)!.states;
  }

  /** What a restore of a checkpoint must give. */
  contentOf(uuid: string): Spans {
    return contentOf(this.#checkpoints.get(uuid)!.writers);
  }

  pinned(uuid: string, isPinned: boolean): void {
    this.#checkpoints.get(uuid)!.isPinned = isPinned;
  }

  /** Which checkpoints retention lets go. */
  going(except: ReadonlySet<string>): string[] {
    const line = new Set<string>();
    for (let at = this.head; at !== null; at = this.#checkpoints.get(at)!.parent) line.add(at);
    let counted = 0;
    return this.uuids.reverse().filter((uuid) => {
      if (!line.has(uuid) || this.#checkpoints.get(uuid)!.isPinned || except.has(uuid)) {
        return false;
      }
      return counted++ >= this.minCount;
    });
  }

  collecting(uuids: readonly string[]): void {
    for (const uuid of uuids) this.#removable.add(uuid);
  }

  removed(uuids: readonly string[]): void {
    for (const uuid of uuids) {
      const { parent } = this.#checkpoints.get(uuid)!;
      this.#checkpoints.delete(uuid);
      for (const other of this.#checkpoints.values()) {
        if (other.parent === uuid) other.parent = parent;
      }
    }
    this.#removable.clear();
  }

  resuming(to: string | null): void {
    this.#places.push(this.#placeOf(to));
  }

  resumed(to: string | null): void {
    this.#places = [this.#placeOf(to)];
    this.left.clear();
  }

  #placeOf(to: string | null): Place {
    const writers = to === null ? new Map() : copyOf(this.#checkpoints.get(to)!.writers);
    for (const writer of writers.values()) {
      writer.base = writer.wantedBase;
      writer.acknowledged = writer.line.length;
      if (writer.ends === "next") writer.ends = "published";
    }
    return { head: to, writers };
  }

  /** What is listed must be what was published, but for what an unanswered collection removed. */
  checkListed(listed: readonly string[]): void {
    for (const uuid of this.uuids) {
      if (listed.includes(uuid)) continue;
      assert.ok(this.#removable.has(uuid), `checkpoint ${uuid} is gone`);
      this.removed([uuid]);
    }
    this.#removable.clear();
  }

  /** The job was opened again: it stands where it may, with all that was acknowledged. */
  recovered(head: string | null, tail: Spans): void {
    const places = this.#places.concat(head === null ? [] : this.#foundPlaces(head));
    const reasons = places.map((place) => whyNot(place, head, tail));
    const at = reasons.indexOf(undefined);
    if (at < 0) assert.fail(`the tail is on no line: ${reasons.join("; or ")}`);
    const writers: Writers = new Map();
    for (const [id, writer] of places[at].writers) {
      const length = tail[id] === undefined ? writer.base : tail[id].from + tail[id].changes.length;
      const line = writer.line.slice(0, length);
      const inHead = head === null ? "no" : this.#checkpoints.get(head)!.writers.get(id)?.ends;
      const ends = (inHead ?? "no") === "no" ? "no" : "published";
      writers.set(id, { ...writer, line, wantedBase: writer.base, acknowledged: length, ends });
    }
    this.#places = [{ head, writers }];
    this.#unanswered = [];
    this.left.clear();
  }

  /** A checkpoint that nobody answered for may have become `head`, wherever the job stood. */
  #foundPlaces(head: string): Place[] {
    const asked = this.#checkpoints.get(head)!.writers;
    return this.#places.filter((place) => place.head !== head).map(({ writers }) => {
      const after = copyOf(writers);
      for (const [id, { wantedBase }] of asked) if (after.has(id)) after.get(id)!.base = wantedBase;
      for (const [id, { ends }] of after) {
        if (ends === "published" && !asked.has(id)) after.delete(id);
      }
      return { head, writers: after };
    });
  }
}

function copyOf(writers: Writers): Writers {
  return new Map([...writers].map(([id, writer]) => [id, { ...writer, line: [...writer.line] }]));
}

function contentOf(writers: Writers): Spans {
  const spans: Record<string, Span> = {};
  for (const [id, { line, wantedBase }] of writers) {
    if (line.length > wantedBase) spans[id] = { from: wantedBase, changes: line.slice(wantedBase) };
  }
  return spans;
}

function isSame<Found extends Spans | States>(one: Found, other: Found): boolean {
  const written = (found: Found) => JSON.stringify(Object.entries(found).sort());
  return written(one) === written(other);
}

function whyNot({ head, writers }: Place, found: string | null, tail: Spans): string | undefined {
  if (head !== found) return `head is ${found}, not ${head}`;
  for (const id of Object.keys(tail)) if (!writers.has(id)) return `nobody appended to ${id}`;
  for (const [id, { line, base, acknowledged }] of writers) {
    const { from, changes } = tail[id] ?? { from: base, changes: [] };
    if (changes.length > 0 && from !== base) return `${id} begins at ${from}, not ${base}`;
    const end = from + changes.length;
    if (end < acknowledged) return `${id} ends at ${end}, acknowledged were ${acknowledged}`;
    const at = changes.findIndex((change, i) => change !== line[from + i]);
    if (at >= 0) return `${id} has ${changes[at]} at ${from + at}, not ${line[from + at]}`;
  }
  return undefined;
}
