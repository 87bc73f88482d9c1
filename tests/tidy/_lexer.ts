/**
 * Splits TypeScript into code, strings and comments, as far as text rules need it.
 * The lengths stay: what is left out becomes spaces, so that places and line numbers hold.
 * @module
 */

/** One source in two views. */
export interface MaskedSource {
  /** Without comments, strings and regular expressions. */
  readonly code: string;
  /** Without comments. */
  readonly uncommented: string;
}

const REGEX_BEFORE =
  /(?:^|[=(,[!&|?{};:+*%~<>-]|\b(?:return|typeof|case|in|of|do|else|void|throw))\s*$/;

/** Code that begins no string, comment, template, and changes no nesting. */
const PLAIN = /[^"'`/{}]*/y;

function blank(text: string): string {
  return text.replace(/[^\n]/g, " ");
}

/** Where the string, comment or regular expression that begins at `start` ends. */
function endOfQuoted(text: string, start: number, quote: string): number {
  let position = start + 1;
  while (position < text.length && text[position] !== quote) {
    if (text[position] === "\\") position++;
    else if (text[position] === "\n") return position;
    position++;
  }
  return position + 1;
}

function endOfRegex(text: string, start: number): number {
  let inClass = false;
  for (let position = start + 1; position < text.length; position++) {
    const char = text[position];
    if (char === "\\") position++;
    else if (char === "\n") return position;
    else if (char === "[") inClass = true;
    else if (char === "]") inClass = false;
    else if (char === "/" && !inClass) return position + 1;
  }
  return text.length;
}

/** A piece of source; `open` and `close` say how it changes the nesting of template literals. */
interface Piece {
  readonly kind: "comment" | "string" | "code";
  readonly end: number;
}

function nextPiece(text: string, start: number, codeBefore: string): Piece {
  const two = text.slice(start, start + 2);
  if (two === "//") {
    const newline = text.indexOf("\n", start);
    return { kind: "comment", end: newline < 0 ? text.length : newline };
  }
  if (two === "/*") {
    const close = text.indexOf("*/", start + 2);
    return { kind: "comment", end: close < 0 ? text.length : close + 2 };
  }
  const char = text[start];
  if (char === '"' || char === "'") return { kind: "string", end: endOfQuoted(text, start, char) };
  if (char === "/" && REGEX_BEFORE.test(codeBefore)) {
    return { kind: "string", end: endOfRegex(text, start) };
  }
  PLAIN.lastIndex = start + 1;
  PLAIN.test(text);
  return { kind: "code", end: PLAIN.lastIndex };
}

/** Where the text part of a template literal ends: after its closing backtick, or after `${`. */
function endOfTemplatePart(text: string, start: number): number {
  for (let position = start; position < text.length; position++) {
    if (text[position] === "\\") position++;
    else if (text[position] === "`") return position + 1;
    else if (text[position] === "$" && text[position + 1] === "{") return position + 2;
  }
  return text.length;
}

/** Separates a source. */
export function maskSource(text: string): MaskedSource {
  let code = "";
  let uncommented = "";
  let position = 0;
  // For each open `${`: how many braces are open within it.
  const depths: number[] = [];
  const take = (end: number, keepCode: boolean, keepUncommented: boolean): void => {
    const piece = text.slice(position, end);
    code += keepCode ? piece : blank(piece);
    uncommented += keepUncommented ? piece : blank(piece);
    position = end;
  };
  const takeTemplatePart = (start: number): void => {
    const end = endOfTemplatePart(text, start);
    if (text[end - 1] === "{") depths.push(0);
    take(end, false, true);
  };
  while (position < text.length) {
    const char = text[position];
    const innermost = depths.length - 1;
    if (char === "`") takeTemplatePart(position + 1);
    else if (char === "}" && depths[innermost] === 0) {
      depths.pop();
      takeTemplatePart(position + 1);
    } else {
      if (char === "{" && innermost >= 0) depths[innermost]++;
      if (char === "}" && innermost >= 0) depths[innermost]--;
      const piece = nextPiece(text, position, code.slice(-40));
      take(piece.end, piece.kind === "code", piece.kind !== "comment");
    }
  }
  return { code, uncommented };
}

/** Lists what a source imports or re-exports, with the place of each. */
export function importsOf(source: MaskedSource): { specifier: string; position: number }[] {
  const found = [];
  const patterns = [
    /\b(?:import|export)\b(?:[\w\s{},*$]*?\bfrom\b)?\s*(["'])([^"'\n]+)\1/g,
    /\bimport\s*\(\s*(["'`])([^"'`\n]+)\1/g,
  ];
  for (const pattern of patterns) {
    for (const match of source.uncommented.matchAll(pattern)) {
      // A keyword inside a string is none.
      if (source.code.startsWith(match[0].slice(0, 6), match.index)) {
        found.push({ specifier: match[2], position: match.index });
      }
    }
  }
  return found;
}
