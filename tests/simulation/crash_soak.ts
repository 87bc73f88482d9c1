/** A crash after every call of a whole life, in every way, on one runtime. @module */
import { changingCalls, CRASH_MODES, crashAfter } from "./_crashes.ts";

const calls = await changingCalls();
for (const mode of CRASH_MODES) {
  for (const call of calls) await crashAfter(call, mode);
  console.log(`${calls.length} crashes by ${mode}`);
}
