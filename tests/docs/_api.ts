/**
 * What Deno knows of the public API and its docstrings.
 * @module
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../cli/_process.ts";

interface Tag {
  readonly kind: string;
  readonly name?: string;
  readonly doc?: string;
  /** All of a tag that Deno does not know. */
  readonly value?: string;
}

interface Parameter {
  readonly kind: string;
  readonly name?: string;
  /** What a parameter with a default is assigned to. */
  readonly left?: Parameter;
}

interface TypeNode {
  readonly repr?: string;
  readonly value?: { readonly typeParams?: readonly TypeNode[] };
}

/** A method, a property, or what a function says of itself. */
export interface Member {
  readonly name?: string;
  readonly optional?: boolean;
  readonly kind?: string;
  readonly accessibility?: string;
  readonly jsDoc?: { readonly doc?: string; readonly tags?: readonly Tag[] };
  readonly params?: readonly Parameter[];
  readonly returnType?: TypeNode;
}

/** One declaration of an export. */
export interface Declaration extends Member {
  readonly kind: string;
  readonly def?: Member & {
    readonly constructors?: readonly Member[];
    readonly methods?: readonly (Member & { readonly functionDef?: Member })[];
    readonly properties?: readonly Member[];
    /** What an interface adds to. */
    readonly extends?: readonly TypeNode[];
  };
}

/** An export of an entry. */
export interface Export {
  readonly name: string;
  readonly declarations: readonly Declaration[];
}

/** Reads the exports of an entry. */
export async function exportsOf(entry: string): Promise<Export[]> {
  const { stdout } = await promisify(execFile)(
    join(ROOT, "node_modules/.bin/deno"),
    ["doc", "--json", entry],
    { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 },
  );
  const nodes: Record<string, { symbols: Export[] }> = JSON.parse(stdout).nodes;
  return Object.values(nodes).flatMap(({ symbols }) => symbols);
}

function docTags(member: Member, kind: string): Tag[] {
  return (member.jsDoc?.tags ?? []).filter((tag) => tag.kind === kind);
}

function hasExample(declaration: Declaration): boolean {
  return docTags(declaration, "example").some(({ doc = "" }) =>
    /```ts\n[\s\S]*from "@tidemark\/tidemark(?:\/\w+)?";\n[\s\S]*```/.test(doc)
  );
}

function saysDefault(member: Member): boolean {
  const { doc = "", tags = [] } = member.jsDoc ?? {};
  // Deno does not know the tag, and in a docstring of one line takes it for text.
  return [doc, ...tags.map(({ value = "" }) => value)].some((text) => /@default \S/.test(text));
}

function returnsNothing({ returnType }: Member): boolean {
  const [inner] = returnType?.value?.typeParams ?? [];
  const repr = returnType?.repr === "Promise" ? inner?.repr : returnType?.repr;
  return returnType === undefined || repr === "void";
}

/** Lists what the docstring of something that is called leaves out. */
function gapsOfCall(place: string, documented: Member, signature: Member): string[] {
  const told = new Set(docTags(documented, "param").map(({ name }) => name));
  // What is taken apart in the signature has no name there.
  const names = (signature.params ?? []).map(({ name, left }) => name ?? left?.name ?? "options");
  const gaps = names.filter((name) => !told.has(name)).map((name) => `${place}: no @param ${name}`);
  const isTold = docTags(documented, "return").length > 0 ||
    /^Whether\b/.test(documented.jsDoc?.doc ?? "");
  const isMute = !returnsNothing(signature) && !isTold;
  return isMute ? [...gaps, `${place}: no @returns`] : gaps;
}

function gapsOfDeclaration(name: string, declaration: Declaration): string[] {
  const { def = {}, kind, jsDoc } = declaration;
  const gaps: string[] = [];
  if (!jsDoc?.doc) gaps.push(`${name}: says nothing of what it is`);
  if (!hasExample(declaration)) gaps.push(`${name}: no @example that imports it`);
  if (kind === "function") gaps.push(...gapsOfCall(name, declaration, def));
  for (const made of def.constructors ?? []) {
    // A private one is called by nobody else.
    if (made.accessibility !== "private") gaps.push(...gapsOfCall(`new ${name}`, made, made));
  }
  for (const method of def.methods ?? []) {
    if (method.kind === "getter" || method.accessibility === "private") continue;
    if (method.name?.startsWith("[")) continue;
    gaps.push(...gapsOfCall(`${name}.${method.name}`, method, method.functionDef ?? method));
  }
  if (!/Options$|Settings$/.test(name)) return gaps;
  for (const property of def.properties ?? []) {
    const isOptional = property.optional || name.endsWith("Settings");
    if (isOptional && !saysDefault(property)) gaps.push(`${name}.${property.name}: no @default`);
  }
  return gaps;
}

/** Lists what the docstrings of an export leave out. */
export function gapsOf({ name, declarations }: Export): string[] {
  return declarations.flatMap((declaration) => gapsOfDeclaration(name, declaration));
}
