/** Values that requests and answers are made of. */
import * as v from "valibot";
import { UUID } from "../engine/uuid.ts";

/**
 * Says for people what a value means. It stands before whatever transforms the value: what comes after that is not in
 * the document.
 */
export function about<Schema extends v.GenericSchema>(text: string, schema: Schema): Schema {
  const [root, ...actions] = "pipe" in schema
    ? schema.pipe as [v.GenericSchema, ...v.GenericPipeItem[]]
    : [schema];
  return v.pipe(root, v.description(text), ...actions) as unknown as Schema;
}

/** A u64 in an answer. */
export const u64Text = about(
  "0 to 2^64 - 1, as a decimal string",
  v.pipe(v.string(), v.regex(/^[0-9]{1,20}$/), v.metadata({ format: "uint64" })),
);

/** A uuid in an answer. */
export const uuidText = v.pipe(v.string(), v.regex(UUID));

/**
 * An object with any names. `v.record` passes over `constructor` and `prototype`, which are names like others here: a
 * state of that name must not vanish without a word.
 */
export function byName<Value extends v.GenericSchema>(
  value: Value,
): v.RecordSchema<v.StringSchema<undefined>, Value, string> {
  const schema = v.record(v.string(), value, "wants an object");
  return {
    ...schema,
    "~run"({ value: input }, config) {
      if (typeof input !== "object" || input === null || Array.isArray(input)) {
        return schema["~run"]({ value: undefined }, config);
      }
      const entries: [string, v.InferOutput<Value>][] = [];
      for (const [key, item] of Object.entries(input)) {
        const result = value["~run"]({ value: item }, config);
        const path = { type: "object", origin: "value", input, key, value: item } as const;
        const issues = result.issues?.map((issue) => ({
          ...issue,
          path: [path, ...(issue.path ?? [])] as [v.IssuePathItem, ...v.IssuePathItem[]],
        }));
        if (issues !== undefined) return { typed: false, value: input, issues } as never;
        entries.push([key, result.value as v.InferOutput<Value>]);
      }
      return { typed: true, value: Object.fromEntries(entries) } as never;
    },
  };
}
