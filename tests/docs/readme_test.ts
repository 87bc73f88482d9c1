import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { RUNTIME } from "../cli/_process.ts";
import { withFolder } from "../cli/_run.ts";
import { type From, missingAnswer, runTour, SIDECAR, skip, type Tour, tourOf } from "./_tour.ts";

/** Against a hang. */
const TIMEOUT_MS = 600_000;

interface FollowOptions {
  readonly from: From;
  /** Commands that the page takes for granted. */
  readonly before?: string;
  readonly after?: string;
}

async function follow(tour: Tour, { from, before = "", after = "" }: FollowOptions): Promise<void> {
  const { commands, answers } = tour;
  assert.notEqual(answers.length, 0, "the page says nothing of what the commands answer");
  await withFolder(async (folder) => {
    const output = await runTour(folder, [before, commands, after].join("\n"), from);
    assert.equal(missingAnswer(output, answers), undefined, output);
  });
}

const README_TOUR = await tourOf("README.md", "## A tour with curl");

test("the tour in README.md works as it stands there, kill -9 included", {
  skip,
  timeout: TIMEOUT_MS,
}, async () => {
  assert.match(README_TOUR.commands, /kill -9 %1/);
  await follow(README_TOUR, { from: "sources" });
});

test("the tour in README.md works with the single binary", {
  skip: skip || RUNTIME !== "bun" && "the binary is the same whoever runs this: once, under Bun",
  timeout: TIMEOUT_MS,
}, async () => {
  await follow(README_TOUR, { from: "binary" });
});

test(
  "a pipeline's life in docs/HTTP.md works as it stands there",
  { skip, timeout: TIMEOUT_MS },
  async () => {
    const tour = await tourOf("docs/HTTP.md");
    await follow(tour, { from: "bundle", before: SIDECAR, after: "kill %%" });
  },
);

test(
  "the commands in docs/CLI.md work as they stand there",
  { skip, timeout: TIMEOUT_MS },
  async () => {
    await follow(await tourOf("docs/CLI.md"), { from: "bundle" });
  },
);

describe("missingAnswer", () => {
  test("takes answers that are there in order, with anything for …", () => {
    assert.equal(missingAnswer('{"a":1,"b":2}\nnext', ['{"a":…}', "next"]), undefined);
  });

  test("names the first that is missing, or in another place", () => {
    assert.equal(missingAnswer("one\ntwo\n", ["two", "one"]), "one");
    assert.equal(missingAnswer('{"a":\n1}', ['{"a":…1}']), '{"a":…1}');
  });
});
