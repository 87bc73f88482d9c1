import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { filesOfDenoOutput, tallyJunit } from "../../tools/_junit.mjs";

// Each report is of: a passing, a failing and a skipped test, and a suite of a passing and a skipped one.
const DENO = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="deno test" tests="6" failures="1" errors="0" time="0.2">
  <testsuite name="./tests/a_test.ts" tests="4" disabled="1" errors="0" failures="1">
    <testcase name="one &lt;passes&gt;" classname="./tests/a_test.ts" time="0" line="3" col="1">
    </testcase>
    <testcase name="one fails" classname="./tests/a_test.ts" time="0" line="4" col="1">
      <failure message="Uncaught Error: x">Error: x &lt;testcase&gt;</failure>
    </testcase>
    <testcase name="one skips" classname="./tests/a_test.ts" time="0" line="5" col="1">
      <skipped/>
    </testcase>
    <testcase name="outer" classname="./tests/a_test.ts" time="0" line="6" col="1">
    </testcase>
  </testsuite>
  <testsuite name="ext:deno_node/testing.ts" tests="2" disabled="1" errors="0" failures="0">
    <testcase name="outer &gt; in" classname="ext:deno_node/testing.ts" time="0" line="1" col="1">
    </testcase>
    <testcase name="outer &gt; skips" classname="ext:deno_node/testing.ts" time="0" line="1" col="1">
      <skipped/>
    </testcase>
  </testsuite>
</testsuites>`;

const BUN = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="bun test" tests="5" assertions="0" failures="1" skipped="2" time="0.06">
  <testsuite name="tests/a_test.ts" file="tests/a_test.ts" tests="5" failures="1" skipped="2">
    <testcase name="one &lt;passes&gt;" classname="" time="0" file="tests/a_test.ts" />
    <testcase name="one fails" classname="" time="0" file="tests/a_test.ts" line="4">
      <failure type="Error" message="x">Error: x &lt;testcase&gt;&#10;</failure>
    </testcase>
    <testcase name="one skips" classname="" time="0" file="tests/a_test.ts" line="5">
      <skipped />
    </testcase>
    <testsuite name="outer" file="tests/a_test.ts" line="6" tests="2" failures="0" skipped="1">
      <testcase name="in" classname="outer" time="0" file="tests/a_test.ts" line="7" />
      <testcase name="skips" classname="outer" time="0" file="tests/a_test.ts" line="8">
        <skipped />
      </testcase>
    </testsuite>
  </testsuite>
</testsuites>`;

const NODE = `<?xml version="1.0" encoding="utf-8"?>
<testsuites>
	<testcase name="one &lt;passes>" time="0.000825" classname="test"/>
	<testcase name="one fails" time="0.03" classname="test" failure="x">
		<failure type="testCodeFailure" message="x">
[Error: x &lt;testcase>]
		</failure>
	</testcase>
	<testcase name="one skips" time="0.0002" classname="test">
		<skipped type="skipped" message="no lz4"/>
	</testcase>
	<testsuite name="outer" time="0.02" disabled="0" errors="0" tests="2" failures="0" skipped="1">
		<testcase name="in" time="0.0002" classname="test"/>
		<testcase name="skips" time="0.02" classname="test">
			<skipped type="skipped" message="why"/>
		</testcase>
	</testsuite>
	<!-- tests 5 <testcase name="not one"/> -->
</testsuites>`;

describe("tallyJunit", () => {
  test("counts the leaves of Deno's report", () => {
    assert.deepEqual(tallyJunit("deno", DENO), {
      passed: 2,
      failed: ["one fails"],
      skipped: ["one skips", "outer > skips"],
      files: ["./tests/a_test.ts", "ext:deno_node/testing.ts"],
    });
  });

  test("counts the leaves of Bun's report", () => {
    assert.deepEqual(tallyJunit("bun", BUN), {
      passed: 2,
      failed: ["one fails"],
      skipped: ["one skips", "outer > skips"],
      files: ["tests/a_test.ts"],
    });
  });

  test("counts the leaves of Node's report, with the reasons of skips", () => {
    assert.deepEqual(tallyJunit("node", NODE), {
      passed: 2,
      failed: ["one fails"],
      skipped: ["one skips (no lz4)", "outer > skips (why)"],
      files: [],
    });
  });

  test("counts a suite under Deno that failed by itself, and not one whose steps failed", () => {
    const failOuter = (message: string): string =>
      DENO.replace(
        /(<testcase name="outer" [^>]*>)/,
        `$1<failure message="${message}">${message}</failure>`,
      );
    assert.deepEqual(tallyJunit("deno", failOuter("1 test step failed")).failed, ["one fails"]);
    assert.deepEqual(
      tallyJunit("deno", failOuter("Uncaught Error: hook")).failed,
      ["one fails", "outer"],
    );
  });

  test("refuses a report that is cut off", () => {
    for (const [runner, report] of [["deno", DENO], ["bun", BUN], ["node", NODE]] as const) {
      assert.throws(() => tallyJunit(runner, report.slice(0, -20)), /cut off/);
    }
    assert.throws(() => tallyJunit("node", ""), /cut off/);
  });
});

test("filesOfDenoOutput finds the files of which a test ran", () => {
  const output = [
    "running 2 tests from ./tests/a_test.ts",
    "one ... ok (1ms)",
    "running 0 tests from ./tests/b_test.ts",
    "running 1 test from ./tests/c_test.ts",
  ].join("\n");
  assert.deepEqual(filesOfDenoOutput(output), ["tests/a_test.ts", "tests/c_test.ts"]);
});
