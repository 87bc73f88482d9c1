/**
 * Hooks of Node's loader: relative names that end in `.ts` are what they say, and lose their types when they are loaded.
 * @module
 */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const KEPT = fileURLToPath(new URL("../.cache/node/", import.meta.url));
mkdirSync(KEPT, { recursive: true });

/** What tsx makes JavaScript with; loaded where something has changed. */
const fromTsx = createRequire(createRequire(import.meta.url).resolve("tsx/package.json"));
const { version } = fromTsx("esbuild/package.json");
const OPTIONS = { loader: "ts", format: "esm", target: "node20", sourcemap: "inline" };

function hash(...parts) {
  const sum = createHash("sha1");
  for (const part of parts) sum.update(part).update("\0");
  return sum.digest("hex");
}

/** One file for each source: its first line says of what it was made. */
function translate(path) {
  const source = readFileSync(path, "utf8");
  const place = `${KEPT}${hash(path)}`;
  const mark = `//${hash(source, version, JSON.stringify(OPTIONS))}\n`;
  try {
    const kept = readFileSync(place, "utf8");
    if (kept.startsWith(mark)) return kept;
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
  }
  const made = mark +
    fromTsx("esbuild").transformSync(source, { ...OPTIONS, sourcefile: path }).code;
  // Another process may do the same.
  const temporary = `${place}-${process.pid}`;
  writeFileSync(temporary, made);
  renameSync(temporary, place);
  return made;
}

export function resolve(specifier, context, next) {
  if (!/^\.{1,2}\/.*\.ts$/.test(specifier)) return next(specifier, context);
  return { url: new URL(specifier, context.parentURL).href, format: "module", shortCircuit: true };
}

export function load(url, context, next) {
  if (!url.startsWith("file:") || !url.endsWith(".ts")) return next(url, context);
  return { format: "module", source: translate(fileURLToPath(url)), shortCircuit: true };
}
