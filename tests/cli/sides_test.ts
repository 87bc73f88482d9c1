/**
 * Every command on each side: on a store's folder (`--store`) and at a sidecar (`--url`), made from
 * the table of commands. Both must answer the same.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { COMMANDS } from "../../src/cli/cli.ts";
import type { Command, OpenStore, Side } from "../../src/cli/command.ts";
import { createApp } from "../../src/http/mod.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { SystemClock } from "../../src/runtime/system_clock.ts";
import { ForgettingDisk } from "../doubles/forgetting_file_system.ts";
import { posixOn } from "../doubles/posix_on_double.ts";
import { type Ran, run, TestIo, withFolder } from "./_run.ts";
import { SIDE_CASES, type SideCase } from "./_side_cases.ts";

const URL = "http://127.0.0.1:7460";
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const SIDES: readonly Side[] = ["store", "url"];

/** Time in which no two uuids are of the same millisecond: they are in the order of their making. */
class RisingClock extends SystemClock {
  #lastMs = 0;

  override nowMs(): number {
    return this.#lastMs = Math.max(this.#lastMs + 1, super.nowMs());
  }
}

/** Makes the job that every case begins from: checkpoints with a state, a pin, two epochs. */
async function prepare(open: OpenStore): Promise<string[]> {
  await using store = await open("/disk/store", {});
  const job = await store.job("j");
  const writer = job.writer("w");
  const uuids: string[] = [];
  for (const line of ["one", "two", "three"]) {
    const data = new TextEncoder().encode(line);
    writer.append(0, data);
    uuids.push((await job.checkpoint({ metadata: { line }, states: { index: data } })).uuid);
  }
  await job.pin(uuids[1], "a reason");
  await job.setRetention({ minCount: 5 });
  return uuids;
}

/** Runs the case of a command on one side, on a store of its own. */
async function runOn(
  side: Side,
  name: string,
  { args, options = () => ({}), code = 0, yes = [] }: SideCase,
): Promise<Ran> {
  const disk = new ForgettingDisk();
  const clock = new RisingClock();
  const open: OpenStore = (root, given) =>
    openStore(posixOn(disk, { root }), { ...given, codecThreads: 0, clock });
  const uuids = await prepare(open);
  await using sidecar = await open("/disk/store", {});
  // The sidecar owns the job; in place of it, so has an owner before the command.
  const job = await sidecar.job("j");
  if (side === "store") await job.close();
  const app = createApp(sidecar);
  const place = side === "store" ? "/disk/store" : URL;
  const confirmed = yes.includes(side) ? ["--yes"] : [];
  const runs: Ran[] = [];
  await withFolder(async (folder) => {
    const given = options(() => io);
    const fetch = (request: Request): Promise<Response> => app.fetch(request);
    const io: TestIo = new TestIo({ ...given, openStore: open, io: { ...given.io, fetch } });
    runs.push(
      await io.run([name, `--${side}`, place, "--json", ...confirmed, ...args({ uuids, folder })]),
    );
  });
  assert.equal(runs[0].code, code, `--${side}: ${runs[0].stderr}`);
  return runs[0];
}

/** An answer without what is new each time: uuids by their order, no times, no places. */
function comparable(
  { stdout, stderr }: Ran,
  { differs = {}, isText = false, alike }: SideCase,
): unknown {
  if (isText) return { stdout, stderr };
  const seen: string[] = [];
  const text = stdout.replace(UUID, (uuid) => {
    if (!seen.includes(uuid)) seen.push(uuid);
    return `uuid-${seen.indexOf(uuid)}`;
  });
  const value = JSON.parse(text, (key, found) => {
    if (key.endsWith("AtMs")) return "a time";
    return key === "output" ? "a file" : found;
  });
  return alike === undefined ? { ...value, ...differs } : alike(value);
}

for (const command of COMMANDS) {
  const { name, sides, options } = command;

  describe(`${name} on each side`, () => {
    for (const side of SIDES) {
      const has = sides[side];
      test(`${has === true ? "takes" : "refuses"} --${side}, and the help says so`, async () => {
        assert.equal(Object.hasOwn(options, side), has === true);
        const { stdout } = await run([name, "--help"]);
        if (has === true) return assert.match(stdout, new RegExp(`  --${side} `));
        assert.equal(stdout.includes(`No --${side}: ${has}.\n`), true, stdout);
        const { code, stderr } = await run([name, `--${side}`, "x"]);
        assert.equal(code, 2);
        assert.equal(stderr.includes(`Cannot ${name} with --${side}: ${has}\n`), true, stderr);
      });
    }

    if (SIDES.every((side) => sides[side] !== true)) return;
    test("answers the same", () => answersTheSame(command));
  });
}

async function answersTheSame({ name, sides }: Command): Promise<void> {
  const found = SIDE_CASES[name];
  assert.notEqual(found, undefined, `${name} has no case in _side_cases.ts`);
  const answers: unknown[] = [];
  for (const side of SIDES.filter((each) => sides[each] === true)) {
    answers.push(comparable(await runOn(side, name, found), found));
  }
  if (answers.length === 2) assert.deepEqual(answers[0], answers[1]);
}
