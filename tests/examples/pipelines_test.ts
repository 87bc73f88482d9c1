import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { TidemarkClient } from "../../src/client/mod.ts";
import { execute, ROOT, Running, tidemarkIn } from "../cli/_process.ts";

const PYTHON = join(ROOT, "examples/python/pipeline.py");
const CURL = join(ROOT, "examples/curl/pipeline.sh");

/** Why an example can't run on this machine; undefined where it can. */
function whyNot(...programs: string[]): { skip?: string } {
  const missing = programs.filter((name) => spawnSync(name, ["--version"]).status !== 0);
  return missing.length === 0 ? {} : { skip: `${missing.join(" and ")} missing on this machine` };
}

/** Runs `use` beside a sidecar, with a folder of its own. */
async function withSidecar(use: (url: string, folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tidemark-examples-"));
  try {
    const tidemark = await tidemarkIn(folder);
    const flags = ["--store", join(folder, "store"), "--listen", "127.0.0.1:0"];
    await using sidecar = new Running([...tidemark, "serve", ...flags]);
    const [url] = await sidecar.said("stdout", /http:\/\/[\w.:]+/);
    await use(url, folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Starts a pipeline, kills it after its first checkpoint, and runs it again; answers what that printed. */
async function killOnce(command: readonly string[]): Promise<string> {
  const first = new Running(command);
  await first.said("stderr", /checkpoint at line/);
  first.signal("SIGKILL");
  await first.ended;
  const { code, stdout, stderr } = await execute(command);
  assert.equal(code, 0, stderr);
  const start = /starts at line (\d+)/.exec(stderr);
  assert.ok(Number(start?.[1]) > 0, stderr);
  assert.match(stderr, /checkpoint at line/, "it was killed before its end");
  return stdout;
}

/** What the sidecar has of a writer. */
async function restored(url: string, job: string, writer: string): Promise<string[]> {
  await using client = new TidemarkClient(url);
  const found: string[] = [];
  for await (const { data } of client.reader(job).restore({ writers: [writer] })) {
    found.push(new TextDecoder().decode(data));
  }
  return found;
}

test(
  "the pipeline in Python counts every word once, although it is killed",
  whyNot("python3"),
  () =>
    withSidecar(async (url, folder) => {
      const words = ["sea", "tide", "mark", "wäve", "shore"];
      const lines = Array.from(
        { length: 4_000 },
        (_, n) => `${words[n % 5]} ${words[n % 3]} n${n % 50}`,
      );
      const source = join(folder, "words.txt");
      await writeFile(source, `${lines.join("\n")}\n`);
      const counts = new Map<string, number>();
      for (const word of lines.flatMap((line) => line.split(" "))) {
        counts.set(word, (counts.get(word) ?? 0) + 1);
      }
      const printed = await killOnce(["python3", PYTHON, "--url", url, "--source", source]);
      const found = new Map(
        printed.trimEnd().split("\n").map((line) => {
          const [word, count] = line.split("\t");
          return [word, Number(count)];
        }),
      );
      assert.deepEqual(sorted(found), sorted(counts));
      const stored = new Map((await restored(url, "word-count", "counts")).map((change) => {
        const [word, count] = change.split("\t");
        return [word, Number(count)];
      }));
      assert.deepEqual(sorted(stored), sorted(counts));
    }),
);

test(
  "the pipeline in curl keeps every line once, although it is killed",
  whyNot("curl", "jq"),
  () =>
    withSidecar(async (url, folder) => {
      const lines = Array.from({ length: 45 }, (_, n) => `line ${n} "quoted" \\ wäve\t${n}`);
      const source = join(folder, "lines.txt");
      await writeFile(source, `${lines.join("\n")}\n`);
      const settings = [`TIDEMARK_URL=${url}`, "LINES_PER_CHECKPOINT=10"];
      const printed = await killOnce(["env", ...settings, "sh", CURL, source]);
      assert.deepEqual(printed.trimEnd().split("\n"), lines);
      assert.deepEqual(await restored(url, "lines", "lines"), lines);
    }),
);

function sorted(counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts].sort(([a], [b]) => a < b ? -1 : 1);
}
