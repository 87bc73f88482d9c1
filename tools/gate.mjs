/**
 * The one gate: format, lint, types, docs, publish, and the suite under Deno, Bun and Node.
 * Plain JavaScript, so that Node 20 runs it as it is. Ends in one line: `N passed, N failed, N skipped`.
 *
 *   npm test                              everything
 *   npm test -- --only fmt,deno           some steps
 *   npm test -- --filter engine/format    only test files whose path contains this (and only the suites)
 * @module
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { filesOfDenoOutput, tallyJunit } from "./_junit.mjs";
import { runMain } from "./_main.mjs";
import { runCommand } from "./_process.mjs";
import { gateSteps } from "./_steps.mjs";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "..");
/** Each run has its own folder, so that two in one checkout do not mix. */
const REPORTS = `reports/${process.pid}`;
const STEPS_AT_ONCE = 2;
/** Against what hangs; a busy machine must not meet it. */
const STEP_TIMEOUT_MS_MAX = 60 * 60_000;
const OUTPUT_LINES_MAX = 400;

function chosenSteps() {
  const { values } = parseArgs({
    options: { only: { type: "string" }, filter: { type: "string" } },
  });
  const steps = gateSteps(ROOT, REPORTS, values.filter ?? "");
  const suites = steps.filter((step) => step.files !== undefined || step.id === "load")
    .map((step) => step.id);
  const only = values.only?.split(",") ?? (values.filter === undefined ? undefined : suites);
  const unknown = only?.filter((id) => !steps.some((step) => step.id === id)) ?? [];
  if (unknown.length > 0) {
    throw new RangeError(
      `Cannot run step ${unknown.join(", ")}: the steps are ${
        steps.map((step) => step.id).join(", ")
      }`,
    );
  }
  return only === undefined ? steps : steps.filter((step) => only.includes(step.id));
}

/** What a runner's report counts, plus what it can't tell: a file without a test, a crash, a cut report. */
function tallyStep(step, result) {
  if (step.junit === undefined) {
    return {
      passed: result.ended ? 0 : 1,
      failed: result.ended ? [result.ended] : [],
      skipped: [],
    };
  }
  let tally;
  try {
    tally = tallyJunit(step.junit, readFileSync(join(ROOT, REPORTS, `${step.id}.xml`), "utf8"));
  } catch (error) {
    return {
      passed: 0,
      failed: [`no whole report: ${error.message} ${result.ended}`],
      skipped: [],
    };
  }
  const failed = [...tally.failed, ...missingFiles(step, tally, result.output)];
  if (tally.passed + tally.failed.length + tally.skipped.length === 0) failed.push("no test ran");
  if (result.ended && failed.length === 0) {
    failed.push(`no test failed, but the runner did: ${result.ended}`);
  }
  return { passed: tally.passed, failed, skipped: tally.skipped };
}

/** Files of which no test ran. Node counts such a file as a test of its own, which has the file's name. */
function missingFiles(step, tally, output) {
  if (step.files === undefined || step.junit === "node") return [];
  const seen = new Set(step.junit === "deno" ? filesOfDenoOutput(output) : tally.files);
  return step.files.filter((file) => !seen.has(file)).map((file) => `${file}: no test of it ran`);
}

function seconds(elapsedMs) {
  return `${(elapsedMs / 1000).toFixed(1)} s`;
}

/** Deno lists all tests, then the errors; of those alone there is something to read. */
function readablePart(output) {
  const errors = output.lastIndexOf("\n ERRORS \n");
  const part = errors < 0 ? output : output.slice(errors + 1);
  return part.replace(/^(?:[.,!]\n)+/gm, "").trimEnd();
}

const GROUP_MIN = 3;

/** Names what was skipped; where a suite skipped much, only how much. */
function groupsOf(names) {
  const bySuite = new Map();
  for (const name of names) {
    const suite = name.includes(" > ") ? name.slice(0, name.indexOf(" > ")) : name;
    bySuite.set(suite, [...bySuite.get(suite) ?? [], name]);
  }
  return [...bySuite].flatMap(([suite, all]) =>
    all.length < GROUP_MIN ? all : [`${suite}: ${all.length} tests`]
  );
}

