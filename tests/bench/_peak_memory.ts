/** How much memory a process takes at its peak. @module */
import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";

const MIB = 1024 * 1024;
const SAMPLE_INTERVAL_MS = 20;

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
  const kib = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  if (kib === undefined) throw new Error("Cannot find the peak of memory in /proc/self/status");
  return Number(kib) * 1024;
}
