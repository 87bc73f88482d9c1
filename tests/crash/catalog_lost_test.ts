/**
 * Absent is not unreadable: a job with change files but without a readable catalog refuses to open, and nothing
 * of it changes.
 * @module
 */
import assert from "node:assert/strict";
import { cp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { openStore } from "../../mod.ts";
import { JobClient, problemCode } from "./_client.ts";
import { listFolder, withTemporaryFolder } from "./_folder.ts";
import { CLI, prepare, run, Sidecar, THIS_RUNTIME, TIMEOUT_MS } from "./_process.ts";

const JOB = "precious";

type Damage = (newest: string, all: readonly string[]) => Promise<void>;

const DAMAGES: Readonly<Record<string, Damage>> = {
  "without any generation": async (_, all) => {
    for (const path of all) await rm(path);
  },
  "with an empty newest generation": async (newest) => await truncate(newest, 0),
  "with a newest generation cut in its head": async (newest) => await truncate(newest, 20),
  "with a newest generation cut by one byte": async (newest) => {
    await truncate(newest, (await readFile(newest)).length - 1);
  },
  "with a flipped bit in the head of its newest generation": (newest) => flipBit(newest, 5),
  "with a flipped bit in the body of its newest generation": async (newest) => {
    await flipBit(newest, (await readFile(newest)).length - 10);
  },
  "with an older generation in place of its newest": async (newest, all) => {
    await cp(all[0], newest);
  },
};

async function flipBit(path: string, at: number): Promise<void> {
  const bytes = await readFile(path);
  bytes[at] ^= 1;
  await writeFile(path, bytes);
}

/** Makes a job with two checkpoints and a tail, and damages its catalog. Answers the folder of the job. */
async function makeDamaged(store: string, damage: Damage): Promise<string> {
  {
    await using open = await openStore(store);
    const job = await open.job(JOB);
    const writer = job.writer("w0");
    for (let round = 0; round < 3; round++) {
      writer.append(0, new TextEncoder().encode(`change ${round}`));
      await writer.persist();
      if (round < 2) await job.checkpoint();
    }
  }
  const folder = join(store, "jobs", JOB);
  const catalog = join(folder, "catalog");
  const all = (await readdir(catalog)).sort().map((name) => join(catalog, name));
  await damage(all.at(-1)!, all);
  return folder;
}

describe("a job with change files", () => {
  for (const [name, damage] of Object.entries(DAMAGES)) {
    test(`${name} refuses to open and changes in nothing`, async () => {
      await withTemporaryFolder(async (temporary) => {
        const store = join(temporary, "store");
        const folder = await makeDamaged(store, damage);
        const before = await listFolder(folder);
        {
          await using open = await openStore(store);
          await assert.rejects(open.job(JOB), { code: "catalog-lost" });
          await assert.rejects(open.job(JOB, { takeOver: true }), { code: "catalog-lost" });
        }
        assert.deepEqual(await listFolder(folder), before);
      });
    });
  }
});

const TOLD = "a lost catalog is told by sidecar and command line, and changes in nothing";
test(TOLD, { timeout: TIMEOUT_MS }, async () => {
  await withTemporaryFolder(async (temporary) => {
    const store = join(temporary, "store");
    const folder = await makeDamaged(store, DAMAGES["without any generation"]);
    const before = await listFolder(folder);
    const cli = await prepare(THIS_RUNTIME, CLI, temporary);
    {
      await using sidecar = Sidecar.serve(cli, store);
      const client = new JobClient(await sidecar.url, JOB);
      const asking: readonly [method: string, path: string][] = [
        ["GET", ""],
        ["PUT", ""],
        ["POST", "/resume"],
        ["POST", "/checkpoints"],
      ];
      for (const [method, path] of asking) {
        const body = method === "GET" ? undefined : "{}";
        const answer = await client.send(method, path, { body });
        assert.equal(answer && problemCode(answer), "catalog-lost", `${method} ${path}`);
      }
    }
    for (const verb of ["checkpoint", "resume", "verify"]) {
      const { code, stderr } = await run([
        ...cli,
        verb,
        "--store",
        store,
        "--job",
        JOB,
      ]);
      assert.notEqual(code, 0, verb);
      assert.match(stderr, /catalog/, verb);
    }
    assert.deepEqual(await listFolder(folder), before);
  });
});