function printStep(step, result, tally) {
  const verdict = tally.failed.length === 0 ? "ok  " : "FAIL";
  const counts = step.junit === undefined
    ? ""
    : `${tally.passed} passed, ${tally.failed.length} failed, ${tally.skipped.length} skipped`;
  console.log(
    `${verdict} ${step.title.padEnd(18)} ${seconds(result.elapsedMs).padStart(8)}  ${counts}`
      .trimEnd(),
  );
  for (const line of groupsOf(tally.skipped)) console.log(`     skipped: ${line}`);
  if (tally.failed.length === 0) return;
  console.log(
    `---- ${step.command.slice(0, 3).join(" ")} … (all of it: ${REPORTS}/${step.id}.log)`,
  );
  const lines = readablePart(result.output).split("\n");
  if (lines.length > OUTPUT_LINES_MAX) {
    console.log(`… ${lines.length - OUTPUT_LINES_MAX} lines before`);
  }
  console.log(lines.slice(-OUTPUT_LINES_MAX).join("\n"));
  for (const name of tally.failed) console.log(`---- failed: ${name}`);
}

/**
 * The three runners must count the same number of tests: fewer on one means that it lost some without a word, which
 * happens to a file that stops half-way, to `describe` with `skip`, and to tests within tests.
 */
function compareSuites(tallies) {
  const suites = tallies.filter(({ step }) => step.files !== undefined);
  const counts = suites.map(({ step, passed, failed, skipped }) => ({
    title: step.title,
    count: passed + failed.length + skipped.length,
  }));
  if (new Set(suites.map(({ step }) => step.junit)).size < 3) return [];
  const isEqual = counts.every(({ count }) => count === counts[0].count);
  const told = counts.map(({ title, count }) => `${title} ${count}`).join(", ");
  const failed = isEqual ? [] : [`the runners count differently: ${told}`];
  console.log(`${isEqual ? "ok  " : "FAIL"} counts compared             ${told}`);
  return [{ passed: isEqual ? 1 : 0, failed, skipped: [] }];
}

async function runStep(step) {
  const folder = join(ROOT, step.folder ?? ".");
  mkdirSync(folder, { recursive: true });
  const result = await runCommand(ROOT, folder, step.command, STEP_TIMEOUT_MS_MAX);
  writeFileSync(join(ROOT, REPORTS, `${step.id}.log`), result.output);
  const tally = tallyStep(step, result);
  printStep(step, result, tally);
  return { step, ...tally };
}

/** Begins the steps in order, two at a time. */
async function runAll(steps) {
  const tallies = [];
  const waiting = [...steps];
  const work = async () => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      tallies.push(await runStep(step));
    }
  };
  await Promise.all(Array.from({ length: STEPS_AT_ONCE }, work));
  return [...tallies, ...compareSuites(tallies)];
}

function isRunning(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    if (error.code === "ESRCH") return false;
    if (error.code === "EPERM") return true;
    throw error;
  }
}

function removeOldReports() {
  for (const name of readdirSync(join(ROOT, "reports"))) {
    if (/^\d+$/.test(name) && !isRunning(Number(name))) {
      rmSync(join(ROOT, "reports", name), { recursive: true });
    }
  }
}

async function main() {
  const steps = chosenSteps();
  mkdirSync(join(ROOT, REPORTS), { recursive: true });
  removeOldReports();
  const startMs = performance.now();
  const tallies = await runAll(steps);
  const passed = tallies.reduce((sum, tally) => sum + tally.passed, 0);
  const failed = tallies.reduce((sum, tally) => sum + tally.failed.length, 0);
  const skipped = tallies.reduce((sum, tally) => sum + tally.skipped.length, 0);
  console.log(`\nall steps ${seconds(performance.now() - startMs)}`);
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  process.exitCode = failed === 0 ? 0 : 1;
}

await runMain(main);
