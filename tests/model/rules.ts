/**
 * What the tables of rules of all models have in common.
 * @module
 */

/** One rule of the design as a switch of a model. */
export interface Rule<Value extends string> {
  /** The rule in plain words. */
  readonly text: string;
  /** The rule as it stands. */
  readonly default: Value;
  /** What one would do without it; the model finds a fault then. */
  readonly literal: Value;
}

/** A table with one rule for each switch. */
export type RuleTable<Rules> = {
  readonly [Name in keyof Rules]: Rules[Name] extends string ? Rule<Rules[Name]> : never;
};

/** Every rule as it stands. */
export function rulesAsTheyStand<Rules>(table: RuleTable<Rules>): Rules {
  const entries = Object.entries(table) as [string, Rule<string>][];
  return Object.fromEntries(entries.map(([name, rule]) => [name, rule.default])) as Rules;
}

/** Every rule as it stands but for one that is turned off. */
export function rulesWithout<Rules>(table: RuleTable<Rules>, name: keyof Rules): Rules {
  const { literal } = table[name] as unknown as Rule<string>;
  return { ...rulesAsTheyStand(table), [name]: literal };
}
