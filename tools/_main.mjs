/**
 * Begins a tool, and tells its user of a wrong argument without a stack.
 * @module
 */
import process from "node:process";

/** @param {() => void | Promise<void>} main throws a RangeError, or a TypeError of parseArgs, on misuse */
export async function runMain(main) {
  try {
    await main();
  } catch (error) {
    const isMisuse = error instanceof RangeError || error?.code?.startsWith("ERR_PARSE_ARGS");
    if (!isMisuse) throw error;
    console.error(error.message);
    process.exitCode = 2;
  }
}
