/**
 * Readers of the kinds of values that settings have.
 * @module
 */
import {
  DEFAULT_SETTINGS,
  isAllowedSetting,
  type StoreSettings,
  wantedOf,
} from "../../engine/settings.ts";
import type { Reader } from "./setting.ts";

const BYTES_OF_UNIT: Readonly<Record<string, number>> = {
  "": 1,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};

/** A path, made absolute. */
export function path(placeholder: string, wants: string): Reader<string> {
  const read = (value: unknown, absolutePath: (path: string) => string): string | undefined =>
    typeof value === "string" && isPath(value) ? absolutePath(value) : undefined;
  return { placeholder, wants, ofText: read, ofJson: read, toText: String };
}

function isPath(text: string): boolean {
  return text !== "" && !text.includes("\0");
}

/** Text that `read` understands. */
export function text<Value>(
  placeholder: string,
  wants: string,
  read: (text: string) => Value | undefined,
  toText: (value: Value) => string = String,
): Reader<Value> {
  return {
    placeholder,
    wants,
    ofText: read,
    ofJson: (json) => typeof json === "string" ? read(json) : undefined,
    toText,
  };
}

/** Texts that `read` understands, with commas between them; in the file a list of them, too. */
export function list<Value>(
  placeholder: string,
  wants: string,
  read: (text: string) => Value | undefined,
): Reader<readonly Value[]> {
  const readAll = (texts: readonly unknown[]): Value[] | undefined => {
    const values = texts.map((one) => typeof one === "string" ? read(one.trim()) : undefined);
    const isWhole = values.length > 0 && !values.includes(undefined);
    return isWhole ? values as Value[] : undefined;
  };
  const ofText = (given: string): Value[] | undefined => readAll(given.split(","));
  return {
    placeholder,
    wants,
    ofText,
    ofJson: (json) =>
      typeof json === "string" ? ofText(json) : readAll(Array.isArray(json) ? json : []),
    toText: String,
  };
}

/** One of some words. */
export function choice<Word extends string>(...words: readonly Word[]): Reader<Word> {
  return text(
    "WORD",
    `one of ${words.join(", ")}`,
    (given) => words.find((word) => word === given),
  );
}

/** A whole number. */
export function count(min: number, max: number, unit = ""): Reader<number> {
  const inRange = (value: number): boolean => value >= min && value <= max;
  return number(`a whole number${unit && ` of ${unit}`} from ${min} to ${max}`, inRange);
}

/** A time in milliseconds, of at most what a timer takes. */
export function milliseconds(min: number, max: number = 2 ** 31 - 1): Reader<number> {
  return count(min, max, "milliseconds");
}

/** A number of bytes; as text it may end in `KiB`, `MiB`, `GiB` or `TiB`. */
export function bytes(min: number, max: number = Number.MAX_SAFE_INTEGER): Reader<number> {
  const inRange = (value: number): boolean => value >= min && value <= max;
  return byteNumber(`a whole number of bytes from ${min} to ${max}`, inRange);
}

/** Yes or no: the flag alone says yes. */
export const SWITCH: Reader<boolean> = {
  wants: "true or false",
  ofText: (given) =>
    ["true", "1"].includes(given) || (["false", "0"].includes(given) ? false : undefined),
  ofJson: (json) => typeof json === "boolean" ? json : undefined,
  toText: String,
};

/** What the engine takes for one of its settings. */
export function storeReader<Name extends keyof StoreSettings>(
  name: Name,
): Reader<NonNullable<StoreSettings[Name]>> {
  const wants = wantedOf(name);
  const isAllowed = (value: unknown): boolean => isAllowedSetting(name, value);
  const reader: Reader<number> | Reader<string> = typeof DEFAULT_SETTINGS[name] !== "number"
    ? text(
      "WORD",
      wants,
      (given) => isAllowed(given) ? given : undefined,
    )
    : /Bytes/.test(name)
    ? byteNumber(wants, isAllowed)
    : number(wants, isAllowed);
  return reader as unknown as Reader<NonNullable<StoreSettings[Name]>>;
}

function number(wants: string, isAllowed: (value: number) => boolean): Reader<number> {
  const check = (value: unknown): number | undefined =>
    Number.isSafeInteger(value) && isAllowed(value as number) ? value as number : undefined;
  return {
    placeholder: "N",
    wants,
    ofText: (given) => /^[0-9]+$/.test(given) ? check(Number(given)) : undefined,
    ofJson: check,
    toText: String,
  };
}

function byteNumber(wants: string, isAllowed: (value: number) => boolean): Reader<number> {
  const plain = number(`${wants}, also with KiB, MiB, GiB or TiB`, isAllowed);
  const ofText = (given: string): number | undefined => {
    const [, digits, unit] = /^([0-9]+)(|KiB|MiB|GiB|TiB)$/.exec(given) ?? [];
    return digits === undefined
      ? undefined
      : plain.ofJson(Number(digits) * BYTES_OF_UNIT[unit], String);
  };
  const ofJson: Reader<number>["ofJson"] = (json, absolutePath) =>
    typeof json === "string" ? ofText(json) : plain.ofJson(json, absolutePath);
  return { ...plain, ofText, ofJson };
}
