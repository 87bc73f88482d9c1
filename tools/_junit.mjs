/**
 * Reads the junit files of the three test runners and counts leaves: a test that holds other tests is not one.
 * Owns: the dialects of Deno, Bun and Node. Does not own: running them.
 * @module
 */

/**
 * @typedef {object} Tally
 * @property {number} passed
 * @property {string[]} failed names of the failed leaves
 * @property {string[]} skipped names of the skipped leaves, with the reason where the report has it
 * @property {string[]} files test files that the report names; Deno's names only where a test was written, which for
 *   a shared suite is not the file that ran it
 */

const TAG =
  /<(\/?)(testsuite|testcase|failure|error|skipped)\b((?:[^"'>]|"[^"]*"|'[^']*')*?)(\/?)>/g;
const ATTRIBUTE = /([\w-]+)="([^"]*)"/g;
const ENTITIES = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

/** @param {string} text */
function unescapeXml(text) {
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex, decimal, name) => {
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    return ENTITIES[name] ?? whole;
  });
}

/** @param {string} source */
function attributesOf(source) {
  /** @type {Record<string, string>} */
  const attributes = {};
  for (const [, name, value] of source.matchAll(ATTRIBUTE)) attributes[name] = unescapeXml(value);
  return attributes;
}

/**
 * Lists every `testcase` of a report with the names of the suites around it.
 * @param {string} xml
 */
function testcasesOf(xml) {
  const plain = xml.replace(/<!--[\s\S]*?-->|<!\[CDATA\[[\s\S]*?\]\]>/g, "");
  if (!/<\/testsuites>\s*$/.test(plain) && !/<testsuites\b[^>]*\/>\s*$/.test(plain)) {
    throw new Error("the report is cut off: it has no </testsuites>");
  }
  const cases = [];
  const suites = [];
  let current;
  for (const [, closing, tag, source, empty] of plain.matchAll(TAG)) {
    if (closing) {
      if (tag === "testsuite") suites.pop();
      continue;
    }
    const attributes = attributesOf(source);
    if (tag === "testsuite") {
      if (!empty) suites.push(attributes);
    } else if (tag === "testcase") {
      current = { attributes, suites: [...suites], failure: undefined, skipped: undefined };
      cases.push(current);
    } else if (tag === "skipped") current.skipped = attributes.message ?? "";
    else current.failure = attributes.message ?? "";
  }
  return cases;
}

/**
 * Deno reports a `describe` and a test with steps as a testcase of its own, beside its steps, whose names begin with
 * its name and " > ". Such a container counts only if it failed by itself, as by a hook.
 */
function denoLeaves(cases) {
  const containers = new Set();
  for (const { attributes } of cases) {
    const parts = attributes.name.split(" > ");
    for (let i = 1; i < parts.length; i++) containers.add(parts.slice(0, i).join(" > "));
  }
  return cases.filter(({ attributes, failure }) =>
    !containers.has(attributes.name) ||
    (failure !== undefined && !/^\d+ test steps? failed/.test(failure))
  ).map((one) => ({ ...one, name: one.attributes.name, file: one.attributes.classname }));
}

/** Bun and Node nest: a container is a `testsuite`; Bun's outermost one is the file. */
function nestedLeaves(cases) {
  return cases.map((one) => {
    const file = one.suites[0]?.file;
    const around = one.suites.map((suite) => suite.name).slice(file === undefined ? 0 : 1);
    return { ...one, name: [...around, one.attributes.name].join(" > "), file };
  });
}

/**
 * Counts the leaves of a junit report.
 * @param {"deno" | "bun" | "node"} runner
 * @param {string} xml
 * @returns {Tally}
 */
export function tallyJunit(runner, xml) {
  const cases = testcasesOf(xml);
  const leaves = runner === "deno" ? denoLeaves(cases) : nestedLeaves(cases);
  /** @type {Tally} */
  const tally = { passed: 0, failed: [], skipped: [], files: [] };
  for (const { name, failure, skipped } of leaves) {
    if (failure !== undefined) tally.failed.push(name);
    else if (skipped !== undefined) tally.skipped.push(skipped ? `${name} (${skipped})` : name);
    else tally.passed++;
  }
  const files = runner === "deno"
    ? cases.map(({ attributes }) => attributes.classname)
    : cases.map(({ suites }) => suites[0]?.file);
  tally.files = [...new Set(files.filter((file) => file !== undefined))];
  return tally;
}

/**
 * Lists the files of which Deno's runner says in its output that it runs at least one test.
 * @param {string} output
 * @returns {string[]}
 */
export function filesOfDenoOutput(output) {
  const lines = output.matchAll(/^running [1-9]\d* tests? from (?:\.\/)?(.+)$/gm);
  return [...lines].map(([, file]) => file);
}
