/** Facts of processes, as the engine sees them. @module */

/** What stands for the boot id where it may not be seen, as on Deno without every permission. */
export function unseenBootId(hostName: string): string {
  return `host ${hostName}`;
}

/** Facts of the running process that stand in `LOCK`, so that another process can tell whether its owner lives. */
export interface ProcessInfo {
  /** Name of the host, for people. */
  readonly hostName: string;
  /** Identity of the running kernel; two processes with the same one are on the same machine. */
  readonly bootId: string;
  readonly processId: number;
  /** When the process was started, in a form that only equality is asked of; guards against a reused process id. */
  readonly processStart: string;
  /** User that the process runs as, for error messages: `name (uid)`. */
  readonly user: string;
  /** `deno`, `bun` or `node`, with its version. */
  readonly runtime: string;
  /** Whether process `processId`, started at `processStart`, runs on this machine; undefined when that can't be seen. */
  isAlive(processId: number, processStart: string): boolean | undefined;
}
