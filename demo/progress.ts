/**
 * How far the pipeline is, by what it reports; shows the reports and adds them up.
 * @module
 */
import { type Screen, thousands } from "./screen.ts";

/** A report of the pipeline; see `pipeline.ts`. */
export type Report =
  | { event: "resumed"; run: number; line: number; changes: number; words: number }
  | { event: "appended"; line: number; changes: number; bytes: number }
  | { event: "checkpoint"; line: number }
  | { event: "repeated"; request: string }
  | { event: "finished"; line: number; changes: number; words: number };

const SHOWN_SHARE = 0.1;

/** The sum of all reports so far. */
export class Progress {
  /** Lines that are counted, and changes that they made: both fall back at a rewind. */
  line = 0;
  changes = 0;
  /** With what was done again after a rewind. */
  changesSent = 0;
  bytesSent = 0;
  linesRewound = 0;
  checkpoints = 0;
  repeatedRequests = 0;
  isFinished = false;
  readonly #lineCount: number;
  readonly #screen: Screen;
  #shownShare = SHOWN_SHARE;
  #onProgress: () => void = () => {};

  constructor(lineCount: number, screen: Screen) {
    this.#lineCount = lineCount;
    this.#screen = screen;
  }

  /** Waits until this share of the input is counted; 1 waits for the end. */
  reached(share: number): Promise<void> {
    return new Promise((resolve) => {
      this.#onProgress = () => {
        const isReached = share < 1 ? this.line >= share * this.#lineCount : this.isFinished;
        if (isReached) resolve();
      };
      this.#onProgress();
    });
  }

  /** Takes in a report. */
  take(report: Report): void {
    switch (report.event) {
      case "resumed":
        this.#resume(report);
        break;
      case "appended":
        this.changesSent += report.changes - this.changes;
        this.bytesSent += report.bytes;
        this.changes = report.changes;
        this.line = report.line;
        this.#showShare();
        break;
      case "checkpoint":
        this.checkpoints++;
        break;
      case "repeated":
        this.repeatedRequests++;
        this.#screen.say("pipeline", `goes on, nothing is rewound: repeated ${report.request}`);
        break;
      case "finished":
        this.isFinished = true;
        this.#screen.say("pipeline", `finished with ${thousands(report.words)} words`);
    }
    this.#onProgress();
  }

  #resume({ run, line, changes, words }: Extract<Report, { event: "resumed" }>): void {
    const rewound = this.line - line;
    this.linesRewound += rewound;
    this.line = line;
    this.changes = changes;
    this.#screen.say(
      "pipeline",
      line === 0
        ? `run ${run} begins with nothing`
        : `run ${run} resumes at line ${thousands(line)}, rewinds ${thousands(rewound)} lines, ` +
          `got ${thousands(words)} words back from ${thousands(changes)} changes`,
    );
  }

  #showShare(): void {
    const share = this.line / this.#lineCount;
    if (share < this.#shownShare) return;
    this.#shownShare = (Math.floor(share / SHOWN_SHARE) + 1) * SHOWN_SHARE;
    const percent = Math.floor(share * 100);
    this.#screen.say("progress", `${percent} %, ${thousands(this.checkpoints)} checkpoints`);
  }
}
