/** A publish on a file system, sync by sync, explored to the end. */
import { describe, test } from "node:test";
import { assertFinds, assertHolds, describeBounds } from "./assertions.ts";
import { publishModel } from "./publish/model.ts";
import { PUBLISH_RULES, type PublishRules } from "./publish/rules.ts";
import { PUBLISH_FAULTS, PUBLISH_SETTINGS } from "./publish/settings.ts";
import { rulesAsTheyStand, rulesWithout } from "./rules.ts";

describe("publishModel with the rules as they stand", () => {
  const rules = rulesAsTheyStand<PublishRules>(PUBLISH_RULES);
  for (const { bounds, statesMin } of PUBLISH_SETTINGS) {
    test(`holds in: ${describeBounds(bounds)}`, () => {
      assertHolds(publishModel(rules, bounds), statesMin);
    });
  }
});

describe("publishModel without one rule", () => {
  for (const name of Object.keys(PUBLISH_RULES) as (keyof PublishRules)[]) {
    const { bounds, finds } = PUBLISH_FAULTS[name];
    test(`${name}: ${PUBLISH_RULES[name].literal} breaks "${finds}"`, () => {
      const rules = rulesWithout<PublishRules>(PUBLISH_RULES, name);
      assertFinds(publishModel(rules, bounds), finds);
    });
  }
});
