/**
 * House rules that text alone can hold. Each names what to do instead.
 * @module
 */
import { lineAt, type SourceFile, type TextFile } from "./_files.ts";
import { importsOf } from "./_lexer.ts";

/** A pattern that must not occur in some files. */
export interface Habit {
  readonly banned: RegExp;
  readonly where: (path: string) => boolean;
  readonly instead: string;
  /** Which view of the source is searched. @default {"code"} */
  readonly view?: "code" | "uncommented" | "text";
}

const inEngine = (path: string): boolean => path.startsWith("src/engine/");
const isPortable = (path: string): boolean =>
  path === "mod.ts" || (/^(?:src|wasm)\//.test(path) && path.endsWith(".ts") &&
    !path.startsWith("src/runtime/"));
const isShipped = (path: string): boolean => /^(?:mod\.ts$|src\/|wasm\/.*\.ts$)/.test(path);
const isTest = (path: string): boolean => path.startsWith("tests/");
/** Files that only one runtime loads may use what only that one has. */
const runsOnNode = (path: string): boolean =>
  !/(?:^|\/)_?(?:deno|bun)_[^/]*$|lint_plugin\.ts$/.test(path);
const anywhere = (): boolean => true;

const RUNTIME_HABITS: readonly Habit[] = [
  {
    banned: /(?<![\w.$#])(?:Deno|Bun|Buffer|__dirname|__filename)\b(?!\s*:)/g,
    where: isPortable,
    instead: "a port, implemented in src/runtime",
  },
  {
    banned: /(?<![\w.$#])process\s*(?:\.|\[|\?\.)/g,
    where: isPortable,
    instead: "a port, implemented in src/runtime",
  },
  {
    banned: /\bglobalThis\s*(?:\.|\[|\?\.)|\bglobal\.\w/g,
    where: inEngine,
    instead: "a port passed in",
  },
];

const AMBIENT_HABITS: readonly Habit[] = [
  { banned: /\bDate\.now\b|\bnew Date\(\s*\)|(?<!new )\bDate\(\)/g, instead: "Clock.nowMs" },
  { banned: /(?<![\w.])performance\./g, instead: "Clock.monotonicMs" },
  {
    banned: /(?<![\w.])(?:setTimeout|setInterval|setImmediate)\b|\bAbortSignal\.timeout\b/g,
    instead: "Clock.schedule",
  },
  { banned: /\bMath\.random\b|(?<![\w.])crypto\s*\./g, instead: "Random" },
  { banned: /(?<![\w.])console\./g, instead: "Logger" },
  { banned: /(?<![\w.])fetch\(/g, instead: "a fetch port" },
].map((habit) => ({ ...habit, where: inEngine }));

const NODE_20_HABITS: readonly Habit[] = [
  { banned: /\bPromise\.(?:withResolvers|try)\b/g, instead: "new Promise" },
  { banned: /\bArray\.fromAsync\b/g, instead: "for await" },
  { banned: /\b(?:Object|Map)\.groupBy\b/g, instead: "a loop" },
  { banned: /\.(?:fromBase64|toBase64|setFromBase64|setFromHex)\b/g, instead: "btoa, atob" },
  { banned: /\bUint8Array\.fromHex\b/g, instead: "a loop" },
  {
    banned:
      /(?<!\bv)\.(?:union|intersection|difference|symmetricDifference|isSubsetOf|isSupersetOf|isDisjointFrom)\(/g,
    instead: "loops over both sets",
  },
  {
    banned:
      /\.(?:(?:values|keys|entries)\(\)|matchAll\([^()]*\))\s*\.(?:map|filter|take|drop|flatMap|reduce|toArray|forEach|some|every|find)\(|\bIterator\.(?:from|prototype|concat)\b/g,
    instead: "a spread into an array first",
  },
  { banned: /\b(?:Async)?DisposableStack\b|\bSuppressedError\b/g, instead: "await using" },
  { banned: /\bimport\.meta\.main\b/g, instead: "a main file of its own" },
  { banned: /\b(?:RegExp\.escape|URL\.parse|Error\.isError|Float16Array)\b/g, instead: "own code" },
  { banned: /(?<![\w.])(?:WebSocket|navigator|localStorage)\b/g, instead: "a port" },
].map((habit) => ({
  ...habit,
  where: runsOnNode,
  instead: `${habit.instead}: Node 20 lacks this, though the type checks accept it`,
}));

const TEST_HABITS: readonly Habit[] = [
  {
    banned:
      /\b(?:t|test|it|describe|suite|context)\s*\.\s*(?:skip|only|todo)\s*\(|\b(?:only|todo):\s*true\b|\bskip:\s*true\b/g,
    where: isTest,
    instead: '{ skip: "reason" }, which all three runners count',
  },
  {
    banned: /\bDeno\s*\.\s*test\b/g,
    where: isTest,
    instead: "node:test, which all three runners run",
  },
];

const TEXT_HABITS: readonly Habit[] = [
  {
    banned: /\b(?:TO_?DO|FIX_?ME|XX[X]|HA[C]K)\b/g,
    where: anywhere,
    view: "text",
    instead: "the work itself, or an issue",
  },
  {
    banned: /\bexport\s+default\b|\bas\s+default\b/g,
    where: (path) => path !== "tools/lint_plugin.ts",
    instead: "exports with names",
  },
  {
    banned: new RegExp(String.raw`["'\x60]\/tmp\/`, "g"),
    where: (path) => !isTest(path),
    view: "uncommented",
    instead: "the folder for temporary files that the system names",
  },
];

/** All rules of this kind. */
export const HABITS: readonly Habit[] = [
  ...RUNTIME_HABITS,
  ...AMBIENT_HABITS,
  ...NODE_20_HABITS,
  ...TEST_HABITS,
  ...TEXT_HABITS,
];

/** Lists every breach of the pattern rules in a file. */
export function checkHabits(file: SourceFile, habits: readonly Habit[] = HABITS): string[] {
  const found = [];
  // A parameter or a field of that name is a port.
  const hasOwnProcess = /\bprocess\??:\s/.test(file.code);
  for (const { banned, where, instead, view = "code" } of habits) {
    if (!where(file.path)) continue;
    for (const match of file[view].matchAll(banned)) {
      if (hasOwnProcess && match[0].startsWith("process")) continue;
      const place = `${file.path}:${lineAt(file.text, match.index)}`;
      found.push(`${place}: ${match[0].trim()} is banned; use ${instead}`);
    }
  }
  return found;
}

/** The entry of cbor-x that neither evaluates code nor loads its native addon. */
const CBOR_ENTRY = "cbor-x/index-no-eval";

function whyNotImport(
  specifier: string,
  path: string,
  dependencies: ReadonlySet<string>,
): string | undefined {
  if (/^(?:jsr|https?|npm|data|file):/.test(specifier)) return "only bare names and paths";
  if (specifier === "bun:test") return "node:test runs under all three runners";
  if (specifier.startsWith("@std/")) return "it lives on one registry alone";
  if (specifier.startsWith(".")) return undefined;
  if (/^(?:node|bun):/.test(specifier)) {
    return isPortable(path) ? "only src/runtime may name a runtime" : undefined;
  }
  if (!isShipped(path)) return undefined;
  if (/^cbor-x\b/.test(specifier) && specifier !== CBOR_ENTRY) return `use ${CBOR_ENTRY}`;
  const name = specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
  return dependencies.has(name) ? undefined : "package.json does not name it as a dependency";
}

/** Lists the imports that the rules forbid, whatever their layer. */
export function checkImports(file: SourceFile, dependencies: ReadonlySet<string>): string[] {
  const found = [];
  for (const { specifier, position } of importsOf(file)) {
    const why = whyNotImport(specifier, file.path, dependencies);
    if (why !== undefined) {
      const place = `${file.path}:${lineAt(file.text, position)}`;
      found.push(`${place}: may not import ${specifier}: ${why}`);
    }
  }
  return found;
}

const FILE_LINES_MAX = 500;

/** Lists what is wrong with a source file as a whole: its name, length and header. */
export function checkShape(file: SourceFile): string[] {
  const found = [];
  const name = file.path.slice(file.path.lastIndexOf("/") + 1);
  if (!/^_?[a-z0-9]+(?:_[a-z0-9]+)*(?:\.d)?\.(?:ts|mjs)$/.test(name)) {
    found.push(`${file.path}: names are snake_case.ts, or .mjs for Node alone`);
  }
  const lines = file.text.split("\n").length - 1;
  if (lines > FILE_LINES_MAX) {
    found.push(`${file.path}: has ${lines} lines, at most ${FILE_LINES_MAX} are allowed`);
  }
  const isComponent = /\bexport (?:abstract |async )?(?:class|function)\b/.test(file.code);
  if (isShipped(file.path) && isComponent && !name.startsWith("_")) {
    const header = /^\s*\/\*\*([\s\S]*?)\*\//.exec(file.text)?.[1] ?? "";
    if (!header.includes("@module")) {
      found.push(`${file.path}: a component begins with a comment on what it owns, with @module`);
    }
  }
  return found;
}

/** Lists doc comments with a gap before what they are about, and lines of comments that break a code span. */
export function checkComments(file: SourceFile): string[] {
  const found = [];
  const isComment = (at: number): boolean => file.uncommented[at] === " ";
  const gap =
    /(?<=\S\s*)\n[ \t]*(\/\*\*(?:[^*]|\*(?!\/))*\*\/)\n\s*\n[ \t]*(?:export |async |function |class |interface |type )/g;
  for (const { index, 1: comment } of file.text.matchAll(gap)) {
    const at = file.text.indexOf(comment, index);
    if (!isComment(at)) continue;
    found.push(`${file.path}:${lineAt(file.text, at)}: stands apart from what it is about`);
  }
  let isExample = false;
  for (const { index, 0: line } of file.text.matchAll(/^[ \t]*(?:\/\*\*|\*|\/\/).*$/gm)) {
    const ticks = line.split("`").length - 1;
    if (line.includes("```")) isExample = !isExample;
    else if (!isExample && ticks % 2 === 1 && isComment(index + line.indexOf("`"))) {
      found.push(`${file.path}:${lineAt(file.text, index)}: breaks a code span`);
    }
  }
  return found;
}

/** A public entry does nothing but name what is public. */
export function checkEntry(file: SourceFile): string[] {
  const statements = file.uncommented.replace(
    /\bexport\s+(?:type\s+)?\{[^{}*]*\}\s*from\s*"[^"\n]+";/g,
    "",
  );
  const rest = statements.trim();
  return rest === "" ? [] : [`${file.path}: only re-exports by name belong here, not ${rest}`];
}

/** Words that belong to whoever builds the project and not to its readers; in pieces, so as not to find themselves. */
const PLACES = [
  [String.raw`(?<![\w.-])\/wo`, String.raw`rk\/`],
  [String.raw`\/tmp\/br`, "ief"],
  [String.raw`\.\.\/sha`, String.raw`red\/`],
  ["//registry", String.raw`\.[a-z]`],
  ["npm", String.raw`js\.(?:org|com)`],
].map((pieces) => new RegExp(pieces.join(""), "g"));

/** Lists places of the development machine, and hosts of registries, in any text. */
export function checkPlaces({ path, text }: TextFile): string[] {
  return PLACES.flatMap((place) =>
    [...text.matchAll(place)].map((match) =>
      `${path}:${lineAt(text, match.index)}: ${match[0]} means nothing to a reader`
    )
  );
}
