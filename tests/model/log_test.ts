/** The protocols of the log on a disk, explored to the end. */
import { describe, test } from "node:test";
import { assertFinds, assertHolds, describeBounds } from "./assertions.ts";
import { type Model, startingAfter } from "./explorer.ts";
import { logModel } from "./log/model.ts";
import { LOG_RULES, type LogRules } from "./log/rules.ts";
import { LOG_FAULTS, LOG_SETTINGS, type Setting } from "./log/settings.ts";
import type { LogState } from "./log/state.ts";
import { rulesAsTheyStand, rulesWithout } from "./rules.ts";

function modelIn(rules: LogRules, { writers = 1, bounds, script = [] }: Setting): Model<LogState> {
  return startingAfter(logModel(rules, writers, bounds), script);
}

describe("logModel with the rules as they stand", () => {
  const rules = rulesAsTheyStand<LogRules>(LOG_RULES);
  for (const setting of LOG_SETTINGS) {
    test(`holds in: writers ${setting.writers ?? 1}, ${describeBounds(setting.bounds)}`, () => {
      assertHolds(modelIn(rules, setting), setting.statesMin);
    });
  }
});

describe("logModel without one rule", () => {
  for (const name of Object.keys(LOG_RULES) as (keyof LogRules)[]) {
    const fault = LOG_FAULTS[name];
    test(`${name}: ${LOG_RULES[name].literal} breaks "${fault.finds}"`, () => {
      const rules = rulesWithout<LogRules>(LOG_RULES, name);
      assertFinds(modelIn(rules, fault), fault.finds);
    });
  }
});
