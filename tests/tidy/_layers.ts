/**
 * Which part may import which. The lowest stands first; `ARCHITECTURE.md` draws it.
 * @module
 */
import { importsOf } from "./_lexer.ts";
import { lineAt, type SourceFile } from "./_files.ts";

interface Layer {
  readonly name: string;
  readonly files: RegExp;
  /** Layers that it may import, besides itself. */
  readonly below: readonly string[];
}

const BASE = ["base"];
const FORMAT = [...BASE, "wasm", "format"];
const STORAGE = [...BASE, "storage"];
const UPLOAD = [...FORMAT, ...STORAGE, "upload"];
const CHANGELOG = [...UPLOAD, "changelog"];
const CHECKPOINT = [...CHANGELOG, "checkpoint"];
const ENGINE = [...CHECKPOINT, "job"];

const LAYERS: readonly Layer[] = [
  { name: "wasm", files: /^wasm\/(?!assembly\/)/, below: [] },
  {
    name: "base",
    files:
      /^src\/engine\/(?:port\/.*|errors|limits|paths|types|types\/.*|settings|uuid|version)(?:\.ts)?$/,
    below: ["wasm"],
  },
  { name: "format", files: /^src\/engine\/format\//, below: [...BASE, "wasm"] },
  { name: "storage", files: /^src\/engine\/storage\//, below: BASE },
  { name: "upload", files: /^src\/engine\/upload\//, below: UPLOAD },
  { name: "changelog", files: /^src\/engine\/changelog\//, below: CHANGELOG },
  { name: "checkpoint", files: /^src\/engine\/checkpoint\//, below: CHECKPOINT },
  { name: "job", files: /^src\/engine\/[^/]+\.ts$/, below: ENGINE },
  { name: "testing", files: /^src\/testing\//, below: ENGINE },
  // Takes clock, chance and fetch from the runtime where it is given none.
  { name: "client", files: /^src\/client\//, below: [...ENGINE, "runtime"] },
  { name: "http", files: /^src\/http\//, below: ENGINE },
  // Gives the engine what the runtime has, so it knows the engine, and nothing of the engine knows it.
  { name: "runtime", files: /^src\/runtime\//, below: ENGINE },
  { name: "cli", files: /^src\/cli\//, below: [...ENGINE, "runtime", "client", "http"] },
  { name: "entry", files: /^mod\.ts$/, below: [...ENGINE, "runtime", "client", "http"] },
];

function layerOf(path: string): Layer | undefined {
  return LAYERS.find((layer) => layer.files.test(path));
}

/** Resolves `./` and `../` of a specifier against the path of its file. */
export function resolveSpecifier(from: string, specifier: string): string {
  const parts = from.split("/").slice(0, -1);
  for (const part of specifier.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== ".") parts.push(part);
  }
  return parts.join("/");
}

/** Only what ships has layers; tests and tools may import anything. */
function isLayered(path: string): boolean {
  return path === "mod.ts" || path.startsWith("src/") ||
    (path.startsWith("wasm/") && layerOf(path) !== undefined && path.endsWith(".ts"));
}

function isPrivateTo(target: string, from: string): boolean {
  const name = target.slice(target.lastIndexOf("/") + 1);
  const folder = target.slice(0, target.lastIndexOf("/") + 1);
  return !name.startsWith("_") || from.startsWith(folder);
}

function violationsOf(file: SourceFile): string[] {
  const layer = layerOf(file.path);
  if (layer === undefined) return [`${file.path}: no layer is known for it; add one to _layers.ts`];
  const found = [];
  for (const { specifier, position } of importsOf(file)) {
    if (!specifier.startsWith(".")) continue;
    const target = resolveSpecifier(file.path, specifier);
    const place = `${file.path}:${lineAt(file.text, position)}`;
    const other = layerOf(target);
    if (other === undefined) found.push(`${place}: ${target} does not ship with the package`);
    else if (other !== layer && !layer.below.includes(other.name)) {
      found.push(`${place}: ${layer.name} may not import ${other.name} (${target})`);
    } else if (!isPrivateTo(target, file.path)) {
      found.push(`${place}: ${target} is private to its folder`);
    }
  }
  return found;
}

/** Finds one circle of imports, as the paths along it, or none. */
export function findCircle(imports: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): string[] | undefined => {
    const start = path.indexOf(file);
    if (start >= 0) return [...path.slice(start), file];
    if (done.has(file)) return undefined;
    path.push(file);
    for (const target of imports.get(file) ?? []) {
      const circle = visit(target);
      if (circle !== undefined) return circle;
    }
    path.pop();
    done.add(file);
    return undefined;
  };
  for (const file of imports.keys()) {
    const circle = visit(file);
    if (circle !== undefined) return circle;
  }
  return undefined;
}

/** Lists every import that the layers forbid, and a circle if there is one. */
export function checkLayers(files: readonly SourceFile[]): string[] {
  const layered = files.filter((file) => isLayered(file.path));
  const imports = new Map(layered.map((file) => [
    file.path,
    importsOf(file).filter(({ specifier }) => specifier.startsWith("."))
      .map(({ specifier }) => resolveSpecifier(file.path, specifier)),
  ]));
  const circle = findCircle(imports);
  const found = layered.flatMap(violationsOf);
  if (circle !== undefined) found.push(`imports go in a circle: ${circle.join(" -> ")}`);
  return found;
}
