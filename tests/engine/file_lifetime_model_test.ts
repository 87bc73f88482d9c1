/** Random lives of change files: none is deleted while it is needed, none is left for ever. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "../doubles/seeded_random.ts";
import { bytesOf, CHANGE_FILE, hasSettled, turn } from "./_engine.ts";
import { type FakeCheckpoint, FakeOwner } from "./_fake_owner.ts";

const SEEDS = 15;
const STEPS = 60;

/** A writer as its pipeline knows it. */
interface WriterModel {
  readonly id: string;
  readonly texts: string[];
  /** Offset below which it was given up, with the next checkpoint. */
  truncated: number;
  /** Offset from which it is given up, once it is closed. */
  closedAt: number | undefined;
  /** Whether a checkpoint has said so: later ones need not list it. */
  hasEnded: boolean;
}

/** What of a writer a checkpoint must hold. */
type Line = readonly [first: number, texts: readonly string[]];

class RandomLife {
  readonly #random: SeededRandom;
  readonly #writers: WriterModel[] = [];
  readonly #wanted = new Map<FakeCheckpoint, ReadonlyMap<string, Line>>();
  readonly #ops: readonly (readonly [weight: number, () => Promise<void> | void])[] = [
    [6, () => this.#append()],
    [6, () => this.#persist()],
    [2, () => this.#truncate()],
    [1, () => this.#close()],
    [3, () => this.#checkpoint()],
    [2, () => this.#owner.subsume(this.#random.below(3) + 1)],
    [2, () => this.#breakSomething()],
    [1, () => this.#owner.run.log.seal()],
  ];
  #owner!: FakeOwner;
  #count = 0;
  #step = "begin";

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
  }

  async live(): Promise<void> {
    let at = 0;
    try {
      this.#owner = await FakeOwner.begin({
        changeFileBytesMax: this.#random.pick([1, 600, 3000]),
        preemptivePersistBytes: this.#random.pick([40, 1000]),
      });
      for (; at < STEPS; at++) {
        await this.#choose()();
        await turn();
      }
      await this.#end();
    } catch (error) {
      throw new Error(`seed ${this.#random.seed}, step ${at}: ${this.#step}`, { cause: error });
    }
  }

  #choose(): () => Promise<void> | void {
    let left = this.#random.below(this.#ops.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, op] of this.#ops) {
      if (left < weight) return op;
      left -= weight;
    }
    return () => {};
  }

  /** An open writer, now and then a new one. */
  #writer(): WriterModel {
    const open = this.#writers.filter(({ closedAt }) => closedAt === undefined);
    if (open.length > 0 && (open.length > 3 || this.#random.chance(0.8))) {
      return this.#random.pick(open);
    }
    const id = `w${this.#writers.length}`;
    const writer: WriterModel = {
      id,
      texts: [],
      truncated: 0,
      closedAt: undefined,
      hasEnded: false,
    };
    this.#writers.push(writer);
    return writer;
  }

  #append(): void {
    const writer = this.#writer();
    const text = `${this.#count++} `.repeat(1 + this.#random.below(30));
    this.#step = `append to ${writer.id}`;
    writer.texts.push(text);
    this.#owner.writer(writer.id).append(0, bytesOf(text));
  }

  async #persist(): Promise<void> {
    const { id } = this.#writer();
    this.#step = `persist ${id}`;
    const persisting = this.#owner.writer(id).persist().catch(() => undefined);
    // Now and then without waiting, so that others come in between.
    if (this.#random.chance(0.6)) await persisting;
  }

  #truncate(): void {
    const writer = this.#writer();
    this.#step = `truncate ${writer.id}`;
    const handle = this.#owner.writer(writer.id);
    handle.truncate(handle.nextSequenceNumber());
    writer.truncated = writer.texts.length;
  }

  #close(): void {
    const writer = this.#writer();
    this.#step = `close ${writer.id}`;
    const handle = this.#owner.writer(writer.id);
    const from = handle.nextSequenceNumber();
    writer.closedAt = writer.texts.length;
    for (let more = this.#random.below(3); more > 0; more--) {
      handle.append(0, bytesOf("dropped"));
      void handle.persist().catch(() => undefined);
    }
    handle.truncateAndClose(from);
  }

  async #checkpoint(isLast = false): Promise<void> {
    const fails = !isLast && this.#random.chance(0.2);
    this.#step = fails ? "a checkpoint that fails" : "a checkpoint";
    const lines = new Map(
      this.#writers.map(({ id, texts, truncated, closedAt }): [string, Line] => {
        const first = Math.min(truncated, closedAt ?? truncated);
        return [id, [first, texts.slice(first, closedAt)]];
      }),
    );
    const beforePublish = (): void => {
      if (!isLast && this.#random.chance(0.5)) this.#append();
      if (fails) throw new Error("planned");
    };
    const made = await this.#owner.checkpoint({ beforePublish }).catch(() => undefined);
    if (made === undefined) return;
    for (const writer of this.#writers) {
      if (writer.hasEnded && !made.writers.has(writer.id)) lines.delete(writer.id);
      writer.hasEnded = writer.closedAt !== undefined;
    }
    this.#wanted.set(made, lines);
    await this.#checkCheckpoints();
  }

  #breakSomething(): void {
    this.#step = "a fault";
    const kind = this.#random.pick(["createAppender", "write", "sync", "closeAppender"] as const);
    const when = this.#random.pick(["before", "after", "cut"] as const);
    this.#owner.backend.fail({ kind, when, key: CHANGE_FILE, skip: this.#random.below(3) });
  }

  /** Every checkpoint that is retained holds just what it must. */
  async #checkCheckpoints(): Promise<void> {
    await this.#owner.deleter.whenIdle();
    for (const checkpoint of this.#owner.checkpoints) {
      assert.deepEqual(await this.#owner.readAll(checkpoint), this.#wanted.get(checkpoint));
    }
  }

  /** Everything durable can be read. */
  async #checkTail(): Promise<void> {
    const { run } = this.#owner;
    const writers = run.durableEnds();
    const lines = await this.#owner.readAll({ files: run.durableFiles(), writers });
    for (const [id, [first, found]] of lines) {
      const { texts } = this.#writers.find((writer) => writer.id === id)!;
      const wanted = texts.slice(first, writers.get(id)!.nextOffset);
      assert.deepEqual(found, wanted, `writer ${id}`);
    }
  }

  async #end(): Promise<void> {
    this.#owner.backend.mend();
    this.#step = "the end";
    await this.#checkTail();
    await this.#checkCheckpoints();
    for (const writer of this.#writers) {
      if (writer.closedAt !== undefined) continue;
      const handle = this.#owner.writer(writer.id);
      handle.truncate(handle.nextSequenceNumber());
      writer.truncated = writer.texts.length;
    }
    await this.#checkpoint(true);
    await this.#owner.run.log.seal();
    this.#owner.subsume(0);
    assert.ok(await hasSettled(this.#owner.deleter.whenIdle()));
    const left = await this.#owner.files();
    const closed = new Set(this.#owner.run.durableFiles().map(({ key }) => key));
    assert.deepEqual(left.filter((key) => !closed.has(key)), [], "files are left for ever");
    assert.equal(this.#owner.registry.trackedFiles, 0, "files are tracked for ever");
  }
}

test("change files are there as long as they are needed, and not for ever", async () => {
  for (let seed = 1; seed <= SEEDS; seed++) await new RandomLife(seed).live();
});
