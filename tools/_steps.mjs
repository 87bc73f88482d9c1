/**
 * The steps of the gate: what each runs, and how many of the machine's two cores it takes.
 * Owns: command lines. Does not own: running and counting them.
 * @module
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { filesBelow } from "./_files.mjs";

/**
 * @typedef {object} Step
 * @property {string} id what `--only` takes
 * @property {string} title
 * @property {string[]} command
 * @property {1 | 2} cores
 * @property {"deno" | "bun" | "node"} [junit] dialect of the report `<id>.xml`; without it the step
 *   counts as one
 * @property {string} [folder] a new folder to run in, for what leaves files behind
 * @property {string[]} [files] test files that the report must name
 */

const TEST_TIMEOUT_MS = 300_000;

function hasExample(root, path) {
  const text = readFileSync(join(root, path), "utf8");
  return /^\s*(?:\*\s*)?```(?:ts|typescript|js|javascript)\b/m.test(text);
}

/** @returns {Step[]} */
function staticSteps(root) {
  const has = (path) => existsSync(join(root, path));
  const steps = [
    { id: "fmt", title: "format", command: ["deno", "fmt", "--check"], cores: 1 },
    { id: "lint", title: "lint", command: ["deno", "lint"], cores: 1 },
    { id: "check", title: "types by Deno", command: ["deno", "check", "."], cores: 1 },
    { id: "bun-check", title: "types by Bun", command: ["bun", "check", "--no-script"], cores: 1 },
  ];
  if (has("mod.ts")) {
    const entries = ["mod.ts", "src/http/mod.ts"].filter(has);
    steps.push({
      id: "doc",
      title: "API docs",
      command: ["deno", "doc", "--lint", ...entries],
      cores: 1,
    });
    steps.push({
      id: "publish",
      title: "publish, dry run",
      command: ["deno", "publish", "--dry-run", "--allow-dirty"],
      cores: 1,
    });
  }
  return steps;
}

/** @returns {Step[]} */
function exampleSteps(root, reports) {
  const pages = filesBelow(
    root,
    ".",
    (path) => /^(?:[^/]+\.md|docs\/.*\.md|mod\.ts|src\/.*\.ts)$/.test(path),
  );
  const withExamples = pages.filter((path) => hasExample(root, path));
  if (withExamples.length === 0) return [];
  return [{
    id: "examples",
    title: "examples in docs",
    command: [
      "deno",
      "test",
      "-A",
      "--doc",
      "--reporter=dot",
      `--junit-path=${join(root, reports, "examples.xml")}`,
      ...withExamples.map((path) => join(root, path)),
    ],
    folder: `${reports}/scratch`,
    cores: 1,
    junit: "deno",
  }];
}

/** @returns {Step[]} */
function suiteSteps(root, reports, filter) {
  const files = filesBelow(
    root,
    "tests",
    (path) => path.endsWith("_test.ts") && path.includes(filter),
  );
  const here = files.map((path) => `./${path}`);
  return [
    {
      id: "load",
      title: "tests load in Deno",
      command: ["deno", "run", "-A", "tools/load_tests.ts", ...files],
      cores: 1,
    },
    {
      id: "deno",
      title: "suite under Deno",
      command: [
        "deno",
        "test",
        "-A",
        "--no-check",
        `--junit-path=${reports}/deno.xml`,
        ...here,
      ],
      cores: 1,
      junit: "deno",
      files,
    },
    {
      id: "bun",
      title: "suite under Bun",
      command: [
        "bun",
        "test",
        "--only-failures",
        `--timeout=${TEST_TIMEOUT_MS}`,
        "--reporter=junit",
        `--reporter-outfile=${reports}/bun.xml`,
        ...here,
      ],
      cores: 1,
      junit: "bun",
      files,
    },
    {
      id: "node",
      title: "suite under Node",
      command: [
        process.execPath,
        "--import",
        "tsx",
        "--test",
        "--test-concurrency=2",
        `--test-timeout=${TEST_TIMEOUT_MS}`,
        "--test-reporter=junit",
        `--test-reporter-destination=${reports}/node.xml`,
        "--test-reporter=dot",
        "--test-reporter-destination=stdout",
        ...here,
      ],
      cores: 2,
      junit: "node",
      files,
    },
  ];
}

/**
 * All steps, in the order in which they are begun.
 * @param {string} root the repository
 * @param {string} reports folder below `root` for the runners' reports
 * @param {string} filter part of the path of the test files to run; "" is all
 * @returns {Step[]}
 */
export function gateSteps(root, reports, filter) {
  return [
    ...staticSteps(root),
    ...exampleSteps(root, reports),
    ...suiteSteps(root, reports, filter),
  ];
}
