/** The seed's own test, on every backend, with checkpoints that hold something and share it. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { DEFAULT_RETENTION } from "../../../src/engine/checkpoint/retention.ts";
import type { StorageBackend } from "../../../src/engine/storage/backend.ts";
import type { CollectionReport, Job } from "../../../src/engine/types.ts";
import { keysBelow, openJobOn } from "../_engine.ts";
import { PLACES } from "../_places.ts";
import { AT_ONCE, checkContents, commit, uuidsOf } from "./_checkpoints.ts";

const MIN = DEFAULT_RETENTION.minCount;

/** A job in one of the states of the test: what may come next is a matter of types. */
abstract class State {
  readonly #job: Job;
  readonly #contents: Map<string, readonly string[]>;
  readonly #texts: string[];

  constructor(from: Job | State) {
    this.#job = from instanceof State ? from.#job : from;
    this.#contents = from instanceof State ? from.#contents : new Map();
    this.#texts = from instanceof State ? from.#texts : [];
  }

  /** What is there beyond the newest {@link MIN}, oldest first. */
  async extras(): Promise<string[]> {
    return (await uuidsOf(this.#job)).slice(0, -MIN);
  }

  async count(): Promise<number> {
    return (await uuidsOf(this.#job)).length;
  }

  protected async commit(): Promise<void> {
    this.#texts.push(`change ${this.#texts.length}`);
    this.#contents.set(await commit(this.#job, this.#texts.at(-1)!), [...this.#texts]);
  }

  protected async collect(except: readonly string[]): Promise<CollectionReport> {
    const report = await this.#job.collect({ ...AT_ONCE, except });
    await checkContents(this.#job, this.#contents);
    assert.deepEqual((await this.#job.verify()).problems, []);
    return report;
  }
}

class Empty extends State {
  static async begin(backend: StorageBackend): Promise<Empty> {
    return new Empty((await openJobOn(backend)).job);
  }

  async checkpoint(): Promise<MinCheckpoints> {
    assert.equal(await this.count(), 0);
    for (let i = 0; i < MIN; i++) await this.commit();
    return new MinCheckpoints(this);
  }
}

class MinCheckpoints extends State {
  async check(): Promise<void> {
    assert.equal(await this.count(), MIN);
    assert.deepEqual(await this.extras(), []);
  }

  async checkpoint(): Promise<ExtraCheckpoints> {
    await this.check();
    assert.deepEqual((await this.collect([])).removed, [], "the minimum stays");
    await this.commit();
    return new ExtraCheckpoints(this);
  }
}

class ExtraCheckpoints extends State {
  async check(): Promise<void> {
    assert.notDeepEqual(await this.extras(), []);
  }

  async checkpoint(): Promise<ExtraCheckpoints> {
    await this.check();
    await this.commit();
    return new ExtraCheckpoints(this);
  }

  async gc(): Promise<MinCheckpoints> {
    await this.check();
    const extras = await this.extras();
    assert.deepEqual((await this.collect([])).removed, extras);
    return new MinCheckpoints(this);
  }

  async gcWithExcept(except: string): Promise<ExtraCheckpoints> {
    await this.check();
    const going = (await this.extras()).filter((uuid) => uuid !== except);
    assert.deepEqual((await this.collect([except])).removed, going);
    assert.deepEqual(await this.extras(), [except], "the only extra checkpoint that remains");
    return new ExtraCheckpoints(this);
  }
}

for (const [name, newPlace] of Object.entries(PLACES)) {
  describe(`the seed's test in ${name}`, () => {
    test("goes from none to the minimum, to extra ones and back, with the newest and the oldest excepted", async () => {
      const newBackend = newPlace();
      let min = await (await Empty.begin(newBackend())).checkpoint();
      min = await (await min.checkpoint()).gc();

      let extra = await (await min.checkpoint()).checkpoint();
      const newest = (await extra.extras()).at(-1)!;
      extra = await extra.gcWithExcept(newest);

      extra = await extra.checkpoint();
      const [oldest] = await extra.extras();
      assert.equal(oldest, newest);
      extra = await extra.gcWithExcept(oldest);

      min = await extra.gc();
      await min.check();
      const manifests = await keysBelow(newBackend(), "jobs/orders/checkpoints/");
      assert.equal(manifests.length, MIN);
    });
  });
}
