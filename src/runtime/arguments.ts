/** Parsing of command-line arguments, which all three runtimes have. @module */
import { parseArgs } from "node:util";

/** An option that may stand in the arguments. */
export interface ArgumentOption {
  readonly type: "string" | "boolean";
  readonly short?: string;
}

/** One piece of the arguments, in order. */
export type ArgumentToken =
  | {
    readonly kind: "option";
    readonly name: string;
    readonly rawName: string;
    readonly value?: string;
  }
  | { readonly kind: "positional"; readonly value: string };

/** Splits arguments into options and positional ones; knows no rules beyond that. */
export function tokenizeArguments(
  args: readonly string[],
  options: Readonly<Record<string, ArgumentOption>>,
): ArgumentToken[] {
  const { tokens } = parseArgs({
    args: [...args],
    options: { ...options },
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  return tokens.flatMap((token): ArgumentToken[] => {
    if (token.kind === "positional") return [{ kind: "positional", value: token.value }];
    if (token.kind === "option-terminator") return [];
    const { name, rawName, value } = token;
    return [{ kind: "option", name, rawName, value }];
  });
}
