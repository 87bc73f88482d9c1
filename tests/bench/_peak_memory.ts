/** How much memory a process takes at its peak. @module */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import process from "node:process";

const MIB = 1024 * 1024;
const SAMPLE_INTERVAL_MS = 20;
/** What Linux tells of this process. */
const STATUS = "/proc/self/status";

/** Watches memory until it is asked. */
export interface PeakMemory {
  /** MiB at the peak above those at the beginning. */
  end(): number;
}

/** Begins to watch: by the kernel's own mark where it can be set back, else by sampling. */
export function watchPeakMemory(): PeakMemory {
  const startBytes = process.memoryUsage().rss;
  if (resetKernelMark()) return { end: () => (kernelMark() - startBytes) / MIB };
  let peakBytes = startBytes;
  const sample = (): void => {
    peakBytes = Math.max(peakBytes, process.memoryUsage().rss);
  };
  const timer = setInterval(sample, SAMPLE_INTERVAL_MS);
  return {
    end: () => {
      clearInterval(timer);
      sample();
      return (peakBytes - startBytes) / MIB;
    },
  };
}

/** MiB that this process has taken at most since it began, where the system tells; else those of now. */
export function processPeakMib(): number {
  return (existsSync(STATUS) ? kernelMark() : process.memoryUsage().rss) / MIB;
}

/** Sets the peak back to what is taken now. Source: proc_pid_clear_refs(5). */
function resetKernelMark(): boolean {
  try {
    writeFileSync("/proc/self/clear_refs", "5");
    return true;
  } catch {
    // Only Linux has it, and not everywhere: then there is sampling.
    return false;
  }
}

function kernelMark(): number {
  const kib = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(STATUS, "utf8"))?.[1];
  if (kib === undefined) throw new Error(`Cannot find the peak of memory in ${STATUS}`);
  return Number(kib) * 1024;
}
