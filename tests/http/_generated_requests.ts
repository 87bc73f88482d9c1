/**
 * Requests that the OpenAPI document allows, by chance.
 * @module
 */
import { encode } from "cborg";
import fc from "fast-check";
import type { SeededRandom } from "../doubles/seeded_random.ts";
import type { Operation, Parameter } from "./_document.ts";
import { findFaults, type Resolve, type Schema } from "./_json_schema.ts";

/** A request before it is written. */
export interface Draft {
  readonly path: Record<string, string>;
  /** A name may be there more than once. */
  readonly query: [name: string, text: string][];
  readonly headers: Record<string, string>;
  type?: string;
  /** Of a JSON body. */
  json?: unknown;
  /** Of any other body. */
  bytes?: Uint8Array;
}

/** What is there to be named. */
export interface Facts {
  /** Values of path parameters that name something. */
  readonly names: Readonly<Record<string, string>>;
  /** Uuids of checkpoints. */
  readonly uuids: readonly string[];
  /** Of a job, for its import. */
  readonly archive: Uint8Array;
}

const TEXT = ["", "a", "noon", "é ✓", 'say "hi"', "\u0000\n", "x".repeat(60)];

/** Makes requests that the document allows. */
export class RequestGenerator {
  readonly #random: SeededRandom;
  readonly #resolve: Resolve;
  readonly #facts: Facts;
  /** By their pattern. */
  readonly #texts = new Map<string, readonly string[]>();

  constructor(random: SeededRandom, resolve: Resolve, facts: Facts) {
    this.#random = random;
    this.#resolve = resolve;
    this.#facts = facts;
  }

  /** @param isPlain Whether it says only what it must, and names what is there. */
  request(operation: Operation, isPlain: boolean): Draft {
    const { parameters = [], requestBody } = operation;
    const draft: Draft = { path: {}, query: [], headers: {} };
    for (const parameter of parameters) {
      if (!parameter.required && (isPlain || this.#random.chance(0.5))) continue;
      const text = this.#parameter(parameter, draft, isPlain);
      if (parameter.in === "path") draft.path[parameter.name] = text;
      else if (parameter.in === "query") draft.query.push([parameter.name, text]);
      else draft.headers[parameter.name] = text;
    }
    if (requestBody === undefined) return draft;
    if (!requestBody.required && this.#random.chance(0.2)) return draft;
    const type = this.#random.pick(Object.keys(requestBody.content));
    const { schema } = requestBody.content[type];
    draft.type = type;
    if (type === "application/json") draft.json = this.value(schema ?? {}, isPlain);
    else draft.bytes = this.#bytes(type);
    return draft;
  }

  #parameter({ name, schema }: Parameter, draft: Draft, isPlain: boolean): string {
    const named = this.#facts.names[name];
    if (name === "confirm") return draft.path.job;
    if (named !== undefined && (isPlain || this.#random.chance(0.8))) return named;
    return String(this.value(schema, isPlain));
  }

  /** A value that fits a schema. */
  value(schema: Schema, isPlain = false): unknown {
    const { $ref, examples, enum: choices, const: only, anyOf, type } = schema;
    if ($ref !== undefined) return this.value(this.#resolve($ref), isPlain);
    if (examples !== undefined) return this.#random.pick(examples);
    if (choices !== undefined) return this.#random.pick(choices);
    if (only !== undefined) return only;
    if (anyOf !== undefined) return this.value(this.#random.pick(anyOf), isPlain);
    if (type === "string") return this.#text(schema);
    if (type === "integer" || type === "number") return this.#number(schema);
    if (type === "boolean") return this.#random.chance(0.5);
    if (type === "array") return this.#array(schema, isPlain);
    if (type === "object") return this.#object(schema, isPlain);
    return this.#random.pick<unknown>([null, 1, "text", [{ a: [1.5] }], {
      topic: "t",
      at: [7, 8],
    }]);
  }

  #text(schema: Schema): string {
    const { format, pattern } = schema;
    if (format === "uuid") return this.#uuid();
    if (format === "uint64") return this.#random.pick(["0", "7", "18446744073709551615"]);
    if (pattern === undefined) return this.#random.pick(TEXT);
    return this.#random.pick(this.#textsLike(pattern, schema));
  }

  #textsLike(pattern: string, schema: Schema): readonly string[] {
    const known = this.#texts.get(pattern);
    if (known !== undefined) return known;
    const seed = this.#random.nextUint32();
    const texts = fc.sample(fc.stringMatching(new RegExp(pattern)), { seed, numRuns: 8 });
    const fitting = texts.filter((text) => findFaults(schema, text, this.#resolve).length === 0);
    this.#texts.set(pattern, fitting);
    return fitting;
  }

  #uuid(): string {
    if (this.#random.chance(0.7)) return this.#random.pick(this.#facts.uuids);
    const bytes = new Uint8Array(16);
    this.#random.fill(bytes);
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  }

  #number({ minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: Schema): number {
    const small = Math.min(maximum, minimum + this.#random.below(5));
    return this.#random.pick([minimum, small, small, small, maximum]);
  }

  #array({ items, prefixItems }: Schema, isPlain: boolean): unknown[] {
    if (prefixItems !== undefined) {
      return prefixItems.map((item: Schema) => this.value(item, isPlain));
    }
    return Array.from({ length: this.#random.below(4) }, () => this.value(items, isPlain));
  }

  #object(schema: Schema, isPlain: boolean): Record<string, unknown> {
    const { properties = {}, required = [], additionalProperties, propertyNames } = schema;
    const entries: [string, unknown][] = [];
    for (const [name, property] of Object.entries<Schema>(properties)) {
      if (!required.includes(name) && (isPlain || this.#random.chance(0.5))) continue;
      entries.push([name, this.value(property, isPlain)]);
    }
    if (typeof additionalProperties === "object") {
      for (let count = this.#random.below(3); count > 0; count--) {
        const name = String(this.value(propertyNames ?? { type: "string" }));
        entries.push([name, this.value(additionalProperties, isPlain)]);
      }
    }
    return Object.fromEntries(entries);
  }

  #bytes(type: string): Uint8Array {
    if (type === "application/x-tar") return this.#facts.archive;
    const texts = Array.from({ length: this.#random.below(5) }, () => this.#random.pick(TEXT));
    const changes = texts.map((text) => [this.#random.below(9), new TextEncoder().encode(text)]);
    if (type === "application/cbor") return encode(changes);
    if (type === "application/cbor-seq") return joined(changes.map((change) => encode(change)));
    const bytes = new TextEncoder();
    const lines = texts.map((data) => `${JSON.stringify({ keyGroup: 3, data })}\n`);
    return bytes.encode(lines.join(""));
  }
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(pieces.flatMap((piece) => [...piece]));
}
