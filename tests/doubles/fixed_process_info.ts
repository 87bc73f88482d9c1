/** Processes that a test makes up: each lives until the test ends it. @module */
import type { ProcessInfo } from "../../src/engine/port/process_info.ts";

/** What can be said of a made-up process. */
export interface FixedProcessOptions {
  /** @default "test-host" */
  hostName?: string;
  /** @default "boot-1" */
  bootId?: string;
  /** @default the next free one */
  processId?: number;
  /** @default made from the process id */
  processStart?: string;
  /** @default "node 20.0.0" */
  runtime?: string;
  /** Whether other processes can be seen from it. @default true */
  seesOthers?: boolean;
}

/** The processes of one made-up machine. */
export class ProcessTable {
  readonly #alive = new Map<number, string>();
  #next = 100;

  /** Starts a process. */
  start(options: FixedProcessOptions = {}): ProcessInfo {
    const processId = options.processId ?? this.#next++;
    const processStart = options.processStart ?? `start-${processId}`;
    this.#alive.set(processId, processStart);
    return {
      hostName: options.hostName ?? "test-host",
      bootId: options.bootId ?? "boot-1",
      processId,
      processStart,
      user: "tester (1000)",
      runtime: options.runtime ?? "node 20.0.0",
      isAlive: (id, start) =>
        options.seesOthers === false && id !== processId
          ? undefined
          : this.#alive.get(id) === start,
    };
  }

  /** Ends a process, as `kill -9` does. */
  kill(processInfo: ProcessInfo): void {
    this.#alive.delete(processInfo.processId);
  }
}

/** One process on a machine of its own. */
export function fixedProcessInfo(options: FixedProcessOptions = {}): ProcessInfo {
  return new ProcessTable().start(options);
}
