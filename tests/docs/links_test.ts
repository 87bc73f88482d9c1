/** What the pages say of each other and of the command line is there. @module */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { describe, test } from "node:test";
import { COMMANDS } from "../../src/cli/cli.ts";
import { ROOT } from "../cli/_process.ts";

const PAGES = [
  ...(await readdir(ROOT)).filter((name) => name.endsWith(".md")),
  ...(await readdir(join(ROOT, "docs"))).map((name) => `docs/${name}`),
  "examples/README.md",
];

/** Options that pages name and no command has for itself. */
const OTHERS = new Set([
  // Every command.
  ...["--config", "--help", "--json", "--version"],
  // Benches, the gate, builds, Node.
  ...[
    "--check",
    "--enable-source-maps",
    "--import",
    "--initial-old-space-size",
    "--max-semi-space-size",
    "--no-allocation-site-pretenuring",
    "--v8-flags",
    "--test",
    "--compile",
    "--filter",
    "--only",
    "--runs",
    "--write",
  ],
  // curl.
  ...[
    "--cacert",
    "--data-binary",
    "--retry",
    "--retry-all-errors",
    "--retry-delay",
    "--unix-socket",
  ],
]);

async function textOf(page: string): Promise<string> {
  return await readFile(join(ROOT, page), "utf8");
}

/** The page without what stands in blocks of code. */
function proseOf(text: string): string {
  return text.replace(/^ *```[^]*?^ *```$/gm, "");
}

/** Names of places in a page, as GitHub makes them of headings. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading] of proseOf(text).matchAll(/^#+ (.*)$/gm)) {
    const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const slug = plain.replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-");
    let name = slug;
    for (let count = 1; anchors.has(name); count++) name = `${slug}-${count}`;
    anchors.add(name);
  }
  return anchors;
}

interface Link {
  readonly page: string;
  /** From the root of the checkout. */
  readonly path: string;
  readonly anchor: string | undefined;
}

/** Links of a page to places in the checkout. */
function linksOf(page: string, text: string): Link[] {
  const targets = [...proseOf(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target);
  return targets.filter((target) => !/^[a-z]+:/.test(target)).map((target) => {
    const [path, anchor] = target.split("#");
    const place = path === "" ? page : relative(ROOT, join(ROOT, dirname(page), path));
    return { page, path: place, anchor };
  });
}

describe("the pages", () => {
  test("are all linked from README.md", async () => {
    const linked = linksOf("README.md", await textOf("README.md")).map(({ path }) => path);
    assert.deepEqual(PAGES.filter((page) => page !== "README.md" && !linked.includes(page)), []);
  });

  test("link to what is there, headings included", async () => {
    const dead: string[] = [];
    for (const page of PAGES) {
      for (const { path, anchor } of linksOf(page, await textOf(page))) {
        const isThere = existsSync(join(ROOT, path)) &&
          (anchor === undefined || anchorsOf(await textOf(path)).has(anchor));
        if (!isThere) dead.push(`${page}: ${path}${anchor === undefined ? "" : `#${anchor}`}`);
      }
    }
    assert.deepEqual(dead, []);
  });

  test("name no option that no command has", async () => {
    const known = new Set(COMMANDS.flatMap(({ options }) => Object.keys(options)));
    const unknown: string[] = [];
    for (const page of PAGES.filter((name) => name !== "CHANGELOG.md")) {
      for (const [option] of (await textOf(page)).matchAll(/(?<![\w-])--[a-z][a-z-]+/g)) {
        const isOther = OTHERS.has(option) || option.startsWith("--allow-"); // of Deno
        if (!known.has(option.slice(2)) && !isOther) unknown.push(`${page}: ${option}`);
      }
    }
    assert.deepEqual([...new Set(unknown)], []);
  });
});

describe("anchorsOf", () => {
  test("names headings as GitHub does", () => {
    const text = "# A title, of `code`\n## The same\n```sh\n# no heading\n```\n## The same\n";
    assert.deepEqual([...anchorsOf(text)], ["a-title-of-code", "the-same", "the-same-1"]);
  });
});
