/**
 * The log of a load generator: per writer, what was sent and what was acknowledged. It lives in the process
 * that sends, so a kill of the sidecar takes nothing of it; what the sidecar gives back is held against it.
 * @module
 */
import assert from "node:assert/strict";
import { changeAt, type PlainChange } from "./_content.ts";

interface Stretch {
  readonly to: number;
  readonly branch: number;
}

/** An append that was sent. */
export interface SentAppend {
  readonly offset: number;
  readonly nextOffset: number;
  readonly branch: number;
}

/** All that was sent to one writer, without what a resume rewound. */
export class WriterHistory {
  readonly writer: string;
  /** Everything below it was acknowledged, or was read back after a recovery. */
  acknowledged = 0;
  /** The append whose answer is out, or never came. */
  pending: SentAppend | undefined;
  #stretches: Stretch[] = [];

  constructor(writer: string) {
    this.writer = writer;
  }

  /** Everything below it was sent. */
  get sent(): number {
    return this.#stretches.at(-1)?.to ?? 0;
  }

  /** Notes an append before it is sent. */
  send(count: number, branch: number): SentAppend {
    const offset = this.sent;
    const nextOffset = offset + count;
    if (this.#stretches.at(-1)?.branch === branch) this.#stretches.pop();
    this.#stretches.push({ to: nextOffset, branch });
    this.pending = { offset, nextOffset, branch };
    return this.pending;
  }

  /** Notes that everything below `offset` is safe. */
  acknowledge(offset: number): void {
    this.acknowledged = Math.max(this.acknowledged, offset);
    if (this.pending !== undefined && this.pending.nextOffset <= offset) this.pending = undefined;
  }

  /** Goes back to `offset` of what `source` holds: a resume rewound it there. */
  rewind(offset: number, source: WriterHistory = this): void {
    const kept = source.#stretches.filter(({ to }) => to < offset);
    const cut = source.#stretches[kept.length];
    if (cut !== undefined && offset > 0) kept.push({ to: offset, branch: cut.branch });
    this.#stretches = kept;
    this.acknowledged = offset;
    this.pending = undefined;
  }

  /** A copy that stays as it is. */
  snapshot(): WriterHistory {
    const copy = new WriterHistory(this.writer);
    copy.#stretches = [...this.#stretches];
    copy.acknowledged = this.acknowledged;
    return copy;
  }

  /** Checks that these are the changes that were sent from `from` on. */
  check(changes: readonly PlainChange[], from: number, where: string): void {
    const end = from + changes.length;
    assert.ok(end <= this.sent, `${where}: ${end} changes of ${this.writer}, sent ${this.sent}`);
    let index = this.#stretches.findIndex(({ to }) => to > from);
    for (let offset = from; offset < end; offset++) {
      while (this.#stretches[index].to <= offset) index++;
      const wanted = changeAt(this.writer, this.#stretches[index].branch, offset);
      const found = changes[offset - from];
      const isSame = found.keyGroup === wanted.keyGroup && found.data === wanted.data;
      assert.ok(isSame, `${where}: ${describe(found)} in place of ${describe(wanted)}`);
    }
  }
}

function describe({ keyGroup, data }: PlainChange): string {
  return `[${keyGroup}, ${data.slice(0, 40)}… of ${data.length}]`;
}
