import assert from "node:assert/strict";
import { cp, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { FORMAT_VERSION } from "../../src/engine/limits.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { xxh64 } from "../../wasm/mod.ts";
import { run, withFolder } from "../cli/_run.ts";
import { JOB } from "../engine/_engine.ts";
import { GOLDEN_STORE } from "../engine/_golden_store.ts";
import { missingAnswer, PORT, runTour, sectionsOf, SIDECAR, skip } from "./_tour.ts";

const TIMEOUT_MS = 600_000;
const OTHER_JOB = "parcels";
const encoder = new TextEncoder();

/** Makes a small fact one of the next format version: an unknown body, but an envelope that is whole. */
async function makeNewer(path: string): Promise<void> {
  const [envelope] = (await readFile(path, "utf8")).split("\n");
  const kind = JSON.parse(envelope).kind;
  const body = `{"all":"else"}\n`;
  const front = `{"kind":"${kind}","version":${
    FORMAT_VERSION + 1
  },"length":${body.length},"xxh64":"`;
  const hash = xxh64(encoder.encode(front), encoder.encode(body)).toString(16).padStart(16, "0");
  await writeFile(path, `${front}${hash}"}\n${body}`);
}

/** Every file below a folder, with a checksum of its bytes. */
async function imageOf(folder: string): Promise<Record<string, bigint>> {
  const image: Record<string, bigint> = {};
  for (const name of (await readdir(folder, { recursive: true })).sort()) {
    const path = join(folder, name);
    if ((await stat(path)).isFile()) image[name] = xxh64(await readFile(path));
  }
  return image;
}

/** The golden store, which is of this format version, with a job more. */
async function withTwoJobs(use: (store: string) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const store = join(folder, "store");
    await cp(fileURLToPath(GOLDEN_STORE), store, { recursive: true });
    await using opened = await openStore(store);
    await opened.job(OTHER_JOB);
    await opened.close();
    await use(store);
  });
}

/** Commands of each kind: they read, write, repair, serve. */
function commandsOn(store: string): string[][] {
  const on = ["--store", store, "--job", JOB];
  return [
    ["ls", ...on],
    ["verify", ...on],
    ["restore", ...on, "--writer", "left"],
    ["append", ...on, "--writer", "left"],
    ["checkpoint", ...on],
    ["resume", ...on],
    ["salvage", ...on, "--yes"],
    ["gc", ...on, "--yes", "--now"],
  ];
}

async function checkRefused(args: string[]): Promise<void> {
  const { code, stdout, stderr } = await run(args, { stdin: "more\n" });
  assert.equal(code, 2, `${args.join(" ")}: ${stdout}${stderr}`);
  const wanted = new RegExp(`format version is ${FORMAT_VERSION + 1}.*use a newer program`);
  assert.match(stderr, wanted, args[0]);
}

test("a store of a newer format is refused, and not a byte of it is touched", async () => {
  await withTwoJobs(async (store) => {
    await makeNewer(join(store, "TIDEMARK"));
    const before = await imageOf(store);
    const serve = ["serve", "--store", store, "--listen", "127.0.0.1:0"];
    for (const args of [...commandsOn(store), serve]) await checkRefused(args);
    assert.deepEqual(await imageOf(store), before);
  });
});

test("a job of a newer format is refused, not a byte of it is touched, and others work", async () => {
  await withTwoJobs(async (store) => {
    const catalog = join(store, "jobs", JOB, "catalog");
    await makeNewer(join(catalog, (await readdir(catalog)).sort().at(-1)!));
    const before = await imageOf(store);
    for (const args of commandsOn(store)) await checkRefused(args);
    assert.deepEqual(await imageOf(store), before);
    const other = ["--store", store, "--job", OTHER_JOB, "--writer", "w"];
    assert.equal((await run(["append", ...other], { stdin: "more\n" })).code, 0);
    assert.equal((await run(["restore", ...other, "--at", "tail"])).stdout, "more\n");
  });
});

test("reading a store changes nothing of it", async () => {
  await withTwoJobs(async (store) => {
    const before = await imageOf(store);
    const on = ["--store", store, "--job", JOB];
    for (
      const args of [["ls"], ["show"], ["verify", "--full"], ["restore", "--writer", "left"], [
        "du",
      ]]
    ) {
      const [name, ...rest] = args;
      const { code, stderr } = await run([name, ...on, ...rest]);
      assert.equal(code, 0, `${name}: ${stderr}`);
    }
    assert.deepEqual(await imageOf(store), before);
  });
});

/** A sidecar whose job has been resumed, and has one change. */
const BEFORE = `
${SIDECAR}
orders=http://127.0.0.1:${PORT}/v1/jobs/orders
curl -sf -X PUT $orders > made.json
curl -sf -X POST $orders/resume > made.json
curl -sf $orders/writers/totals/changes -d '{"data":"one"}' -H 'content-type: application/x-ndjson' \
  -H 'tidemark-offset: 0' -H 'tidemark-run: 2' > made.json
`;

test(
  "the commands in docs/UPGRADES.md work as they stand there",
  { skip, timeout: TIMEOUT_MS },
  async () => {
    const sections = await sectionsOf("docs/UPGRADES.md");
    assert.deepEqual(sections.map(({ title }) => title), ["A sidecar, in place", "Roll back"]);
    await withFolder(async (folder) => {
      const commands = sections.map(({ commands }) => commands).join("\n");
      const script = [BEFORE, commands, "kill %%"].join("\n");
      const output = await runTour(folder, script, "bundle");
      const answers = sections.flatMap(({ answers }) => answers);
      assert.equal(missingAnswer(output, answers), undefined, output);
    });
  },
);
