import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

interface Diagnostic {
  readonly code: string;
  readonly range: { readonly start: { readonly line: number } };
}

/** Lints one text by the house rules alone; answers `code:line` of each finding. */
async function lint(text: string): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "tidemark-lint-"));
  try {
    const plugin = join(ROOT, "tools", "lint_plugin.ts");
    const settings = { lint: { plugins: [plugin], rules: { tags: [] } } };
    writeFileSync(join(folder, "deno.json"), JSON.stringify(settings));
    writeFileSync(join(folder, "planted.ts"), text);
    const deno = join(ROOT, "node_modules", ".bin", "deno");
    const output = await new Promise<string>((resolve) => {
      execFile(deno, ["lint", "--json"], { cwd: folder }, (_, stdout) => resolve(stdout));
    });
    const found: Diagnostic[] = JSON.parse(output).diagnostics;
    return found.map(({ code, range }) => `${code}:${range.start.line}`).sort();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const longBody = "  run();\n".repeat(70);

test("the lint plugin finds functions of more than 70 lines, of each kind", async () => {
  const text = [
    `function one(): void {\n${longBody}}\n`,
    `const two = (): void => {\n${longBody}};\n`,
    `class Three {\n  method(): void {\n${longBody}  }\n}\n`,
    `function short(): void {\n${"  run();\n".repeat(68)}}\n`,
  ].join("");
  const lines = [1, 73, 146].map((line) => `tidemark/function-length:${line}`);
  assert.deepEqual(await lint(text), lines.sort());
});

test("the lint plugin finds catches that hide every error", async () => {
  const text = [
    "try { run(); } catch {}",
    "try { run(); } catch { /* it is only a hint */ }",
    "try { run(); } catch (error) { report(error); }",
    "await run().catch(() => {});",
    "await run().catch((error) => report(error));",
  ].join("\n");
  assert.deepEqual(await lint(text), [
    "tidemark/no-hidden-errors:1",
    "tidemark/no-hidden-errors:4",
  ]);
});

test("the lint plugin finds default exports", async () => {
  assert.deepEqual(await lint("export default 5;\n"), ["tidemark/no-default-export:1"]);
});
