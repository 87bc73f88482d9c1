/**
 * What the doctor finds of the process and its settings.
 * @module
 */
import { SILENT_LOGGER } from "../../engine/port/logger.ts";
import { VERSION } from "../../engine/version.ts";
import { hasKernelLocks } from "../../runtime/folder_look.ts";
import { platformName, runtimeName } from "../../runtime/process_info.ts";
import { SystemClock } from "../../runtime/system_clock.ts";
import type { CommandContext } from "../command.ts";
import { exposureOf } from "../exposure.ts";
import { misspelledVariables } from "../settings/environment.ts";
import { accessOf, clientToken } from "../tokens.ts";
import { type Check, check, ok, warning } from "./check.ts";

const NODE_MAJOR_MIN = 20;

/** The runtime, the settings, the tokens. */
export async function checkProcess(context: CommandContext): Promise<Check[]> {
  const { io, settings } = context;
  return [
    ...await check("runtime", checkRuntime),
    ...await check("settings", () => {
      settings.ofStore();
      return checkVariables(io.env);
    }),
    ...await check("access", () => checkAccess(context)),
  ];
}

/** What a sidecar would ask for here, or what the one that is asked is sent. */
function checkAccess({ settings }: CommandContext): Check {
  if (settings.sidecar !== undefined) {
    const isSent = clientToken(settings) !== undefined;
    return ok("access", isSent ? "a token is sent" : "no token is sent");
  }
  const access = accessOf(settings, { clock: new SystemClock(), logger: SILENT_LOGGER });
  exposureOf(settings, access, SILENT_LOGGER);
  return ok("access", access === undefined ? "no token is asked for" : "tokens are asked for");
}

function checkVariables(env: CommandContext["io"]["env"]): Check {
  const found = misspelledVariables(env);
  if (found.length === 0) return ok("settings", "they go together; tidemark config shows them");
  const names = found.map(({ name, meant }) => `${name} (did you mean ${meant}?)`).join(", ");
  return warning("settings", `nobody looks at ${names}`, "Correct the name, or take it away");
}

function checkRuntime(): Check {
  const [runtime, platform] = [runtimeName(), platformName()];
  const found = `tidemark ${VERSION} on ${runtime}, ${platform}`;
  const major = Number(/^node (\d+)/.exec(runtime)?.[1] ?? NODE_MAJOR_MIN);
  if (major < NODE_MAJOR_MIN) {
    return warning("runtime", found, `Use Node ${NODE_MAJOR_MIN} or a newer one`);
  }
  if (!platform.startsWith("linux-")) {
    return warning("runtime", found, "docs/PLATFORMS.md says what does not hold on this platform");
  }
  const locks = hasKernelLocks() ? "with" : "without";
  return ok("runtime", `${found}, ${locks} kernel locks`);
}
