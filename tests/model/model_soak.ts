/**
 * Explores the models in larger settings to the end, then walks through them at random.
 *
 *   npm run soak -- model -- 600 7     walks for 600 seconds (default 60) from seed 7 (default: the time)
 * @module
 */
import process from "node:process";
import { catalogModel } from "./catalog/model.ts";
import { CATALOG_RULES, type CatalogRules } from "./catalog/rules.ts";
import { CATALOG_SETTINGS_LARGE } from "./catalog/settings.ts";
import { describeBounds } from "./assertions.ts";
import { explore, type Model, randomFrom, walk } from "./explorer.ts";
import { logModel } from "./log/model.ts";
import { LOG_RULES, type LogRules } from "./log/rules.ts";
import { LOG_SETTINGS_LARGE } from "./log/settings.ts";
import { publishModel } from "./publish/model.ts";
import { PUBLISH_RULES, type PublishRules } from "./publish/rules.ts";
import { PUBLISH_SETTINGS_LARGE } from "./publish/settings.ts";
import { rulesAsTheyStand } from "./rules.ts";

const STATES_MAX = 2_000_000;
const STEPS_MAX = 120;

const catalogRules = rulesAsTheyStand<CatalogRules>(CATALOG_RULES);
const logRules = rulesAsTheyStand<LogRules>(LOG_RULES);
const publishRules = rulesAsTheyStand<PublishRules>(PUBLISH_RULES);

function exploreToTheEnd<State>(name: string, model: Model<State>, statesMin: number): void {
  const { violation, trace, states, exhaustive } = explore(model, { statesMax: STATES_MAX });
  if (violation !== null) {
    const { invariant, detail } = violation;
    throw new Error(`${name}: ${invariant}: ${detail}\n${trace.join("\n")}`);
  }
  if (!exhaustive || states < statesMin) throw new Error(`${name}: only ${states} states`);
  console.log(`${name}: ${states} states, explored to the end`);
}

/** Rare, so that a walk is long: what ends or hinders it. */
function weigh(label: string): number {
  if (label.startsWith("POWER CUT")) return 0.02;
  if (
    /is claimed|creates owner key|opens generation|killed|removed by hand|is lost|any more/.test(
      label,
    )
  ) {
    return 0.12;
  }
  return /resume|collects|rolls over|sweep|seals|lists/.test(label) ? 0.3 : 1;
}

function walkOnce(seed: number): void {
  const random = randomFrom(seed);
  const rest = { stepsMax: STEPS_MAX, weigh };
  /** A reader without lease is promised nothing of what is deleted. */
  const deletions = random() < 0.5 ? { reads: 2 } : { collections: 2, sweeps: 2 };
  const catalog = catalogModel(catalogRules, {
    ...deletions,
    appends: 7,
    pairs: 2,
    opens: 3,
    checkpoints: 3,
    resumes: 2,
    hedges: 2,
    giveUps: 2,
    lostAnswers: 2,
  });
  const log = logModel(logRules, random() < 0.5 ? 1 : 2, {
    ...deletions,
    appends: 9,
    opens: 4,
    slowScans: 2,
    kills: 3,
    cuts: 2,
    failures: 4,
    seals: 2,
    checkpoints: 4,
    materialised: 2,
    resumes: 2,
    tailResumes: 1,
  });
  const publish = publishModel(publishRules, { publishes: 6, opens: 3, cuts: 1, failures: 3 });
  for (
    const walked of [
      walk(catalog, random, rest),
      walk(log, random, rest),
      walk(publish, random, rest),
    ]
  ) {
    if (walked.violation === null) continue;
    const { invariant, detail } = walked.violation;
    throw new Error(`Walk of seed ${seed}: ${invariant}: ${detail}\n${walked.trace.join("\n")}`);
  }
}

function main(): void {
  const seconds = Number(process.argv[2] ?? 60);
  const firstSeed = Number(process.argv[3] ?? Date.now() % 1_000_000_000);
  if (!(seconds >= 0) || !Number.isSafeInteger(firstSeed)) {
    throw new RangeError("Cannot soak the models: wants seconds and a whole number for the seed");
  }
  console.log(`models: seed ${firstSeed}, ${seconds} s of walks`);
  for (const { bounds, statesMin } of CATALOG_SETTINGS_LARGE) {
    const name = `catalog, ${describeBounds(bounds)}`;
    exploreToTheEnd(name, catalogModel(catalogRules, bounds), statesMin);
  }
  for (const { writers = 1, bounds, statesMin } of LOG_SETTINGS_LARGE) {
    const name = `log, writers ${writers}, ${describeBounds(bounds)}`;
    exploreToTheEnd(name, logModel(logRules, writers, bounds), statesMin);
  }
  for (const { bounds, statesMin } of PUBLISH_SETTINGS_LARGE) {
    const name = `publish, ${describeBounds(bounds)}`;
    exploreToTheEnd(name, publishModel(publishRules, bounds), statesMin);
  }
  const end = performance.now() + seconds * 1000;
  let walks = 0;
  while (performance.now() < end) walkOnce(firstSeed + walks++);
  console.log(`${walks} walks through each model, no violation`);
}

main();
