import { test } from "node:test";
import { play } from "./_model.ts";

const SEEDS = 6;

test("what a pipeline appended is restored, each once and in order, whatever is lost", async () => {
  const first = Math.floor(Math.random() * 1e6);
  for (let seed = first; seed < first + SEEDS; seed++) {
    await play(seed).catch((cause) => {
      throw new Error(`With seed ${seed}: ${cause}`, { cause });
    });
  }
});
