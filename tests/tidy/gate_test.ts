import assert from "node:assert/strict";
import { test } from "node:test";
import { tmpdir } from "node:os";
import { filesBelow } from "../../tools/_files.mjs";
import { runCommand } from "../../tools/_process.mjs";
import { gateSteps } from "../../tools/_steps.mjs";
import { ROOT } from "./_files.ts";

const shell = (script: string, timeoutMsMax = 60_000): ReturnType<typeof runCommand> =>
  runCommand(ROOT, tmpdir(), ["sh", "-c", script], timeoutMsMax);

test("runCommand keeps what a command prints and how it ended", async () => {
  const { exitCode, output, ended } = await shell("echo one; echo two >&2; exit 3");
  assert.equal(exitCode, 3);
  assert.match(output, /one/);
  assert.match(output, /two/);
  assert.equal(ended, "exit code 3");
  assert.equal((await shell("true")).ended, "");
});

test("runCommand tells a crash, a missing program and a hang from success", async () => {
  assert.match((await shell("kill -9 $$")).ended, /SIGKILL/);
  assert.match(
    (await runCommand(ROOT, tmpdir(), ["no-such-program"], 60_000)).ended,
    /Cannot start/,
  );
  assert.match((await shell("sleep 600", 50)).ended, /killed after/);
});

test("gateSteps gives every test file to each of the three runners", () => {
  const steps = gateSteps(ROOT, "reports", "");
  const files = filesBelow(ROOT, "tests", (path: string) => path.endsWith("_test.ts"));
  assert.ok(files.includes("tests/tidy/gate_test.ts"));
  for (const id of ["deno", "bun", "node"]) {
    const step = steps.find((one) => one.id === id);
    assert.deepEqual(step?.files, files);
    const given = step?.command.map((argument) => argument.replace(/^\.\//, "")) ?? [];
    for (const file of files) assert.ok(given.includes(file), `${id}: ${file}`);
  }
});

test("no test hides in a file that the runners do not pick", () => {
  const hidden = filesBelow(
    ROOT,
    "tests",
    (path: string) => /(?:\.test|_tests|\.spec)\.\w+$|_test\.(?!ts$)\w+$/.test(path),
  );
  assert.deepEqual(hidden, []);
});
