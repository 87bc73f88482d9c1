/**
 * The repository as the tidy tests see it.
 * @module
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { filesBelow } from "../../tools/_files.mjs";
import { type MaskedSource, maskSource } from "./_lexer.ts";

/** One text file. */
export interface TextFile {
  /** From the repository's root, with slashes. */
  readonly path: string;
  readonly text: string;
}

/** One TypeScript or JavaScript file. */
export interface SourceFile extends TextFile, MaskedSource {}

/** The repository. */
export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Reads one file of the repository. */
export function readText(path: string): string {
  return readFileSync(`${ROOT}/${path}`, "utf8");
}

/** Lists the paths of the repository's files whose path the pattern matches. */
export function pathsMatching(pattern: RegExp): string[] {
  return filesBelow(ROOT, ".", (path: string) => pattern.test(path));
}

/** Makes a source file of a text, as for planted faults. */
export function sourceFile(path: string, text: string): SourceFile {
  return { path, text, ...maskSource(text) };
}

/** Reads all sources; generated ones are left out. */
export function readSources(): SourceFile[] {
  return pathsMatching(/\.(?:ts|mts|tsx|mjs|js)$/)
    .filter((path) => !/\.gen\.ts$/.test(path))
    .map((path) => sourceFile(path, readText(path)));
}

/** Which line a position is in, counted from 1. */
export function lineAt(text: string, position: number): number {
  return text.slice(0, position).split("\n").length;
}
