/** An uploader that succeeds, fails, lingers and hangs as chance has it, and watches how it is called. @module */
import { TidemarkError } from "../../../src/engine/errors.ts";
import type {
  UploadResult,
  UploadTask,
  UploadTasksResult,
} from "../../../src/engine/upload/upload_task.ts";
import type { StateChangeUploader, UploadOptions } from "../../../src/engine/upload/uploader.ts";
import type { ManualClock } from "../../doubles/manual_clock.ts";
import type { SeededRandom } from "../../doubles/seeded_random.ts";

/** One call. */
export interface ChaosCall {
  readonly tasks: readonly UploadTask[];
  readonly result: UploadTasksResult;
  isSuccess: boolean;
  isOver: boolean;
  discards: number;
  end(): void;
}

const KINDS = ["ok", "ok", "ok", "partly", "silent", "away", "away", "broken", "hang"] as const;

/** The uploader. */
export class ChaosUploader implements StateChangeUploader {
  readonly canOverlap: boolean;
  /** Calls that did not throw at once. */
  readonly calls: ChaosCall[] = [];
  /** Tasks of every call. */
  readonly begun: (readonly UploadTask[])[] = [];
  readonly #random: SeededRandom;
  readonly #clock: ManualClock;
  readonly #runningMax: number;
  running = 0;
  closes = 0;
  /** Whether no call may come any more. */
  isForbidden = false;
  /** What was wrong with calls: an error thrown here would be tried again. */
  readonly complaints: string[] = [];

  constructor(
    random: SeededRandom,
    clock: ManualClock,
    options: { readonly canOverlap: boolean; readonly attemptsInFlightMax: number },
  ) {
    this.#random = random;
    this.#clock = clock;
    this.canOverlap = options.canOverlap;
    this.#runningMax = options.canOverlap ? options.attemptsInFlightMax : 1;
  }

  upload(tasks: readonly UploadTask[], { signal }: UploadOptions = {}): Promise<UploadTasksResult> {
    this.running += 1;
    this.#check(tasks);
    const kind = this.#random.pick(KINDS);
    this.begun.push(tasks);
    if (kind === "broken" && this.#random.chance(0.5)) {
      this.running -= 1;
      throw new TypeError("broken at once");
    }
    return new Promise((resolve, reject) => {
      const result = this.#resultOf(tasks, kind);
      const call: ChaosCall = {
        tasks,
        result,
        isSuccess: false,
        isOver: false,
        discards: 0,
        end: () => over(() => reject(new TypeError("ended"))),
      };
      const over = (settle: () => void): void => {
        if (call.isOver) return;
        call.isOver = true;
        this.running -= 1;
        settle();
      };
      this.calls.push(call);
      if (this.#random.chance(0.7)) {
        signal?.addEventListener("abort", () => over(() => reject(signal.reason)), { once: true });
      }
      if (kind === "hang" && this.#random.chance(0.5)) return;
      const delayMs = kind === "hang" ? this.#random.below(400) : this.#random.below(30);
      this.#clock.schedule(delayMs, () => over(() => this.#settle(call, kind, resolve, reject)));
    });
  }

  #check(tasks: readonly UploadTask[]): void {
    if (tasks.length === 0) this.complaints.push("an empty upload");
    if (this.isForbidden) this.complaints.push("an upload after the end");
    if (tasks.some((task) => task.isSettled)) this.complaints.push("an upload of what is settled");
    if (this.running > this.#runningMax) this.complaints.push(`${this.running} calls at once`);
  }

  discard(result: UploadTasksResult): void {
    this.calls.find((call) => call.result === result)!.discards += 1;
  }

  close(): Promise<void> {
    this.closes += 1;
    this.isForbidden = true;
    return Promise.resolve();
  }

  #settle(
    call: ChaosCall,
    kind: (typeof KINDS)[number],
    resolve: (result: UploadTasksResult) => void,
    reject: (error: unknown) => void,
  ): void {
    if (kind === "away") reject(new TidemarkError("storage-unavailable", "away"));
    else if (kind === "broken") reject(new TypeError("broken"));
    else {
      call.isSuccess = true;
      resolve(call.result);
    }
  }

  #resultOf(tasks: readonly UploadTask[], kind: (typeof KINDS)[number]): UploadTasksResult {
    const successful = new Map<UploadTask, readonly UploadResult[]>(
      tasks.map((task) => [task, []]),
    );
    const failed = new Map<UploadTask, Error>();
    if (kind === "partly" || kind === "silent") {
      const refused = this.#random.pick(tasks);
      successful.delete(refused);
      if (kind === "partly") failed.set(refused, new Error("refused"));
    }
    return { successful, failed };
  }
}
