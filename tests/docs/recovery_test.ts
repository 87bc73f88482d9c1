/** docs/RECOVERY.md: each section's commands are run on a store that was damaged for it. @module */
import assert from "node:assert/strict";
import { cp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { openStore } from "../../mod.ts";
import { ERROR_KINDS } from "../../src/engine/errors.ts";
import { withFolder } from "../cli/_run.ts";
import { missingAnswer, PORT, runTour, sectionsOf, SIDECAR, skip } from "./_tour.ts";

const TIMEOUT_MS = 600_000;
const JOB = "tidemark-data/jobs/orders";
const PAGE = await readFile(new URL("../../docs/RECOVERY.md", import.meta.url), "utf8");

interface Scene {
  /** Damages the store in a folder. @default nothing is damaged */
  readonly damage?: (folder: string) => Promise<unknown>;
  /** Commands that the section takes for granted. @default none */
  readonly before?: string;
  /** Ends what they began. @default nothing */
  readonly after?: string;
}

/** By the title of the section. */
const SCENES: Readonly<Record<string, Scene>> = {
  "Recovery": {},
  "catalog-lost": { damage: (folder) => rm(join(folder, JOB, "catalog"), { recursive: true }) },
  "changes-lost": { damage: async (folder) => await rm((await changeFiles(folder)).at(-2)!) },
  "corrupt": { damage: flipNewestManifest },
  "A torn end": {
    damage: async (folder) => {
      const newest = (await changeFiles(folder)).at(-1)!;
      await truncate(newest, (await readFile(newest)).length - 20);
    },
  },
  "storage-full": {},
  "too-many-checkpoints": {},
  "job-busy": {
    before:
      `${SIDECAR}\ncurl -s -X POST http://127.0.0.1:${PORT}/v1/jobs/orders/resume > resumed.json`,
    after: "kill %%\nwait",
  },
  "fenced": {},
  "storage-unavailable, storage-denied": {},
};

async function changeFiles(folder: string): Promise<string[]> {
  const files = join(folder, JOB, "changelog/main");
  return (await readdir(files)).sort().map((name) => join(files, name));
}

async function flipNewestManifest(folder: string): Promise<void> {
  const manifests = join(folder, JOB, "checkpoints");
  const newest = join(manifests, (await readdir(manifests)).sort().at(-1)!);
  const bytes = await readFile(newest);
  bytes[200] ^= 1;
  await writeFile(newest, bytes);
}

/** A job with two checkpoints, and a tail that two owners wrote, each batch in a file of its own. */
async function makeStore(folder: string): Promise<void> {
  const settings = { changeFileBytesMax: 1 };
  {
    await using store = await openStore(join(folder, "tidemark-data"), settings);
    const job = await store.job("orders");
    await appendLines(job, 1, 5);
    await job.checkpoint({ identifier: "noon" });
    // Names of manifests are in order of their time.
    await new Promise((resolve) => setTimeout(resolve, 2));
    await appendLines(job, 6, 8);
    await job.checkpoint({ identifier: "evening" });
    await appendLines(job, 9, 10);
  }
  await using store = await openStore(join(folder, "tidemark-data"), settings);
  await appendLines(await store.job("orders"), 11, 12);
}

type Job = Awaited<ReturnType<Awaited<ReturnType<typeof openStore>>["job"]>>;

async function appendLines(job: Job, from: number, to: number): Promise<void> {
  const writer = job.writer("totals");
  for (let line = from; line <= to; line++) {
    writer.append(0, new TextEncoder().encode(String(line)));
  }
  await writer.persist();
}

test("docs/RECOVERY.md says what to do for every error code", () => {
  const missing = Object.keys(ERROR_KINDS).filter((code) =>
    !new RegExp(`\\b${code}\\b`).test(PAGE)
  );
  assert.deepEqual(missing, []);
});

test("every section of docs/RECOVERY.md with commands has a store that is damaged for it", async () => {
  assert.deepEqual(
    (await sectionsOf("docs/RECOVERY.md")).map(({ title }) => title).sort(),
    Object.keys(SCENES).sort(),
  );
});

test(
  "the commands in docs/RECOVERY.md work as they stand there",
  { skip, timeout: TIMEOUT_MS },
  async () => {
    await withFolder(async (folder) => {
      await makeStore(join(folder, "made"));
      const all = await sectionsOf("docs/RECOVERY.md");
      const script: string[] = [];
      for (const [number, { title, commands }] of all.entries()) {
        const place = join(folder, `section-${number}`);
        await cp(join(folder, "made"), place, { recursive: true });
        const { damage, before = "", after = "" } = SCENES[title];
        await damage?.(place);
        // What finds damage says so by its exit code; what must come of it stands in the answers.
        const steps = [
          `cd ${place}`,
          `echo "== ${title}"`,
          before,
          "set +e",
          commands,
          "set -e",
          after,
        ];
        script.push(...steps);
      }
      const output = await runTour(folder, script.join("\n"), "bundle");
      const answers = all.flatMap(({ title, answers }) => [`== ${title}`, ...answers]);
      assert.equal(missingAnswer(output, answers), undefined, output);
    });
  },
);
