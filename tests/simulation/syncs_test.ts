import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type DiskCall, ForgettingDisk, SYNC_CALLS } from "../doubles/forgetting_file_system.ts";
import { Oracle } from "./_oracle.ts";
import { checkAfterCrash, isCrash, live } from "./_scenario.ts";

/** Syncs of one kind of name, by what they protect. */
interface Site {
  readonly name: string;
  matches(call: DiskCall): boolean;
}

function dataOf(what: string, folder: string): Site {
  return {
    name: `the data of ${what}`,
    matches: ({ kind, path }) => kind === "datasync" && path.startsWith(`/disk/store/${folder}`),
  };
}

function namesIn(folder: string): Site {
  return {
    name: `the names in ${folder}`,
    matches: ({ kind, path }) => kind === "syncDirectory" && path === folder,
  };
}

const JOB = "jobs/orders";

const SITES: readonly Site[] = [
  dataOf("the marker", ".tmp-none-"),
  dataOf("change files", `${JOB}/changelog/`),
  dataOf("generations", `${JOB}/catalog/`),
  dataOf("manifests", `${JOB}/checkpoints/`),
  dataOf("adopted", `${JOB}/adopted/`),
  dataOf("state objects", `${JOB}/states/`),
  namesIn("/disk"),
  namesIn("/disk/store"),
  namesIn("/disk/store/jobs"),
  namesIn(`/disk/store/${JOB}`),
  namesIn(`/disk/store/${JOB}/changelog`),
  namesIn(`/disk/store/${JOB}/changelog/main`),
  namesIn(`/disk/store/${JOB}/catalog`),
  namesIn(`/disk/store/${JOB}/checkpoints`),
  namesIn(`/disk/store/${JOB}/adopted`),
  namesIn(`/disk/store/${JOB}/states`),
];

/**
 * Syncs that no power cut of one machine can show to be needed: an owner key protects against a living owner on
 * another machine, and the generation that its owner publishes next counts its epoch by itself. `/` lies above what
 * was there before the store.
 */
const NOT_SHOWN: readonly Site[] = [
  dataOf("owner keys", `${JOB}/owners/`),
  namesIn(`/disk/store/${JOB}/owners`),
  namesIn("/"),
];

/** Whether a life on a disk that says yes to some syncs without doing them survives a power cut after a call of it. */
async function survivesWithout(site: Site, crashAfter: number | undefined): Promise<boolean> {
  const disk = new ForgettingDisk();
  const oracle = new Oracle();
  disk.skip((call) => site.matches(call));
  if (crashAfter !== undefined) disk.crashAt(crashAfter, "after");
  await live(disk, oracle).catch((error) => assert.ok(isCrash(error), error));
  disk.crash("power-cut");
  return await checkAfterCrash(disk, oracle, `without syncing ${site.name}`)
    .then(() => true, () => false);
}

describe("an engine without a sync", () => {
  test("has no other syncs than those that are taken out", async () => {
    const disk = new ForgettingDisk();
    await live(disk, new Oracle());
    const syncs = disk.log.filter(({ kind }) => SYNC_CALLS.has(kind));
    for (const call of syncs) {
      const sites = [...SITES, ...NOT_SHOWN].filter((site) => site.matches(call));
      assert.equal(
        sites.length,
        1,
        `${call.kind} of ${call.path} is taken out ${sites.length} times`,
      );
    }
    for (const site of [...SITES, ...NOT_SHOWN]) {
      assert.ok(syncs.some((call) => site.matches(call)), `nothing syncs ${site.name}`);
    }
  });

  for (const site of SITES) {
    test(`loses something when it does not sync ${site.name}`, async () => {
      const disk = new ForgettingDisk();
      await live(disk, new Oracle());
      const syncs = disk.log.filter((call) => site.matches(call)).map(({ number }) => number);
      // The cut comes at the end of a life, or some calls after one of the syncs.
      const cuts = [undefined, ...syncs.flatMap((at) => [at + 1, at + 10, at + 40])];
      for (const cut of cuts) if (!await survivesWithout(site, cut)) return;
      assert.fail(`nothing was lost over ${cuts.length} power cuts`);
    });
  }
});
