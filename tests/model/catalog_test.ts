/** The protocols of catalog, owners, resume, deletion and readers, explored to the end. */
import { describe, test } from "node:test";
import { assertFinds, assertHolds, describeBounds } from "./assertions.ts";
import { catalogModel } from "./catalog/model.ts";
import { CATALOG_RULES, type CatalogRules } from "./catalog/rules.ts";
import { CATALOG_FAULTS, CATALOG_SETTINGS } from "./catalog/settings.ts";
import { rulesAsTheyStand, rulesWithout } from "./rules.ts";

describe("catalogModel with the rules as they stand", () => {
  const rules = rulesAsTheyStand<CatalogRules>(CATALOG_RULES);
  for (const { bounds, statesMin } of CATALOG_SETTINGS) {
    test(`holds in: ${describeBounds(bounds)}`, () => {
      assertHolds(catalogModel(rules, bounds), statesMin);
    });
  }
});

describe("catalogModel without one rule", () => {
  for (const name of Object.keys(CATALOG_RULES) as (keyof CatalogRules)[]) {
    const { bounds, finds } = CATALOG_FAULTS[name];
    test(`${name}: ${CATALOG_RULES[name].literal} breaks "${finds}"`, () => {
      const rules = rulesWithout<CatalogRules>(CATALOG_RULES, name);
      assertFinds(catalogModel(rules, bounds), finds);
    });
  }
});
