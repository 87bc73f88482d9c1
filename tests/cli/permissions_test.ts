import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { execute, ROOT, Running, RUNTIME } from "./_process.ts";
import { run, withFolder } from "./_run.ts";

const TO_W = ["--job", "j", "--writer", "w"];
/** Encoded on a thread of its own, which needs no permission. */
const LARGE = `${"two ".repeat(200_000)}\n`;
const skip = RUNTIME !== "deno" && "permissions are Deno's";

/** The line of `deno task serve`, for any free port. */
async function taskLine(): Promise<string[]> {
  const { tasks } = JSON.parse(await readFile(join(ROOT, "deno.json"), "utf8"));
  const [env, deno, ...words]: string[] = tasks.serve.split(" ");
  assert.deepEqual([env, deno], ["env", "deno"]);
  const line = words.map((word) =>
    word.replace("127.0.0.1:7460", "127.0.0.1:0").replace(/^src\//, `${ROOT}/src/`)
  );
  return [process.execPath, ...line, "--listen", "127.0.0.1:0"];
}

async function append(url: string, line: string): Promise<void> {
  const { code, stderr } = await run(["append", "--url", url, ...TO_W], { stdin: line });
  assert.equal(code, 0, stderr);
}

test("deno task serve gives no more than store, address, own names, host name and free space", async () => {
  const { tasks } = JSON.parse(await readFile(join(ROOT, "deno.json"), "utf8"));
  assert.deepEqual(tasks.serve.match(/-\S+/g).filter((word: string) => word.startsWith("-")), [
    "--v8-flags=--no-allocation-site-pretenuring",
    "--no-prompt",
    "--allow-read=tidemark-data",
    "--allow-write=tidemark-data",
    "--allow-net=127.0.0.1:7460",
    "--allow-env=TIDEMARK_*",
    "--allow-sys=hostname,statfs",
  ]);
});

test(
  "deno task serve makes its store, locks jobs, and recovers them, with its permissions",
  { skip },
  () =>
    withFolder(async (folder) => {
      const store = join(folder, "tidemark-data");
      const serve = await taskLine();
      const begin = async (): Promise<[Running, string]> => {
        const sidecar = new Running(serve, folder);
        const [url] = await sidecar.said("stdout", /http:\/\/127\.0\.0\.1:\d+/);
        return [sidecar, url];
      };
      {
        const [sidecar, url] = await begin();
        await using killed = sidecar;
        await killed.said("stderr", /New store/);
        await fetch(`${url}/v1/jobs/j`, { method: "PUT" });
        await append(url, "one\n");
        assert.equal((await fetch(`${url}/readyz`)).status, 200);
        assert.equal((await fetch(`${url}/metrics`)).status, 200);
        // This process has every permission, and sees the boot id that the sidecar does not.
        const refused = await run(["append", "--store", store, ...TO_W], { stdin: "two\n" });
        assert.equal(refused.code, 4, refused.stderr);
        assert.match(refused.stderr, /code: job-busy/);
      }
      const [sidecar, url] = await begin();
      await using recovered = sidecar;
      await append(url, LARGE);
      recovered.signal("SIGTERM");
      const { code, stderr } = await recovered.ended;
      assert.equal(code, 0, stderr);
      assert.equal(/NotCapable|WARN|ERROR/.test(stderr), false, stderr);
      const tail = await run(["restore", "--store", store, ...TO_W, "--at", "tail"]);
      assert.equal(tail.stdout, `one\n${LARGE}`);
    }),
);

test(
  "a store that Deno may not reach is refused with the permission that lacks",
  { skip },
  () =>
    withFolder(async (folder) => {
      const serve = [...await taskLine(), "--store", join(folder, "elsewhere")];
      const { code, stderr } = await execute(serve, { cwd: folder });
      assert.equal(code, 6, stderr);
      assert.match(stderr, /permission: Requires \w+ access to ".*elsewhere", run again with/);
      for (const flag of ["--token-file", "--config"]) {
        const unread = await execute([...await taskLine(), flag, join(folder, "x")], {
          cwd: folder,
        });
        assert.match(unread.stderr, /Cannot read .*Requires read access to ".*x", run again with/);
      }
    }),
);
