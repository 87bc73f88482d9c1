/**
 * Checks values against JSON Schema, as much of it as the document uses. A keyword that is not known here is an error:
 * nothing passes unseen.
 * @module
 */

/** A schema of JSON Schema 2020-12. */
// deno-lint-ignore no-explicit-any
export type Schema = Record<string, any>;

/** Gives what a `$ref` names. */
export type Resolve = (ref: string) => Schema;

const NOTES = new Set(["description", "title", "examples", "default", "$schema"]);
const UUID = /^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/;

interface Place {
  readonly resolve: Resolve;
  readonly path: string;
  /** Whether an object has no property that is not declared, also where the schema lets it. */
  readonly isClosed: boolean;
}

/** Says what is wrong with a value; nothing if it fits. */
export function findFaults(
  schema: Schema,
  value: unknown,
  resolve: Resolve,
  isClosed = false,
): string[] {
  const faults = faultsOf(schema, value, { resolve, path: "$", isClosed });
  const undeclared = isClosed ? undeclaredOf(schema, value, resolve, "$") : [];
  return [...faults, ...undeclared];
}

function faultsOf(schema: Schema, value: unknown, place: Place): string[] {
  return Object.entries(schema).flatMap(([keyword, wanted]) => {
    if (NOTES.has(keyword)) return [];
    const check = KEYWORDS[keyword];
    if (check === undefined) return [`${place.path}: the keyword ${keyword} is not known`];
    return check(wanted as never, value, place, schema);
  });
}

type Check = (wanted: never, value: unknown, place: Place, schema: Schema) => string[];

function unless(holds: boolean, place: Place, text: string): string[] {
  return holds ? [] : [`${place.path}: ${text}`];
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function isOfType(type: string, value: unknown): boolean {
  return type === "integer" ? Number.isInteger(value) : typeOf(value) === type;
}

function entriesOf(value: unknown): [string, unknown][] {
  return typeOf(value) === "object" ? Object.entries(value as object) : [];
}

function inside(place: Place, name: string | number): Place {
  return { ...place, path: `${place.path}.${name}` };
}

const KEYWORDS: Readonly<Record<string, Check>> = {
  $ref: (ref: string, value, place) => faultsOf(place.resolve(ref), value, place),
  type: (types: string | string[], value, place) =>
    unless([types].flat().some((type) => isOfType(type, value)), place, `is no ${types}`),
  const: (wanted: unknown, value, place) => unless(value === wanted, place, `is not ${wanted}`),
  enum: (wanted: unknown[], value, place) =>
    unless(wanted.includes(value), place, `${value} is none of ${wanted}`),
  pattern: (pattern: string, value, place) =>
    unless(
      typeof value !== "string" || new RegExp(pattern).test(value),
      place,
      `${value} is not like ${pattern}`,
    ),
  format: (format: string, value, place) => {
    if (typeof value !== "string") return [];
    if (format === "uuid") return unless(UUID.test(value), place, "is no uuid");
    if (format === "uint64") {
      return unless(/^[0-9]+$/.test(value) && BigInt(value) < 2n ** 64n, place, "is no u64");
    }
    return [`${place.path}: the format ${format} is not known`];
  },
  contentEncoding: (_encoding: string, value, place) =>
    unless(
      typeof value !== "string" ||
        /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value),
      place,
      "is no base64",
    ),
  minLength: (least: number, value, place) =>
    unless(typeof value !== "string" || value.length >= least, place, "is too short"),
  maxLength: (most: number, value, place) =>
    unless(typeof value !== "string" || value.length <= most, place, "is too long"),
  minimum: (least: number, value, place) =>
    unless(typeof value !== "number" || value >= least, place, `is below ${least}`),
  maximum: (most: number, value, place) =>
    unless(typeof value !== "number" || value <= most, place, `is above ${most}`),
  required: (names: string[], value, place) =>
    names.flatMap((name) =>
      typeOf(value) !== "object" || Object.hasOwn(value as object, name)
        ? []
        : [`${place.path}.${name}: is missing`]
    ),
  properties: (properties: Record<string, Schema>, value, place) =>
    entriesOf(value).flatMap(([name, item]) =>
      Object.hasOwn(properties, name) ? faultsOf(properties[name], item, inside(place, name)) : []
    ),
  additionalProperties: (wanted: Schema | false, value, place, { properties = {} }) =>
    entriesOf(value).flatMap(([name, item]) => {
      if (Object.hasOwn(properties, name)) return [];
      if (wanted === false) return [`${place.path}.${name}: is not known`];
      return faultsOf(wanted, item, inside(place, name));
    }),
  propertyNames: (wanted: Schema, value, place) =>
    entriesOf(value).flatMap(([name]) => faultsOf(wanted, name, inside(place, name))),
  prefixItems: (schemas: Schema[], value, place) =>
    schemas.flatMap((schema, index) =>
      Array.isArray(value) && index < value.length
        ? faultsOf(schema, value[index], inside(place, index))
        : []
    ),
  items: (wanted: Schema | false, value, place, { prefixItems = [] }) =>
    (Array.isArray(value) ? value.slice(prefixItems.length) : []).flatMap((item, index) =>
      wanted === false
        ? [`${place.path}: has more items than ${prefixItems.length}`]
        : faultsOf(wanted, item, inside(place, prefixItems.length + index))
    ),
  minItems: (least: number, value, place) =>
    unless(!Array.isArray(value) || value.length >= least, place, "has too few items"),
  maxItems: (most: number, value, place) =>
    unless(!Array.isArray(value) || value.length <= most, place, "has too many items"),
  anyOf: (schemas: Schema[], value, place) => {
    const faults = schemas.map((schema) => faultsOf(schema, value, place));
    return faults.some((found) => found.length === 0) ? [] : faults.flat();
  },
  allOf: (schemas: Schema[], value, place) =>
    schemas.flatMap((schema) => faultsOf(schema, value, place)),
  not: (schema: Schema, value, place) =>
    unless(faultsOf(schema, value, place).length > 0, place, "is what it may not be"),
};

/** Properties of objects that no schema declares; where there is none at all, anything may be. */
function undeclaredOf(schema: Schema, value: unknown, resolve: Resolve, path: string): string[] {
  const parts = partsOf(schema, resolve).filter((part) =>
    faultsOf(part, value, { resolve, path, isClosed: false }).length === 0
  );
  if (Array.isArray(value)) {
    return value.flatMap((item, index) =>
      parts.flatMap(({ items, prefixItems = [] }) => {
        const inner = prefixItems[index] ?? items;
        return inner === undefined ? [] : undeclaredOf(inner, item, resolve, `${path}.${index}`);
      })
    );
  }
  const isOpen = parts.every(({ properties }) => properties === undefined);
  return entriesOf(value).flatMap(([name, item]) => {
    const inner = parts.flatMap(({ properties = {}, additionalProperties }) =>
      Object.hasOwn(properties, name) ? [properties[name]] : additionalProperties ?? []
    );
    if (inner.length === 0) return isOpen ? [] : [`${path}.${name}: is not declared`];
    return inner.flatMap((one) => undeclaredOf(one, item, resolve, `${path}.${name}`));
  });
}

/** A schema and those that it is made of. */
function partsOf(schema: Schema, resolve: Resolve): Schema[] {
  if (schema.$ref !== undefined) return partsOf(resolve(schema.$ref), resolve);
  const inner = [...schema.allOf ?? [], ...schema.anyOf ?? []];
  return [schema, ...inner.flatMap((part: Schema) => partsOf(part, resolve))];
}
