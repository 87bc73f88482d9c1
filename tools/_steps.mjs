/**
 * The steps of the gate, and what each runs.
 * Owns: command lines and their order. Does not own: running and counting them.
 * @module
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { filesBelow } from "./_files.mjs";

/**
 * @typedef {object} Step
 * @property {string} id what `--only` takes
 * @property {string} title
 * @property {string[]} command
 * @property {"deno" | "bun" | "node"} [junit] dialect of the report `<id>.xml`; without it the step
 *   counts as one
 * @property {string} [folder] a new folder to run in, for what leaves files behind
 * @property {string[]} [files] the test files of a suite
 */

/** Against what hangs; a busy machine must not meet it. */
const TEST_TIMEOUT_MS = 1_200_000;

const MANIFEST = JSON.parse(readFileSync(new URL("../deno.json", import.meta.url), "utf8"));

/** @type {Step[]} */
const QUICK_STEPS = [
  { id: "fmt", title: "format", command: ["deno", "fmt", "--check"] },
  { id: "lint", title: "lint", command: ["deno", "lint"] },
  { id: "bun-check", title: "types by Bun", command: ["bun", "check", "--no-script"] },
  {
    id: "doc",
    title: "API docs",
    command: ["deno", "doc", "--lint", ...Object.values(MANIFEST.exports)],
  },
];

/** @type {Step[]} */
const SLOW_STEPS = [
  { id: "check", title: "types by Deno", command: ["deno", "check", "."] },
  {
    id: "publish",
    title: "publish, dry run",
    command: ["deno", "publish", "--dry-run", "--allow-dirty"],
  },
];

function hasExample(root, path) {
  const text = readFileSync(join(root, path), "utf8");
  return /^\s*(?:\*\s*)?```(?:ts|typescript|js|javascript)\b/m.test(text);
}

/** @returns {Step} */
function exampleStep(root, reports) {
  const pages = filesBelow(
    root,
    ".",
    (path) => /^(?:[^/]+\.md|docs\/.*\.md|mod\.ts|src\/.*\.ts)$/.test(path),
  );
  return {
    id: "examples",
    title: "examples in docs",
    command: [
      "deno",
      "test",
      "-A",
      "--doc",
      `--preload=${join(root, "tools/strict_assert.mjs")}`,
      "--reporter=dot",
      `--junit-path=${join(root, reports, "examples.xml")}`,
      ...pages.filter((path) => hasExample(root, path)).map((path) => join(root, path)),
    ],
    folder: `${reports}/scratch`,
    junit: "deno",
  };
}

/** @returns {Step} */
function denoSuite(reports, files) {
  return {
    id: "deno",
    title: "suite under Deno",
    command: ["deno", "test", "-A", "--no-check", `--junit-path=${reports}/deno.xml`, ...files],
    junit: "deno",
    files,
  };
}

/** @returns {Step} */
function bunSuite(reports, files) {
  return {
    id: "bun",
    title: "suite under Bun",
    command: [
      "bun",
      "test",
      "--only-failures",
      `--timeout=${TEST_TIMEOUT_MS}`,
      "--reporter=junit",
      `--reporter-outfile=${reports}/bun.xml`,
      // Without it, a name is a pattern.
      ...files.map((path) => `./${path}`),
    ],
    junit: "bun",
    files,
  };
}

/** @returns {Step} */
function nodeSuite(reports, files) {
  return {
    id: "node",
    title: "suite under Node",
    command: [
      process.execPath,
      `--import=${new URL("node_typescript.mjs", import.meta.url)}`,
      "--test",
      "--test-concurrency=2",
      `--test-timeout=${TEST_TIMEOUT_MS}`,
      "--test-reporter=junit",
      `--test-reporter-destination=${reports}/node.xml`,
      "--test-reporter=dot",
      "--test-reporter-destination=stdout",
      ...files,
    ],
    junit: "node",
    files,
  };
}

/**
 * All steps, in the order in which they are begun: what fails fast first, then the longest, so that no long one is left
 * alone at the end.
 * @param {string} root the repository
 * @param {string} reports folder below `root` for the runners' reports
 * @param {string} filter part of the path of the test files to run; "" is all
 * @returns {Step[]}
 */
export function gateSteps(root, reports, filter) {
  const files = filesBelow(
    root,
    "tests",
    (path) => path.endsWith("_test.ts") && path.includes(filter),
  );
  const load = {
    id: "load",
    title: "tests load in Deno",
    command: ["deno", "run", "-A", "tools/load_tests.ts", ...files],
  };
  return [
    ...QUICK_STEPS,
    nodeSuite(reports, files),
    denoSuite(reports, files),
    bunSuite(reports, files),
    exampleStep(root, reports),
    ...SLOW_STEPS,
    load,
  ];
}
