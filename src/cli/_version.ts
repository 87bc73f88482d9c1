/** What `--version` says: which program this is, what it was built from, what it runs on. */
import { FORMAT_VERSION } from "../engine/limits.ts";
import { VERSION } from "../engine/version.ts";
import { platformName, runtimeName } from "../runtime/process_info.ts";

/** What a build was made from; `tools/build_binary.mjs` puts it in. */
interface BuildFacts {
  readonly commit: string;
  readonly committedAt: string;
  /** Whether the sources were not those of the commit. */
  readonly isChanged: boolean;
  readonly target: string;
}

declare const TIDEMARK_BUILD: BuildFacts | undefined;

/** Undefined where the program runs from its sources. */
function buildFacts(): BuildFacts | undefined {
  return typeof TIDEMARK_BUILD === "undefined" ? undefined : TIDEMARK_BUILD;
}

/** The facts for programs. */
export function versionFacts(): Record<string, unknown> {
  return {
    version: VERSION,
    formatVersion: FORMAT_VERSION,
    runtime: runtimeName(),
    platform: platformName(),
    build: buildFacts() ?? null,
  };
}

/** The facts for people; the first line is for scripts. */
export function versionText(): string {
  const build = buildFacts();
  const from = build === undefined
    ? "none: it runs from its sources"
    : `${build.commit} of ${build.committedAt}${build.isChanged ? ", with changes" : ""}`;
  return [
    `tidemark ${VERSION}`,
    `  commit   ${from}`,
    `  target   ${build?.target ?? platformName()}`,
    `  runtime  ${runtimeName()}`,
    `  format   ${FORMAT_VERSION}`,
  ].join("\n");
}
