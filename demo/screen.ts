/**
 * What the demo shows: a line per event, with its time and who it is about, and a closing table.
 * @module
 */
import process from "node:process";

const WHO_WIDTH = 9;
const isColored = process.stdout.isTTY === true && process.env.NO_COLOR === undefined;

function colored(code: number, text: string): string {
  return isColored ? `\u001b[${code}m${text}\u001b[0m` : text;
}

const COLORS = { kill: 31, sidecar: 36, pipeline: 34, equal: 32 } as const;

/** Who or what a line is about. */
export type Topic = "text" | "seed" | "progress" | keyof typeof COLORS;

/** A whole number with commas. */
export function thousands(value: number): string {
  return value.toLocaleString("en-US");
}

/** A size in MB. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Prints events with the time since it was made. */
export class Screen {
  readonly #startedMs = performance.now();

  get elapsedMs(): number {
    return performance.now() - this.#startedMs;
  }

  /** One line: what happened now. */
  say(topic: Topic, message: string): void {
    const time = `${(this.elapsedMs / 1000).toFixed(1)} s`.padStart(8);
    const padded = topic.padEnd(WHO_WIDTH);
    const who = topic in COLORS ? colored(COLORS[topic as keyof typeof COLORS], padded) : padded;
    console.log(`${colored(2, time)}  ${who} ${message}`);
  }

  /** A heading between empty lines. */
  title(text: string): void {
    console.log(`\n  ${colored(1, text)}\n`);
  }

  /** The closing table: name, figure and, where it helps, an explanation. */
  table(rows: readonly (readonly [name: string, figure: string, note?: string])[]): void {
    const nameWidth = Math.max(...rows.map(([name]) => name.length));
    const figureWidth = Math.max(...rows.map(([, figure]) => figure.length));
    console.log();
    for (const [name, figure, note] of rows) {
      const cells = `  ${name.padEnd(nameWidth)}  ${colored(1, figure.padStart(figureWidth))}`;
      console.log(note === undefined ? cells : `${cells}  ${colored(2, note)}`);
    }
    console.log();
  }
}
