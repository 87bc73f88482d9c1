import assert from "node:assert/strict";
import { test } from "node:test";
import { withFolder } from "../cli/_run.ts";
import { missingAnswer, PORT, runTour, sectionsOf, SIDECAR, skip } from "./_tour.ts";

const TIMEOUT_MS = 600_000;
const PAGE = "docs/BACKUP.md";

/** A sidecar whose job has a checkpoint, and a change after it. */
const BEFORE = `
${SIDECAR}
orders=http://127.0.0.1:${PORT}/v1/jobs/orders
changes=$orders/writers/totals/changes
curl -sf -X PUT $orders > made.json
printf '%s\\n' '{"data":"one"}' '{"data":"two"}' > changes.ndjson
curl -sf $changes --data-binary @changes.ndjson -H 'content-type: application/x-ndjson' > made.json
curl -sf -X POST $orders/checkpoints > made.json
printf '%s\\n' '{"data":"three"}' |
  curl -sf $changes --data-binary @- -H 'content-type: application/x-ndjson' > made.json
`;

test(
  "the commands in docs/BACKUP.md work as they stand there, one section after the other",
  { skip, timeout: TIMEOUT_MS },
  async () => {
    const sections = await sectionsOf(PAGE);
    assert.equal(sections.length, 6);
    await withFolder(async (folder) => {
      const steps = sections.map(({ title, commands }) => `echo "== ${title}"\n${commands}`);
      const output = await runTour(folder, [BEFORE, ...steps].join("\n"), "bundle");
      const answers = sections.flatMap(({ title, answers }) => [`== ${title}`, ...answers]);
      assert.equal(missingAnswer(output, answers), undefined, output);
    });
  },
);
