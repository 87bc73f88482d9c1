/** A clock that a test drives: time stands still until {@link ManualClock.advance}. @module */
import type { Clock, Timer } from "../../src/engine/port/clock.ts";

interface Pending {
  readonly atMs: number;
  readonly order: number;
  readonly action: () => void;
}

/** Gives what was started by a timer the chance to run: microtasks, and promises of real I/O. */
function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** A {@link Clock} under a test's control. */
export class ManualClock implements Clock {
  #wallMs: number;
  #monotonicMs = 0;
  #order = 0;
  readonly #pending = new Set<Pending>();

  constructor(startMs = Date.UTC(2030, 0, 1)) {
    this.#wallMs = startMs;
  }

  nowMs(): number {
    return this.#wallMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  schedule(delayMs: number, action: () => void): Timer {
    const pending = {
      atMs: this.#monotonicMs + Math.max(0, delayMs),
      order: this.#order++,
      action,
    };
    this.#pending.add(pending);
    return { cancel: () => void this.#pending.delete(pending) };
  }

  /** Timers that wait. */
  get pendingCount(): number {
    return this.#pending.size;
  }

  /** Milliseconds until the next timer; undefined when none waits. */
  get nextDelayMs(): number | undefined {
    const next = this.#next(Infinity);
    return next === undefined ? undefined : next.atMs - this.#monotonicMs;
  }

  /**
   * Moves time on, calling each due timer at its own time, in order; those that they schedule too.
   * After each it lets the event loop turn once.
   */
  async advance(ms: number): Promise<void> {
    const endMs = this.#monotonicMs + ms;
    for (let next = this.#next(endMs); next !== undefined; next = this.#next(endMs)) {
      this.#fire(next);
      await settle();
    }
    this.#move(endMs);
    await settle();
  }

  /** Like {@link advance}, without letting the event loop turn. */
  advanceSync(ms: number): void {
    const endMs = this.#monotonicMs + ms;
    for (let next = this.#next(endMs); next !== undefined; next = this.#next(endMs)) {
      this.#fire(next);
    }
    this.#move(endMs);
  }

  /** Sets the wall clock alone, as an administrator or NTP may. */
  setWallClock(wallMs: number): void {
    this.#wallMs = wallMs;
  }

  #fire(pending: Pending): void {
    this.#move(pending.atMs);
    this.#pending.delete(pending);
    pending.action();
  }

  #move(monotonicMs: number): void {
    const stepMs = Math.max(0, monotonicMs - this.#monotonicMs);
    this.#monotonicMs += stepMs;
    this.#wallMs += stepMs;
  }

  #next(endMs: number): Pending | undefined {
    let next: Pending | undefined;
    for (const pending of this.#pending) {
      if (pending.atMs > endMs) continue;
      if (
        next === undefined || pending.atMs < next.atMs ||
        (pending.atMs === next.atMs && pending.order < next.order)
      ) next = pending;
    }
    return next;
  }
}
